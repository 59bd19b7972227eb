import { join } from 'node:path'
import { startPlatformProcess } from '../../../app/demo/platform-process.ts'
import type { Credentials } from '../../../app/credentials-file.ts'
import { textAt } from '../../../app/demo/members.ts'
import { freePort } from '../../../embedded/children/free-port.ts'
import { createApiClient, requestToken } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, atMost } from '../harness/compare.ts'
import { installPeers } from '../harness/install-peers.ts'
import { processorSeconds, processTree, residentBytes, tellsOfProcesses } from '../harness/process-tree.ts'
import { withScope, type Scope } from '../harness/scope.ts'
import type { HttpJob } from '../load/jobs.ts'
import { startDbos, startDriver, type Driver } from '../load/start-driver.ts'
import { startCountingCollector } from './counting-collector.ts'
import { consentedRequests } from './consented.ts'

const forms = { quick: { many: 48, few: 10 }, full: { many: 320, few: 60 } } as const

const figures = [
  { name: 'processor time of an assessment, 16 at a time', unit: 'ms', goal: atMost(0.36) },
  { name: 'assessments, 16 at a time', unit: 'per second', goal: atLeast(2.8) },
  { name: 'POST → answer with the end, one at a time, p50', unit: 'ms', goal: atMost(0.38) },
  { name: 'processor time of an assessment, one at a time', unit: 'ms', goal: { kind: 'none' } },
  { name: 'memory of all processes at the end', unit: 'MB', goal: { kind: 'none' } },
] as const

/**
 * The main job over the same job of an older version: consent, one photograph in the body, one webhook, and a caller who
 * waits for the end. `BENCH_OLDER_TREE` names the folder of the older version, with its modules.
 */
export const mainJobCost: Benchmark = {
  name: 'main-job',
  goals: ['27'],
  about: 'processor time, rate and waiting time of the main job over those of an older version',
  run: async ({ quick }, { compare, notRun }) => {
    const older = process.env['BENCH_OLDER_TREE']
    if (older === undefined || !tellsOfProcesses) {
      const why = older === undefined ? 'BENCH_OLDER_TREE is not set' : 'processor time is only readable in /proc'
      return notRun({ goal: '27', name: 'the main job over an older version', why })
    }
    await withScope(async (scope) => {
      const driver = await scope.started(startDriver())
      const sizes = forms[quick ? 'quick' : 'full']
      const ours = await measured(scope, driver, { name: 'ours', ...sizes })
      const other = await measured(scope, driver, { name: 'older', main: join(older, 'app', 'main.ts'), ...sizes })
      await compare({
        goal: '27',
        figures: [...figures],
        ours: { name: 'platform', measure: ours },
        other: { name: 'older version', measure: other },
        ...(quick ? { rounds: 2 } : {}),
      })
    })
  },
}

/**
 * The main job over a service that does the same work outside with DBOS: token, photograph, consent, provider, stored
 * answer, signed webhook, and a caller who waits for the end.
 */
export const mainJobOverDbos: Benchmark = {
  name: 'dbos-main-job',
  goals: ['28'],
  about: 'processor time and waiting time of the main job over those of a service with DBOS',
  run: async ({ quick }, { compare, notRun }) => {
    if (!tellsOfProcesses)
      return notRun({ goal: '28', name: 'the main job over DBOS', why: 'processor time is only readable in /proc' })
    await installPeers()
    await withScope(async (scope) => {
      const driver = await scope.started(startDriver())
      const sizes = forms[quick ? 'quick' : 'full']
      const platform = await startedPlatform(scope, { name: 'ours', ...sizes })
      const dbos = await scope.started(startDbos())
      const [folder, webhookAtPort] = [join(scope.folder, 'dbos'), await freePort()]
      const patientIds = platform.requests.bodies.map((body) => textAt(JSON.parse(body), 'patient_id'))
      const webhookUrl = `http://127.0.0.1:${webhookAtPort}/webhooks`
      const { baseUrl, token } = await dbos.run({ kind: 'peer-service', folder, patientIds, webhookUrl })
      const requests = { ...platform.requests, baseUrl, headers: { authorization: `Bearer ${token}` } }
      await compare({
        goal: '28',
        figures: [
          { name: figures[0].name, unit: 'ms', goal: atMost(1.4, { reached: 4 }) },
          { name: figures[1].name, unit: 'per second', goal: { kind: 'none' } },
          { name: figures[2].name, unit: 'ms', goal: atMost(1.3, { reached: 3.6 }) },
          ...figures.slice(3),
        ],
        ours: { name: 'platform', measure: costOf(driver, platform, sizes) },
        other: { name: 'DBOS', measure: costOf(driver, { pid: dbos.pid, requests, webhookAtPort }, sizes) },
        ...(quick ? { rounds: 2 } : {}),
      })
    })
  },
}

