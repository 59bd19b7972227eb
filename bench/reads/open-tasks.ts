import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { actorContext, at, createApiClient } from '../../app/demo/api-client.ts'
import { expectStatus } from '../../app/demo/steps.ts'
import { formatPosition, type Position } from '../../platform/kit/positions.ts'
import { tenantOfFact } from '../../platform/kit/tenants.ts'
import { humanReviewTaskId, humanReviewTasks } from '../../streams/human-review-task/aggregate.ts'
import type { HumanReviewTaskEvent } from '../../streams/human-review-task/events.ts'
import { bearerOf } from '../commands/assessments.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atMost } from '../harness/compare.ts'
import { withScope, type Scope } from '../harness/scope.ts'
import type { HttpJob } from '../load/jobs.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'
import { timed } from '../load/work.ts'

const tasks = '/v1/human-review/tasks'
const few = 100
const inFlight = 4
const appendsInFlight = 32

/** Lists and claims of clinicians, with many open tasks and with few. */
export const openTasks: Benchmark = {
  name: 'open-tasks',
  goals: ['21'],
  about: 'p50 of lists and claims with 10,000 open tasks of human review over 100, 4 connections',
  run: async ({ quick }, { compare }) => {
    const [many, count] = quick ? [2_000, 200] : [10_000, 4_000]
    await withScope(async (scope) => {
      const large = await platformWith(scope, 'large', many)
      const small = await platformWith(scope, 'small', few)
      const driver = await scope.started(startDriver())
      const measure = (platform: BenchPlatform) => async () => {
        const { list, claim } = await jobsOf(platform, count)
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

async function platformWith({ folder, started }: Scope, name: string, count: number): Promise<BenchPlatform> {
  const platform = await started(startBenchPlatform({ folder: join(folder, name), roles: ['api', 'projector'] }))
  await timed(count - 1, appendsInFlight, async () => void (await openTask(platform)))
  await projected(platform, await openTask(platform))
  return platform
}

/** Waits until the tables contain the last task. */
async function projected({ baseUrl, headers }: BenchPlatform, last: Position): Promise<void> {
  const sent = { headers: { ...headers, 'x-min-commit-position': formatPosition(last) } }
  for (let left = 60; left > 0; left -= 1) {
    const answer = await fetch(`${baseUrl}${tasks}?limit=1`, sent)
    if (answer.status === 200 && !answer.headers.has('x-projection-lag-ms')) return
    await pause(1_000)
  }
  throw new Error('the tasks are not projected')
}

/** Every task is about a patient of its own. The list takes a patient without registration as not erased. */
async function openTask({ store, credentials }: BenchPlatform): Promise<Position> {
  const organisationId = tenantOfFact(credentials.org_id)
  const aiReviewId = randomUUID()
  const taskId = humanReviewTaskId(aiReviewId)
  const code = { code: 'C43.9', term: 'Malignant melanoma of skin, unspecified' }
  const event: HumanReviewTaskEvent = {
    type: 'HumanReviewTaskOpened',
    data: {
      taskId,
      organisationId,
      aiReviewId,
      caseId: randomUUID(),
      patientId: randomUUID(),
      productId: credentials.product_id,
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

/** Page after page of open tasks, and claims of the same tasks by their holder. */
async function jobsOf(platform: BenchPlatform, count: number): Promise<Record<'list' | 'claim', HttpJob>> {
  const { baseUrl, credentials } = platform
  const context = actorContext(credentials.org_id, ['human-review:decide'], undefined, [credentials.product_id])
  const headers = { ...platform.headers, 'x-actor-context': context }
  const { body } = await expectStatus(200, createApiClient(baseUrl, bearerOf(platform)).call(`${tasks}?limit=50`))
  const data = at(body, 'data')
  const ids = Array.isArray(data) ? data.map((task) => String(at(task, 'id'))) : []
  const job = { kind: 'http', baseUrl, headers, bodies: [], status: 200, makesRecords: false, count, inFlight } as const
  return {
    list: { ...job, method: 'GET', paths: [`${tasks}?status=open&limit=50`], isKeyed: false },
    claim: { ...job, method: 'POST', paths: ids.map((id) => `${tasks}/${id}/claim`), isKeyed: true },
  }
}
