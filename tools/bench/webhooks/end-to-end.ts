import { join } from 'node:path'
import { freePort } from '../../../embedded/children/free-port.ts'
import { createApiClient } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import { bearerOf, eventsOfRequest } from '../commands/assessments.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atMost } from '../harness/compare.ts'
import { withScope, type Scope } from '../harness/scope.ts'
import type { HttpJob } from '../load/jobs.ts'
import { startBenchPlatform } from '../load/platform.ts'
import { startDriver, startReceiver, type Driver } from '../load/start-driver.ts'
import { consentedRequests, imagePath } from './consented.ts'

/** Events from request to webhook for which a step waits: through a subscription, and in most cases through a row. */
const handOvers = [
  'AssessmentReviewRequested',
  'ai_review.requested',
  'AiReviewSlotClaimed',
  'AiReviewRequested',
  'AiReviewProcessingAccepted',
  'AiReviewCompleted',
  'ai_review.completed',
  'AssessmentCompleted',
].length
/** Appends after which, or before which, a step continues without waiting for a subscription. */
const appends = [
  'CaseOpened',
  'AiReviewStarted',
  'AiReviewCallAttempted (case)',
  'AiReviewProviderCaseCreated',
  'AiReviewCallAttempted (image)',
  'AiReviewImageSent',
  'AiReviewCallAttempted (process)',
  'AiReviewCallAttempted (result)',
  'WebhookDeliveryAttempted',
].length

/**
 * Time from a request with a photograph in its body to the webhook of its end, at half of the largest rate, with a
 * provider that answers immediately. The other side is the sum of the parts. Each part is measured alone and, except
 * for the request's answer, without the platform.
 */
export const endToEnd: Benchmark = {
  name: 'end-to-end',
  goals: ['14'],
  about: 'POST → webhook received at half load, p99 over the sum of the p99 of its parts',
  run: async ({ quick }, { compare }) => {
    await withScope(async (scope) => {
      const driver = await scope.started(startDriver())
      const webhookAtPort = await freePort()
      const env = { PROVIDER_RESULT_INITIAL_DELAY_MS: '0' }
      const platform = await scope.started(
        startBenchPlatform({ folder: join(scope.folder, 'whole'), roles: ['api', 'projector', 'processor'], env }),
      )
      const requests = await consentedRequests(platform, quick ? 10 : 200)
      const url = `http://127.0.0.1:${webhookAtPort}/webhooks`
      const api = createApiClient(platform.baseUrl, bearerOf(platform))
      await expecting(
        201,
        api.call('/v1/clinical-api/webhook-subscriptions', {
          body: { url, event_types: ['assessment.completed', 'assessment.failed'] },
        }),
      )
      const whole = { kind: 'end-to-end', requests, perSecond: Infinity, until: { webhookAtPort } } as const
      await driver.run(whole)
      const perSecond = (await driver.run(whole)).perSecond / 2
      const count = quick ? 8 : Math.max(100, Math.round(perSecond * 20))
      // In the quick form the rate of the parts does not matter, so a higher rate saves time.
      const parts = await partsOf(scope, driver, { count, perSecond: quick ? Math.max(perSecond, 20) : perSecond })
      const name = `POST → webhook received at ${perSecond.toFixed(1)} per second, p99`
      await compare({
        goal: '14',
        figures: [{ name, unit: 'ms', goal: atMost(1.5, { reached: 2.1 }) }],
        ours: {
          name: 'platform',
          measure: async () => [(await driver.run({ ...whole, requests: { ...requests, count }, perSecond })).p99],
        },
        other: { name: 'sum of its parts', measure: async () => [await parts()] },
        ...(quick ? { rounds: 2 } : {}),
      })
    })
  },
}

/** Measures the parts one after the other, over separate servers. */
async function partsOf(
  { folder, started }: Scope,
  driver: Driver,
  { count, perSecond }: { readonly count: number; readonly perSecond: number },
): Promise<() => Promise<number>> {
  const platform = await started(startBenchPlatform({ folder: join(folder, 'parts'), roles: ['api', 'projector'] }))
  const receiver = await started(startReceiver())
  const { url: baseUrl } = await receiver.run({ kind: 'begin' })
  const requests: HttpJob = { ...(await consentedRequests(platform, count)), count }
  const events = await eventsOfRequest(platform, requests)
  const databaseUrl = await platform.otherDatabase('bare')
  const append = { kind: 'append', url: platform.eventStoreUrl, events, count, inFlight: 1 } as const
  const body = JSON.stringify({ events })
  const webhook = { baseUrl, path: '/1', headers: { 'content-type': 'application/json' }, body }
  const { provider } = platform
  return async () => {
    const answered = await driver.run({ kind: 'end-to-end', requests, perSecond, until: 'answered' })
    const handedOver = await driver.run({ kind: 'bare-visible', append, databaseUrl, perSecond, from: 'begun' })
    const appended = await driver.run(append)
    const called = await driver.run({ kind: 'outside-calls', provider, imagePath, webhook, perSecond, count })
    return answered.p99 + handOvers * handedOver.p99 + appends * appended.p99 + called.p99
  }
}
