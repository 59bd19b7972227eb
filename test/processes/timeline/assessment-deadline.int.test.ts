import { expect, it } from 'vitest'
import { assessmentEventsOf, endingOf, reviewOf, submitAnalysis, type Analysis } from './analyses.ts'
import { givenTimeline } from './given-timeline.ts'

const given = givenTimeline()

const ended = { assessment: ['ANALYSIS_TIMEOUT'], webhooks: ['ANALYSIS_TIMEOUT'] }

/** The assessment is open a second before its deadline. It ends exactly at its deadline, without a result. */
async function expires(analysis: Analysis): Promise<void> {
  const deadline = analysis.submittedAt.getTime() + 3600_000
  await given.timeline.runFor((deadline - given.world.now().getTime()) / 1000 - 1)
  expect(await endingOf(given, analysis)).toMatchObject({ assessment: [], webhooks: [] })
  await given.timeline.runFor(1)
  expect(await endingOf(given, analysis)).toMatchObject(ended)
  expect((await assessmentEventsOf(given, analysis)).at(-1)).toEqual({
    type: 'AssessmentFailed',
    data: {
      assessmentId: analysis.assessmentId,
      aiReviewId: null,
      code: 'ANALYSIS_TIMEOUT',
      failedAt: new Date(deadline).toISOString(),
    },
  })
}

it('ends an assessment once whose review completes later, and the later result changes nothing', async () => {
  await given.world.provider.result({ sha256: '*', not_ready_polls: 18 })
  await given.open({ deps: given.world.rewired({ providerResultTimeoutMs: 3 * 3600_000 }) })
  const analysis = await submitAnalysis(given.world)
  await expires(analysis)
  expect(await reviewOf(given, analysis)).toMatchObject({ status: 'awaiting_result' })

  await given.timeline.runFor(4 * 3600)
  expect(await endingOf(given, analysis)).toEqual({ ...ended, review: 'completed', classification: null })
})

it('ends an assessment whose review cannot begin, and the review ends by itself', async () => {
  await given.open({ deps: await given.world.withOpenCircuit('providerBaseUrl') })
  const analysis = await submitAnalysis(given.world)
  await expires(analysis)
  expect(await reviewOf(given, analysis)).toMatchObject({ status: 'pending', attemptCount: 0 })

  // After each hour the open circuit allows one try.
  await given.timeline.runFor(6 * 3600)
  expect(await endingOf(given, analysis)).toEqual({
    ...ended,
    review: 'failed',
    classification: 'provider_upstream_transient',
  })
})

it('ends an assessment whose request for a review is still unread, and later the review, too', async () => {
  await given.open({ stopped: ['ai_review_todo'] })
  const analysis = await submitAnalysis(given.world)
  await expires(analysis)
  expect(await endingOf(given, analysis)).toEqual({ ...ended, review: null, classification: null })

  await given.timeline.resume('ai_review_todo')
  await given.timeline.runFor(2 * 3600)
  expect(await endingOf(given, analysis)).toEqual({ ...ended, review: 'completed', classification: null })
})
