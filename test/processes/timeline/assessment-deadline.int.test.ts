import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { WebhookReceiver } from '../../../platform/demo/webhook-receiver.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { assessmentEventsOf, endingOf, reviewOf, submitAnalysis, subscribeReceiver, type Analysis } from './analyses.ts'
import { openTimeline, type Timeline } from './timeline.ts'

let world: ProcessWorld
let receiver: WebhookReceiver
let timeline: Timeline

beforeAll(async () => {
  world = await openProcessWorld({ hasOwnNode: true })
  receiver = await subscribeReceiver(world)
})
afterAll(async () => {
  await receiver.close()
  await world.close()
})
beforeEach(() => world.reset())
afterEach(() => timeline.close())

const ended = { assessment: ['ANALYSIS_TIMEOUT'], webhooks: ['ANALYSIS_TIMEOUT'] }

/** The assessment is open a second before its deadline, and at it has ended, exactly then, with no word of the review. */
async function expires(analysis: Analysis): Promise<void> {
  const deadline = analysis.submittedAt.getTime() + 3600_000
  await timeline.runFor((deadline - world.now().getTime()) / 1000 - 1)
  expect(await endingOf(timeline, world, receiver, analysis)).toMatchObject({ assessment: [], webhooks: [] })
  await timeline.runFor(1)
  expect(await endingOf(timeline, world, receiver, analysis)).toMatchObject(ended)
  expect((await assessmentEventsOf(world, analysis)).at(-1)).toEqual({
    type: 'AssessmentFailed',
    data: { assessmentId: analysis.assessmentId, aiReviewId: null, code: 'ANALYSIS_TIMEOUT', failedAt: new Date(deadline).toISOString() },
  })
}

it('ends an assessment whose review completes only later, once, and what comes later changes nothing', async () => {
  await world.provider.result({ sha256: '*', not_ready_polls: 18 })
  timeline = await openTimeline(world, { deps: world.rewired({ providerResultTimeoutMs: 3 * 3600_000 }) })
  const analysis = await submitAnalysis(world)
  await expires(analysis)
  expect(await reviewOf(timeline, world, analysis)).toMatchObject({ status: 'awaiting_result' })

  await timeline.runFor(4 * 3600)
  expect(await endingOf(timeline, world, receiver, analysis)).toEqual({ ...ended, review: 'completed', classification: null })
})

it('ends an assessment whose review cannot begin, and the review ends by itself', async () => {
  timeline = await openTimeline(world, { deps: await world.withOpenCircuit('providerBaseUrl') })
  const analysis = await submitAnalysis(world)
  await expires(analysis)
  expect(await reviewOf(timeline, world, analysis)).toMatchObject({ status: 'pending', attemptCount: 0 })

  // A circuit that is open for an hour lets one try through each time.
  await timeline.runFor(6 * 3600)
  expect(await endingOf(timeline, world, receiver, analysis)).toEqual({ ...ended, review: 'failed', classification: 'provider_upstream_transient' })
})

it('ends an assessment whose request for a review lies unread, and the review that comes of it later ends, too', async () => {
  timeline = await openTimeline(world, { stopped: ['ai_review_todo'] })
  const analysis = await submitAnalysis(world)
  await expires(analysis)
  expect(await endingOf(timeline, world, receiver, analysis)).toEqual({ ...ended, review: null, classification: null })

  await timeline.resume('ai_review_todo')
  await timeline.runFor(2 * 3600)
  expect(await endingOf(timeline, world, receiver, analysis)).toEqual({ ...ended, review: 'completed', classification: null })
})
