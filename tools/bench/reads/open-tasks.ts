import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import type { Credentials } from '../../../app/credentials-file.ts'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import { requestToken } from '../../../test/support/raw-api.ts'
import { formatPosition, type Position } from '../../../platform/kit/positions.ts'
import { tenantOfFact, type TenantId } from '../../../platform/kit/tenants.ts'
import { humanReviewTaskId, humanReviewTasks } from '../../../streams/human-review-task/aggregate.ts'
import type { HumanReviewTaskEvent } from '../../../streams/human-review-task/events.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atMost } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import type { HttpJob } from '../load/jobs.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'
import { timed } from '../load/work.ts'

const tasks = '/v1/human-review/tasks'
const few = 100
const productId = randomUUID()
const inFlight = 4
const appendsInFlight = 32

/** Lists and claims in an organisation with many open tasks, and in one with few. */
export const openTasks: Benchmark = {
  name: 'open-tasks',
  goals: ['21'],
  about: 'p50 of lists and claims in an organisation with 10,000 open tasks over one with 100, 4 connections',
  run: async ({ quick }, { compare }) => {
    const [many, count] = quick ? [1_000, 100] : [10_000, 2_000]
    await withScope(async ({ folder, started }) => {
      const platform = await started(startBenchPlatform({ folder, roles: ['api', 'projector'] }))
      const [first, second] = platform.credentials.clients
      const large = await queueOf(platform, first, many)
      const small = await queueOf(platform, second, few)
      await analyze(platform)
      const driver = await started(startDriver())
      const measure = (headers: HttpJob['headers']) => async () => {
        const { list, claim } = await jobsOf(platform, headers, count)
        return [(await driver.run(list)).p50, (await driver.run(claim)).p50]
      }
      await compare({
        goal: '21',
        figures: ['GET …/tasks?status=open', 'POST …/claim'].map((name) => ({
          name: `${name}, p50, ${many.toLocaleString('en')} open tasks`,
          unit: 'ms',
          goal: atMost(1.15),
        })),
        ours: { name: 'many', measure: measure(large) },
        other: { name: String(few), measure: measure(small) },
      })
    })
  },
}

/** Opens tasks in the organisation of the client. Resolves to the headers of a clinician there, when the tables contain all. */
async function queueOf(
  platform: BenchPlatform,
  client: Credentials['clients'][number] | undefined,
  count: number,
): Promise<HttpJob['headers']> {
  const { baseUrl, store } = platform
  if (client?.org_id === undefined || client.org_id === null) throw new Error('the client has no organisation')
  const organisationId = tenantOfFact(client.org_id)
  await timed(count - 1, appendsInFlight, async () => void (await openTask(store, organisationId)))
  const last = await openTask(store, organisationId)
  const token = textAt((await requestToken(baseUrl, client)).body, 'access_token')
  const context = actorContext(organisationId, ['human-review:decide'], undefined, [productId])
  const headers = { authorization: `Bearer ${token}`, 'x-actor-context': context }
  const sent = { headers: { ...headers, 'x-min-commit-position': formatPosition(last) } }
  for (let left = 60; left > 0; left -= 1) {
    const answer = await fetch(`${baseUrl}${tasks}?limit=1`, sent)
    if (answer.status === 200 && !answer.headers.has('x-projection-lag-ms')) return headers
    await pause(1_000)
  }
  throw new Error('the tasks are not projected')
}

/** Postgres itself does it within a minute. Without the statistics it sorts all open tasks for each page. */
async function analyze({ databaseUrl }: BenchPlatform): Promise<void> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query('analyze human_review.tasks')
  } finally {
    await client.end()
  }
}

/** Every task is about a patient of its own. The list takes a patient without registration as not erased. */
async function openTask(store: EventStore, organisationId: TenantId): Promise<Position> {
  const aiReviewId = randomUUID()
  const taskId = humanReviewTaskId(aiReviewId)
  const code = { code: 'C43.9', term: 'Malignant melanoma of skin, unspecified' }
  const event: HumanReviewTaskEvent = {
    type: 'HumanReviewTaskOpened',
    data: {
      taskId,
      organisationId,
      aiReviewId,
      reviewOrdinal: 0,
      caseId: randomUUID(),
      patientId: randomUUID(),
      productId,
      assessmentId: randomUUID(),
      selectedBy: ['always'],
      opinionsRequired: 1,
      providerVersion: '5.2.1',
      lesions: [{ lesionNumber: 1, category: 'Malignant', icd10: code, snomed: { code: null, term: null } }],
      openedAt: new Date().toISOString(),
    },
  }
  const context = { commandId: randomUUID(), correlationId: randomUUID(), orgId: organisationId, clientId: 'bench' }
  return (await store.append(humanReviewTasks.of(organisationId, taskId), 'no_stream', [event], context)).position
}

/** A page of open tasks, and claims of the same tasks by their holder. */
async function jobsOf(
  { baseUrl }: BenchPlatform,
  headers: HttpJob['headers'],
  count: number,
): Promise<Record<'list' | 'claim', HttpJob>> {
  const page = await fetch(`${baseUrl}${tasks}?limit=50`, { headers })
  const data = at(await page.json(), 'data')
  const ids = Array.isArray(data) ? data.map((task) => String(at(task, 'id'))) : []
  if (ids.length !== 50) throw new Error(`the page has ${ids.length} tasks`)
  const job = { kind: 'http', baseUrl, headers, bodies: [], status: 200, makesRecords: false, count, inFlight } as const
  return {
    list: { ...job, method: 'GET', paths: [`${tasks}?status=open&limit=50`], isKeyed: false },
    claim: { ...job, method: 'POST', paths: ids.map((id) => `${tasks}/${id}/claim`), isKeyed: true },
  }
}
