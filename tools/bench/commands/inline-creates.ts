import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { textAt } from '../../../app/demo/members.ts'
import { createApiClient } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atMost } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import type { InlineJob, JobDone } from '../load/jobs.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { processTree, residentBytes, tellsOfProcesses } from '../harness/process-tree.ts'
import { startDriver, type Driver } from '../load/start-driver.ts'
import { bearerOf } from './assessments.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'

const megabyte = 1_000_000
/** Growth in MB of all processes of the platform together above their idle memory. */
const mostGrowth = 600
const imagePath = fileURLToPath(new URL('../../../embedded/photos/lesion-1.jpg', import.meta.url))
const imageBytes = 20 * 1024 * 1024 - 64 * 1024
const sampleMs = 20

/**
 * Memory for images in the bodies of requests: two of almost 20 MiB each, with many requests at once, from the start to
 * the last answer. Each measurement starts a new platform, because a process seldom gives memory back.
 */
export const inlineCreates: Benchmark = {
  name: 'inline-creates',
  goals: ['memory'],
  about: 'most memory while 20 assessments with 40 MB of images each are requested at once',
  run: async ({ quick }, { compare, notRun }) => {
    const count = quick ? 4 : 20
    const name = `growth of memory while ${count} requests with 40 MB of images each are answered`
    if (!tellsOfProcesses) {
      notRun({ goal: 'memory', name, why: 'memory of processes is only readable in /proc' })
      return
    }
    const measure = async () => [(await growth(count)) / megabyte]
    await compare({
      goal: 'memory',
      figures: [{ name, unit: 'MB', goal: atMost(1) }],
      ours: { name: 'all processes', measure },
      other: { name: 'limit', measure: async () => [mostGrowth] },
      rounds: quick ? 1 : 3,
    })
  },
}

async function growth(count: number): Promise<number> {
  return withScope(async ({ folder, started }) => {
    const platform = await started(
      startBenchPlatform({ folder: join(folder, 'platform'), roles: ['api', 'projector', 'processor'] }),
    )
    const driver = await started(startDriver())
    const job = await jobOf(platform, count)
    // The servers are children of this process, like the driver.
    const pids = (await processTree(process.pid, [driver.pid])).filter((pid) => pid !== process.pid)
    const idle = await residentBytes(pids)
    const { most, done } = await mostWhile(pids, driver.run(job))
    await requireStored(platform, job, done)
    return most - idle
  })
}

async function mostWhile(
  pids: readonly number[],
  running: ReturnType<Driver['run']>,
): Promise<{ readonly most: number; readonly done: JobDone }> {
  let most = 0
  const over = new AbortController()
  const watch = async () => {
    while (!over.signal.aborted) {
      most = Math.max(most, await residentBytes(pids))
      await pause(sampleMs)
    }
  }
  const watching = watch()
  try {
    return { done: await running, most }
  } finally {
    over.abort()
    await watching
  }
}

/** A patient without consent. The review ends before it reads images, so only the requests are measured. */
async function jobOf(platform: BenchPlatform, count: number): Promise<InlineJob> {
  const api = createApiClient(platform.baseUrl, bearerOf(platform))
  const { body } = await expecting(
    201,
    api.call('/v1/clinical-api/patients', { body: { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29' } }),
  )
  const { length } = await readFile(imagePath)
  const paddings = [1, 2].map((filling) => Buffer.alloc(imageBytes - length, filling))
  return {
    kind: 'inline',
    baseUrl: platform.baseUrl,
    headers: platform.headers,
    patientId: textAt(body, 'id'),
    imagePath,
    paddings,
    count,
  }
}

/** Each request created its own assessment, and both stored images equal the sent ones. */
async function requireStored(
  { store, credentials }: BenchPlatform,
  { paddings, count }: InlineJob,
  { ids = [] }: JobDone,
): Promise<void> {
  if (new Set(ids).size !== count) throw new Error(`${count} requests created ${new Set(ids).size} assessments`)
  const image = await readFile(imagePath)
  const sent = paddings.map((padding) => createHash('sha256').update(image).update(padding).digest('hex')).join()
  for (const id of ids) {
    const { state } = await store.load(assessments.of(tenantOfFact(credentials.org_id), id))
    const kept =
      state.status === 'absent' ? '' : state.images.map((one) => ('object' in one ? one.object.sha256 : '')).join()
    if (kept !== sent) throw new Error(`assessment ${id} has other images than those sent`)
  }
}
