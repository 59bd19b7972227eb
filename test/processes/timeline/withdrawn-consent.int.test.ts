import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Provider } from '../../../processes/adapters/provider.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { waitFor } from '../../support/platform.ts'
import {
  assessmentEventsOf,
  decideConsent,
  endingOf,
  reviewEventsOf,
  reviewOf,
  submitAnalysis,
  type Analysis,
} from './analyses.ts'
import { givenTimeline } from './given-timeline.ts'

const given = givenTimeline()

const failed = {
  assessment: ['CONSENT_MISSING'],
  review: 'failed',
  classification: 'consent_missing',
  webhooks: ['CONSENT_MISSING'],
}
const cancelled = { ...failed, review: 'cancelled', classification: null }

/** The world's dependencies, but that something happens after the provider has answered a call and before that is recorded. */
function after(
  call: keyof Pick<Provider, 'createCase' | 'sendImage' | 'process' | 'result'>,
  happens: () => Promise<void>,
): ProcessDependencies {
  const { provider } = given.world.deps
  const answered = async (...parameters: readonly unknown[]): Promise<unknown> => {
    const answer: unknown = await Reflect.apply(provider[call], provider, parameters)
    await happens()
    return answer
  }
  return { ...given.world.deps, provider: { ...provider, [call]: answered } }
}

/** Lets two more hours pass. The end must not change, and the provider must not be called. */
async function endsFor(analysis: Analysis, ending: object, story: readonly string[]): Promise<void> {
  await given.timeline.runFor(7200)
  expect(await endingOf(given, analysis)).toEqual(ending)
  expect((await given.world.provider.caseCalls()).map(({ call }) => call)).toEqual(story)
  const ends = (await reviewEventsOf(given, analysis)).filter(({ type }) =>
    ['AiReviewCompleted', 'AiReviewFailed', 'AiReviewCancelled'].includes(type),
  )
  expect(ends).toHaveLength(1)
  expect(await reviewOf(given, analysis)).toMatchObject({ result: null, lesions: [] })
}

/** A withdrawal while the provider answers a call. */
async function withdrawnDuring(call: 'createCase' | 'sendImage' | 'process', story: readonly string[]): Promise<void> {
  await given.open({ deps: after(call, () => decideConsent(given.world, 'withdrawn')) })
  const analysis = await submitAnalysis(given.world)
  await given.timeline.runUntilIdle()
  const ending = call === 'process' ? await endingOf(given, analysis) : failed
  // `process` or the withdrawal may be recorded first. Both orders end the review.
  expect([failed, cancelled]).toContainEqual(ending)
  await endsFor(analysis, ending, story)
}

// They differ only in the recorded decision. The other moments have a withdrawal.
it.each(['withdrawn', 'denied'] as const)(
  'consent %s during the poll that returns the result: nothing of it is kept',
  async (decision) => {
    const stored: string[] = []
    let analysis: Analysis | undefined
    const isCancelled = async () => {
      if (analysis === undefined) return undefined
      return (await reviewOf(given, analysis)).status === 'cancelled' ? true : undefined
    }
    const deps = after('result', async () => {
      await decideConsent(given.world, decision)
      await waitFor('the end of the review', isCancelled)
    })
    const put: typeof deps.objects.put = async (...parameters) => {
      const object = await deps.objects.put(...parameters)
      stored.push(object.key)
      return object
    }
    await given.open({ deps: { ...deps, objects: { ...deps.objects, put } } })
    analysis = await submitAnalysis(given.world)
    await endsFor(analysis, cancelled, ['case', 'image', 'process', 'result'])
    expect(stored).toHaveLength(1)
    await expect(deps.objects.get(stored[0] ?? '')).rejects.toMatchObject({ name: 'NoSuchKey' })
  },
)

describe('a withdrawal of consent', () => {
  it('before the start: the provider is not called', async () => {
    await given.open()
    const analysis = await submitAnalysis(given.world)
    await decideConsent(given.world, 'withdrawn')
    await endsFor(analysis, failed, [])
  })

  it('while the consent service is unavailable at the start: the provider is not called', async () => {
    await given.open()
    given.world.services.consent = null
    const analysis = await submitAnalysis(given.world)
    await given.timeline.runUntilIdle()
    expect(await reviewOf(given, analysis)).toMatchObject({ status: 'pending' })
    await decideConsent(given.world, 'withdrawn', null)
    await given.timeline.runUntilIdle()
    expect(await reviewOf(given, analysis)).toMatchObject({ status: 'failed', errorClassification: 'consent_missing' })
    await endsFor(analysis, failed, [])
  })

  it.each([
    ['createCase', ['case']],
    ['sendImage', ['case', 'image']],
    ['process', ['case', 'image', 'process']],
  ] as const)('during the call of %s: no call follows', withdrawnDuring)

  it('while the result is awaited: no poll follows', async () => {
    await given.world.provider.result({ sha256: '*', not_ready_polls: 2 })
    await given.open()
    const analysis = await submitAnalysis(given.world)
    await given.timeline.runFor(7)
    expect(await reviewOf(given, analysis)).toMatchObject({ status: 'awaiting_result', attemptCount: 1 })
    await decideConsent(given.world, 'withdrawn')
    await endsFor(analysis, cancelled, ['case', 'image', 'process', 'result'])
  })
})

it('a withdrawn consent ends every analysis of its patient, and each end is notified', async () => {
  await given.world.provider.result({ sha256: '*', not_ready_polls: 2 })
  await given.open()
  const patientId = randomUUID()
  const analyses = [await submitAnalysis(given.world, patientId), await submitAnalysis(given.world, patientId)]
  await given.timeline.runFor(7)
  await decideConsent(given.world, 'withdrawn')
  await given.timeline.runFor(60)
  for (const analysis of analyses) expect(await endingOf(given, analysis)).toEqual(cancelled)
})

it('a consent that is withdrawn and granted again at once ends nothing', async () => {
  await given.world.provider.result({ sha256: '*', not_ready_polls: 1 })
  await given.open()
  const analysis = await submitAnalysis(given.world)
  await given.timeline.runUntilIdle()
  for (const decision of ['withdrawn', 'granted'] as const) await decideConsent(given.world, decision, 'granted')
  await given.timeline.runFor(7200)
  expect(await endingOf(given, analysis)).toEqual({
    assessment: ['completed'],
    review: 'completed',
    classification: null,
    webhooks: ['completed'],
  })
})

it('a consent that is withdrawn after the end changes nothing', async () => {
  await given.open()
  const analysis = await submitAnalysis(given.world)
  await given.timeline.runFor(60)
  const before = await assessmentEventsOf(given, analysis)
  await decideConsent(given.world, 'withdrawn')
  await given.timeline.runFor(7200)
  expect(await assessmentEventsOf(given, analysis)).toEqual(before)
  expect(await endingOf(given, analysis)).toMatchObject({
    assessment: ['completed'],
    review: 'completed',
    webhooks: ['completed'],
  })
})
