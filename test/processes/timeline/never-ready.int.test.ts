import { beforeEach, expect, it } from 'vitest'
import { endingOf, pollInstants, reviewEventsOf, submitAnalysis } from './analyses.ts'
import { givenTimeline } from './given-timeline.ts'
import type { TimelineOptions } from './timeline.ts'

const given = givenTimeline()

beforeEach(() => given.world.provider.result({ sha256: '*', not_ready_polls: 1_000 }))

const timedOut = {
  assessment: ['ANALYSIS_TIMEOUT'],
  review: 'failed',
  classification: 'provider_result_timeout',
  webhooks: ['ANALYSIS_TIMEOUT'],
}

/** The instants of all polls of a review whose provider is never ready, in seconds after `process`, and its end. */
async function waitInVain(options: TimelineOptions = {}) {
  await given.open(options)
  const analysis = await submitAnalysis(given.world)
  await given.timeline.runFor(3 * 3600)
  const polls = pollInstants(await reviewEventsOf(given, analysis))
  const asked = (await given.world.provider.calls()).filter(({ call }) => call === 'result')
  expect(asked).toHaveLength(polls.length)
  return { polls, ending: await endingOf(given, analysis) }
}

it('polls a provider that is never ready at the instants of the schedule, and for the last time exactly at the deadline', async () => {
  const { polls, ending } = await waitInVain()
  expect(polls).toEqual([5, 10, 25, 55, 115, 235, 535, 600])
  expect(ending).toEqual(timedOut)
})

it('polls as often with late workers, and at most once after the deadline', async () => {
  let turn = 0
  const lateMs = () => [0, 950, 20, 400][turn++ % 4] ?? 0
  const { polls, ending } = await waitInVain({ lateMs })
  expect(polls).toHaveLength(8)
  for (const [place, instant] of [5, 10, 25, 55, 115, 235, 535, 600].entries()) {
    expect(polls[place]).toBeGreaterThanOrEqual(instant)
    expect(polls[place]).toBeLessThan(instant + (place === 7 ? 1 : 8))
  }
  expect(ending).toEqual(timedOut)
})

it('ends with the last poll that the budget of polls allows', async () => {
  const { polls, ending } = await waitInVain({ deps: given.world.rewired({ providerResultMaxAttempts: 3 }) })
  expect(polls).toEqual([5, 10, 25])
  expect(ending).toEqual(timedOut)
})

it('ends at a deadline that comes before the first poll of the schedule', async () => {
  const { polls, ending } = await waitInVain({ deps: given.world.rewired({ providerResultTimeoutMs: 3_000 }) })
  expect(polls).toEqual([3])
  expect(ending).toEqual(timedOut)
})
