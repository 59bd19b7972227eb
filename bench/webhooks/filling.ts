import { setTimeout as pause } from 'node:timers/promises'
import { v7 } from 'uuid'
import { createApiClient, textAt } from '../../app/demo/api-client.ts'
import { expectStatus } from '../../app/demo/steps.ts'
import { createPool, type Pool } from '../../platform/database/database.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import { bearerOf } from '../commands/assessments.ts'
import type { Scope } from '../harness/scope.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { startReceiver, type Receiver } from '../load/start-driver.ts'
import { assessmentAppends } from '../projections/main-job.ts'
import { tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'

/** Subscriptions of the organisation, each to a path of its own of one receiver. */
export const subscribed = ['/1', '/2', '/3', '/4'] as const
/** Deliveries under way at a time, on either side of a comparison. */
export const inFlight = 64

const appendsAtATime = 64
const limitMs = 120_000

export interface WebhookWorld {
  readonly platform: BenchPlatform
  readonly receiver: Receiver
  readonly receiverUrl: string
  /** Subscribes an address to ends of assessments; the subscription's id. */
  readonly subscribe: (url: string) => Promise<string>
  /** Ends assessments, each of which every subscription is to be told of, and waits until so many have arrived and are recorded. Per second. */
  readonly deliver: (assessments: number) => Promise<number>
  /** How many rows of the to-do list are of these steps. */
  readonly waiting: (steps: readonly string[]) => Promise<number>
}

/** The platform, its API and read models in one process and its processor in another, and subscriptions of a receiver that takes what comes. */
export async function startWebhookWorld({ folder, started, atEnd }: Scope): Promise<WebhookWorld> {
  const receiver = await started(startReceiver())
  const { url: receiverUrl } = await receiver.run({ kind: 'begin' })
  const env = { WEBHOOK_WORKERS: String(inFlight), WEBHOOK_WORKERS_PER_ENDPOINT: String(inFlight / subscribed.length) }
  const platform = await started(startBenchPlatform({ folder, roles: ['api', 'projector'], env }))
  await platform.run(['processor'])
  const pool = createPool({ url: platform.databaseUrl, max: 2, statementTimeoutMs: limitMs })
  atEnd(() => pool.end())
  const api = createApiClient(platform.baseUrl, bearerOf(platform))
  const subscribe = async (url: string): Promise<string> => {
    const body = { url, event_types: ['assessment.completed'], signature_schemes: ['v1'] }
    return textAt((await expectStatus(201, api.call('/v1/clinical-api/webhook-subscriptions', { body }))).body, 'id')
  }
  for (const path of subscribed) await subscribe(`${receiverUrl}${path}`)
  return {
    platform,
    receiver,
    receiverUrl,
    subscribe,
    deliver: async (assessments) => {
      const count = assessments * subscribed.length
      const before = await delivered(pool)
      await receiver.run({ kind: 'begin' })
      await endAssessments(platform, assessments)
      const { perSecond, repeated } = await receiver.run({ kind: 'arrived', count })
      await until(async () => (await delivered(pool)) >= before + count, 'the deliveries were not recorded')
      const recorded = (await delivered(pool)) - before
      if (recorded !== count || repeated > 0)
        throw new Error(`${recorded} deliveries were recorded of ${count}, and ${repeated} came again`)
      return perSecond
    },
    waiting: async (steps) => {
      const { rows } = await pool.query<{ count: number }>(
        'select count(*)::integer as count from webhooks_todo.todo where step = any($1)',
        [steps],
      )
      return rows[0]?.count ?? NaN
    },
  }
}

export async function until(isSo: () => Promise<boolean>, otherwise: string): Promise<void> {
  const deadline = performance.now() + limitMs
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(otherwise)
    await pause(20)
  }
}

async function delivered(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    "select count(*)::integer as count from webhook_deliveries.deliveries where status = 'delivered'",
  )
  return rows[0]?.count ?? NaN
}

/** Assessments whose whole life is one append, so that what there is to deliver is there at once. */
async function endAssessments({ store, credentials }: BenchPlatform, count: number): Promise<void> {
  const { org_id: orgId } = credentials
  const patientId = v7()
  let begun = 0
  const work = async (): Promise<void> => {
    while (begun < count) {
      begun += 1
      const assessmentId = v7()
      const context = { commandId: v7(), correlationId: v7(), orgId, clientId: 'bench' }
      const stream = assessments.of(tenantOfFact(orgId), assessmentId).stream
      await store.append(
        { fold: assessments, stream },
        'no_stream',
        endedAssessment(tenantOfFact(orgId), patientId, assessmentId),
        context,
      )
    }
  }
  await Promise.all(Array.from({ length: appendsAtATime }, work))
}

/** Without what would have a review begin. */
function endedAssessment(orgId: TenantId, patientId: string, assessmentId: string): AssessmentEvent[] {
  const stream = assessments.of(orgId, assessmentId).stream
  const appends = assessmentAppends(orgId, patientId, Date.now() - 60_000, assessmentId)
  const events = appends
    .filter((each) => each.stream === stream)
    .flatMap((each) => each.events as readonly AssessmentEvent[])
  return events.filter(({ type }) => type !== 'AssessmentReviewRequested')
}
