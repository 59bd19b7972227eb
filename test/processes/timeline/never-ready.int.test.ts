import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { WebhookReceiver } from '../../../platform/demo/webhook-receiver.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { endingOf, pollInstants, reviewEventsOf, submitAnalysis, subscribeReceiver } from './analyses.ts'
import { openTimeline, type Timeline, type TimelineOptions } from './timeline.ts'

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
beforeEach(async () => {
  await world.reset()
  await world.provider.result({ sha256: '*', not_ready_polls: 1_000 })
})
afterEach(() => timeline.close())

const timedOut = { assessment: ['ANALYSIS_TIMEOUT'], review: 'failed', classification: 'provider_result_timeout', webhooks: ['ANALYSIS_TIMEOUT'] }

/** The instants of all polls of a review whose provider is never ready, in seconds after `process`, and how it ended. */
async function waitInVain(options: TimelineOptions = {}) {
  timeline = await openTimeline(world, options)
  const analysis = await submitAnalysis(world)
  await timeline.runFor(3 * 3600)
  const polls = pollInstants(await reviewEventsOf(timeline, world, analysis))
  const asked = (await world.provider.calls()).filter(({ call }) => call === 'result')
  expect(asked).toHaveLength(polls.length)
  return { polls, ending: await endingOf(timeline, world, receiver, analysis) }
}

it('polls a provider that is never ready at the instants of the schedule, and for the last time exactly at the deadline', async () => {
  const { polls, ending } = await waitInVain()
  expect(polls).toEqual([5, 10, 25, 55, 115, 235, 535, 600])
  expect(ending).toEqual(timedOut)
})

it('polls no time more or less however late its workers look, and never after the deadline but once', async () => {
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
  const { polls, ending } = await waitInVain({ deps: world.rewired({ providerResultMaxAttempts: 3 }) })
  expect(polls).toEqual([5, 10, 25])
  expect(ending).toEqual(timedOut)
})

it('ends at a deadline that comes before the first poll of the schedule', async () => {
  const { polls, ending } = await waitInVain({ deps: world.rewired({ providerResultTimeoutMs: 3_000 }) })
  expect(polls).toEqual([3])
  expect(ending).toEqual(timedOut)
})
