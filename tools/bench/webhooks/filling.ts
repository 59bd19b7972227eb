import { setTimeout as pause } from 'node:timers/promises'
import { v7 } from 'uuid'
import { textAt } from '../../../app/demo/members.ts'
import { createApiClient } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import type { AssessmentEvent } from '../../../streams/assessment/events.ts'
import { bearerOf } from '../commands/assessments.ts'
import type { Scope } from '../harness/scope.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { startReceiver, type Receiver } from '../load/start-driver.ts'
import { assessmentAppends } from '../projections/main-job.ts'
import { tenantOfFact, type TenantId } from '../../../platform/kit/tenants.ts'

/** The paths of the organisation's subscriptions at one receiver. */
export const subscribed = ['/1', '/2', '/3', '/4'] as const
/** Number of concurrent deliveries on either side of a comparison. */
export const inFlight = 64

const appendsAtATime = 64
const limitMs = 120_000

export interface WebhookWorld {
  readonly platform: BenchPlatform
  readonly receiver: Receiver
  readonly receiverUrl: string
  /** Subscribes a URL to ends of assessments and returns the subscription's id. */
  readonly subscribe: (url: string) => Promise<string>
  /**
   * Ends assessments, each due to every subscription. Waits until all webhooks have arrived and are recorded. Returns
   * webhooks per second.
   */
  readonly deliver: (assessments: number) => Promise<number>
  /** Number of rows in the to-do list with these steps. */
  readonly waiting: (steps: readonly string[]) => Promise<number>
}

/**
 * The platform with its API and read models in one process and its processor in another, and subscriptions at a
 * receiver that accepts all webhooks.
 */
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
    return textAt((await expecting(201, api.call('/v1/clinical-api/webhook-subscriptions', { body }))).body, 'id')
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
        throw new Error(`${recorded} of ${count} deliveries were recorded, and ${repeated} arrived twice`)
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

export async function until(isSo: () => Promise<boolean>, otherwise: string, pollMs = 20): Promise<void> {
  const deadline = performance.now() + limitMs
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(otherwise)
    await pause(pollMs)
  }
}

async function delivered(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    "select count(*)::integer as count from webhook_deliveries.deliveries where status = 'delivered'",
  )
  return rows[0]?.count ?? NaN
}

/** Each assessment is one append with its whole life, so all deliveries are due at once. */
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

/** Omits the events that start a review. */
function endedAssessment(orgId: TenantId, patientId: string, assessmentId: string): AssessmentEvent[] {
  const stream = assessments.of(orgId, assessmentId).stream
  const appends = assessmentAppends(orgId, patientId, Date.now() - 60_000, assessmentId)
  const events = appends
    .filter((each) => each.stream === stream)
    .flatMap((each) => each.events as readonly AssessmentEvent[])
  return events.filter(({ type }) => type !== 'AssessmentReviewRequested')
}