/** The main job of two platforms, of which one sends all its spans to a collector. */
export const mainJobWithTraces: Benchmark = {
  name: 'main-job-traces',
  goals: ['37'],
  about: 'rate and processor time of the main job with traces exported, over without',
  run: async ({ quick }, { compare, notRun }) => {
    if (!tellsOfProcesses)
      return notRun({ goal: '37', name: 'the main job with traces', why: 'processor time is only readable in /proc' })
    await withScope(async (scope) => {
      const driver = await scope.started(startDriver())
      const sizes = forms[quick ? 'quick' : 'full']
      const collector = await startCountingCollector()
      scope.atEnd(() => collector.close())
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint }
      const traced = await measured(scope, driver, { name: 'traced', env, ...sizes })
      const plain = await measured(scope, driver, { name: 'plain', ...sizes })
      await compare({
        goal: '37',
        figures: [
          { ...figures[0], goal: { kind: 'none' } },
          { ...figures[1], goal: atLeast(0.85) },
          { ...figures[2], goal: { kind: 'none' } },
          ...figures.slice(3),
        ],
        ours: {
          name: 'with traces',
          measure: async () => {
            const before = collector.spans()
            const measurement = await traced()
            // One assessment has about a hundred spans. The last ones are still under way.
            if (collector.spans() - before < 50 * sizes.many) throw new Error('the spans did not arrive')
            return measurement
          },
        },
        other: { name: 'without', measure: plain },
        ...(quick ? { rounds: 2 } : {}),
      })
    })
  },
}

/** Numbers of assessments: 16 at a time, and one at a time. */
interface Sizes {
  readonly many: number
  readonly few: number
}

interface Side extends Sizes {
  readonly name: string
  readonly main?: string
  readonly env?: Readonly<Record<string, string>>
}

/** A service that does the main job. Its servers are processes below it. */
interface Service {
  readonly pid: number
  readonly requests: HttpJob
  readonly webhookAtPort: number
}

/** Starts the platform as an operator does, and measures all its processes. */
async function measured(scope: Scope, driver: Driver, side: Side): Promise<() => Promise<readonly number[]>> {
  return costOf(driver, await startedPlatform(scope, side), side)
}

export async function startedPlatform(
  scope: Scope,
  side: Side,
): Promise<Service & { readonly credentials: Credentials }> {
  const env = { LOG_LEVEL: 'warn', PROVIDER_RESULT_INITIAL_DELAY_MS: '0', BASE_URL: '', ...side.env }
  const platform = await scope.started(startPlatformProcess(join(scope.folder, side.name), env, undefined, side.main))
  const { credentials } = platform
  const [client] = credentials.clients
  if (client === undefined) throw new Error('the credentials contain no client')
  const baseUrl = credentials.base_url
  const token = textAt((await requestToken(baseUrl, client)).body, 'access_token')
  const webhookAtPort = await freePort()
  const url = `http://127.0.0.1:${webhookAtPort}/webhooks`
  const body = { url, event_types: ['assessment.completed', 'assessment.failed'] }
  const api = createApiClient(baseUrl, token)
  await expecting(201, api.call('/v1/clinical-api/webhook-subscriptions', { body }))
  const headers = { authorization: `Bearer ${token}` }
  const requests = await consentedRequests({ baseUrl, credentials, headers }, side.many)
  return { pid: platform.pid, credentials, requests, webhookAtPort }
}

function costOf(
  driver: Driver,
  { pid, requests, webhookAtPort }: Service,
  sizes: Sizes,
): () => Promise<readonly number[]> {
  const run = async (count: number, inFlight: number) => {
    const before = await processorSeconds(await processTree(pid, []))
    const done = await driver.run({ kind: 'main-job', requests: { ...requests, count, inFlight }, webhookAtPort })
    const after = await processorSeconds(await processTree(pid, []))
    return { ...done, processorMs: ((after - before) * 1000) / count }
  }
  return async () => {
    const many = await run(sizes.many, 16)
    const few = await run(sizes.few, 1)
    const held = await residentBytes(await processTree(pid, []))
    return [many.processorMs, many.perSecond, few.p50, few.processorMs, held / 1_000_000]
  }
}
