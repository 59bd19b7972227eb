import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import type { Benchmark } from '../harness/benchmark.ts'
import { atMost, single } from '../harness/compare.ts'
import { withScope, type Scope } from '../harness/scope.ts'
import { gets, type HttpJob } from '../load/jobs.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'
import { writeMainJobs } from './log.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'

const inFlight = 4
/** Largest number of different records to read. */
const most = 2_000
const projectedWithinMs = 600_000

/** Shows whether reading one record slows down as the number of records grows. */
export const readGrowth: Benchmark = {
  name: 'get-growth',
  goals: ['11'],
  about: 'p99 of GET by id at ten times the history',
  run: async ({ quick, events: asked }, { compare }) => {
    const events = asked ?? (quick ? 5_000 : 500_000)
    const count = quick ? 1_000 : 20_000
    await withScope(async (scope) => {
      const large = await platformWith(scope, 'large', events, count)
      const small = await platformWith(scope, 'small', events / 10, count)
      const driver = await scope.started(startDriver())
      await compare(
        single({
          goalNumber: '11',
          name: `GET /assessments/{id}, p99, after ${events.toLocaleString('en')} events`,
          unit: 'ms',
          ours: { name: 'ten times the history', measure: async () => (await driver.run(large)).p99 },
          other: { name: 'a tenth', measure: async () => (await driver.run(small)).p99 },
          goal: atMost(1.15),
        }),
      )
    })
  },
}

async function platformWith({ folder, started }: Scope, name: string, events: number, count: number): Promise<HttpJob> {
  const platform = await started(startBenchPlatform({ folder: join(folder, name), roles: ['api', 'projector'] }))
  const { assessmentIds } = await writeMainJobs(platform.store, {
    organisationId: tenantOfFact(platform.credentials.org_id),
    events,
  })
  await projected(platform, assessmentIds.length)
  const step = Math.max(1, Math.floor(assessmentIds.length / most))
  const ids = assessmentIds.filter((_, index) => index % step === 0).slice(0, most)
  return gets({
    baseUrl: platform.baseUrl,
    paths: ids.map((id) => `/v1/clinical-api/assessments/${id}`),
    headers: platform.headers,
    count,
    inFlight,
  })
}

/** Waits until every assessment is projected as completed. */
async function projected({ databaseUrl }: BenchPlatform, assessments: number): Promise<void> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  const deadline = performance.now() + projectedWithinMs
  try {
    for (;;) {
      const { rows } = await client.query<{ count: string }>(
        "select count(*) from assessments.assessments where status = 'completed'",
      )
      if (Number(rows[0]?.count) === assessments) return
      if (performance.now() > deadline) throw new Error(`${rows[0]?.count} of ${assessments} assessments are projected`)
      await pause(200)
    }
  } finally {
    await client.end()
  }
}
