import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { textAt } from '../../../app/demo/members.ts'
import { createApiClient, requestToken } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atMost } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { startDriver } from '../load/start-driver.ts'
import { startedPlatform } from '../webhooks/main-job-cost.ts'

const failing = 10_000
/** The overview is read anew once a second. */
const overviewMs = 1_050

/** New work and the overview beside work that fails: rows whose steps throw, of processes that the main job needs. */
export const failingWork: Benchmark = {
  name: 'failing-work',
  goals: ['39', '40'],
  about: 'the main job, and the overview, beside 10,000 rows that fail',
  run: async ({ quick }, { compare }) => {
    const [count, looks] = quick ? [24, 8] : [200, 60]
    await withScope(async (scope) => {
      const driver = await scope.started(startDriver())
      const platform = await startedPlatform(scope, { name: 'failing', many: count, few: 1 })
      const { credentials, requests, webhookAtPort } = platform
      const database = new Client({ connectionString: credentials.database_url ?? '' })
      await database.connect()
      scope.atEnd(() => database.end())
      const job = async () => {
        const done = await driver.run({
          kind: 'main-job',
          requests: { ...requests, count, inFlight: 4 },
          webhookAtPort,
        })
        return [done.p99]
      }
      await compare({
        goal: '39',
        figures: [{ name: 'POST → answer with the end, 4 at a time, p99', unit: 'ms', goal: atMost(2) }],
        ours: {
          name: '10,000 failing rows',
          measure: async () => {
            await plant(database)
            try {
              return await job()
            } finally {
              await remove(database)
            }
          },
        },
        other: { name: 'without', measure: job },
        ...(quick ? { rounds: 2 } : {}),
      })

      await plant(database)
      const api = createApiClient(credentials.base_url, await operatorToken(credentials))
      await compare({
        goal: '40',
        figures: [{ name: 'GET …/overview with 10,000 failing steps, p99', unit: 'ms', goal: atMost(1) }],
        ours: {
          name: 'overview',
          measure: async () => {
            const taken: number[] = []
            for (let look = 0; look < looks; look += 1) {
              await pause(overviewMs)
              const startedMs = performance.now()
              const { body } = await expecting(200, api.call('/v1/operations/overview'))
              taken.push(performance.now() - startedMs)
              const { steps } = Object(body)
              if (Number(steps.failing) + Number(steps.leased) + Number(steps.parked) < failing)
                throw new Error('the overview does not count what fails')
            }
            return [taken.toSorted((one, other) => one - other)[Math.ceil(taken.length * 0.99) - 1] ?? NaN]
          },
        },
        other: { name: 'the goal', measure: async () => [100] },
        ...(quick ? { rounds: 1 } : { rounds: 2 }),
      })
    })
  },
}

/** The steps of these rows throw, because no program writes such a payload. */
async function plant(database: Client): Promise<void> {
  await database.query(
    `insert into assessments_todo.todo (key, step, org_id, due_at, payload)
     select 'planted ' || n, 'follow-ended-task', gen_random_uuid()::text, now() - interval '1 hour', '{}' from generate_series(1, $1::integer) n`,
    [failing],
  )
  await database.query(
    `insert into runtime.claims (process, key, step, worker, lease_until, not_before, fence_commit, fence_prepare, failures, error_class, first_failed_at, last_failed_at, thrown)
     select 'assessments', 'planted ' || n, 'follow-ended-task', 'before', '-infinity', '-infinity', 0, 0, 1, 'TypeError', now(), now(), 1
     from generate_series(1, $1::integer) n on conflict do nothing`,
    [failing],
  )
}

async function remove(database: Client): Promise<void> {
  await database.query(`delete from assessments_todo.todo where key like 'planted %'`)
  await database.query(`delete from runtime.claims where key like 'planted %'`)
}

async function operatorToken({
  base_url: baseUrl,
  admin_api_secret: secret,
}: {
  readonly base_url: string
  readonly admin_api_secret: string | null
}): Promise<string> {
  const answer = await fetch(`${baseUrl}/v1/auth/clients`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-admin-api-secret': secret ?? '' },
    body: JSON.stringify({ name: 'Operators', scopes: ['operations:read'] }),
  })
  const client: unknown = await answer.json()
  const secrets = { client_id: textAt(client, 'client_id'), client_secret: textAt(client, 'client_secret') }
  return textAt((await requestToken(baseUrl, secrets)).body, 'access_token')
}
