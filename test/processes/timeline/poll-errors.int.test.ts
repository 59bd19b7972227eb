import { afterAll, beforeAll, expect, it } from 'vitest'
import type { FaultControl } from '../../../embedded/provider/controls.ts'
import { startOutsideServer, type OutsideServer, type Reply } from '../../support/process-world.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import type { AiReviewEvent } from '../../../streams/ai-review/events.ts'
import { endingOf, pollInstants, reviewEventsOf, submitAnalysis, type Ending } from './analyses.ts'
import { givenTimeline } from './given-timeline.ts'

type Answered = Reply | 'cut' | 'hang'

/** The answers of the test to the next polls of one review, and connections and a circuit for these polls only. */
interface Script {
  readonly answers: ((now: Date) => Answered)[]
  readonly deps: ProcessDependencies
}

const given = givenTimeline()
/** The scripts by the provider's case. */
const scripts = new Map<number, Script>()
/** A provider that answers each poll with the next answer of its script. */
let flaky: OutsideServer

beforeAll(async () => {
  flaky = await startOutsideServer(({ route }) => {
    if (route === 'POST /api5/login') return { status: 200, headers: { authorization: 'session' } }
    const [, providerCaseId] = /^GET \/api5\/case\/(\d+)\/result$/.exec(route) ?? []
    const answer = scripts.get(Number(providerCaseId))?.answers.shift()?.(given.world.now())
    return answer === undefined || answer === 'hang' ? new Promise<never>(() => undefined) : answer
  })
})
afterAll(() => flaky.close())

interface Story {
  readonly what: string
  readonly answers?: readonly ((now: Date) => Answered)[]
  readonly stepTimeoutMs?: number
  /** Faults of the simulator. They do not name a case, so this story needs a timeline of its own. */
  readonly faults?: readonly Partial<FaultControl>[]
  /** Seconds after `process`. */
  readonly polls: readonly number[]
  /** The count and the provider's status of each repeated poll. */
  readonly deferred: readonly (readonly [number, number | null])[]
  readonly end: object
}

const completed = { type: 'AiReviewCompleted' }
const failed = (classification: string, upstreamStatus: number | null, attemptCount: number) => ({
  type: 'AiReviewFailed',
  data: { classification, upstreamStatus, attemptCount },
})
const reply = (status: number, retryAfter?: string) => (): Answered => ({
  status,
  ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }),
})
const toDeadline = [5, 10, 25, 55, 115, 235, 535, 600]

const stories: readonly Story[] = [
  { what: 'a 500', answers: [reply(500)], polls: [5, 10], deferred: [[1, 500]], end: completed },
  {
    what: 'a 503 that asks for 40 s',
    answers: [reply(503, '40')],
    polls: [5, 45],
    deferred: [[1, 503]],
    end: completed,
  },
  {
    what: 'a 429 that asks for 40 s',
    answers: [reply(429, '40')],
    polls: [5, 45],
    deferred: [[1, 429]],
    end: completed,
  },
  {
    what: 'a 503 that asks for an instant 70 s away',
    answers: [
      (now) => ({
        status: 503,
        headers: { 'retry-after': new Date(Math.ceil(now.getTime() / 1000) * 1000 + 70_000).toUTCString() },
      }),
    ],
    polls: [5, expect.closeTo(75.5, -1) as number],
    deferred: [[1, 503]],
    end: completed,
  },
  {
    what: 'a 429 that asks for an hour',
    answers: [reply(429, '3600')],
    polls: [5, 600],
    deferred: [[1, 429]],
    end: completed,
  },
  { what: 'a connection that is cut', answers: [() => 'cut'], polls: [5, 10], deferred: [[1, null]], end: completed },
  {
    what: 'no answer in time',
    answers: [() => 'hang'],
    stepTimeoutMs: 2_000,
    polls: [5, 10],
    deferred: [[1, null]],
    end: completed,
  },
  {
    what: 'a body that is no JSON',
    faults: [{ call: 'result', status: 200, body: 'no JSON' }],
    polls: [5, 10],
    deferred: [[1, 200]],
    end: completed,
  },
  {
    what: 'one error after the other',
    answers: [reply(500), () => 'cut', reply(429, '2'), reply(502)],
    polls: [5, 10, 25, 55, 115],
    deferred: [
      [1, 500],
      [2, null],
      [3, 429],
      [4, 502],
    ],
    end: completed,
  },
  { what: 'a 400', answers: [reply(400)], polls: [5], deferred: [], end: failed('provider_client_error', 400, 1) },
  {
    what: 'a 401 and then a session',
    faults: [{ call: 'result', status: 401 }],
    polls: [5],
    deferred: [],
    end: completed,
  },
  {
    what: 'a 401 twice',
    faults: [{ call: 'result', status: 401, times: 2 }],
    polls: [5],
    deferred: [],
    end: failed('provider_auth_failed', 401, 1),
  },
  {
    what: 'nothing but 500',
    answers: Array.from({ length: 9 }, () => reply(500)),
    polls: toDeadline,
    deferred: [1, 2, 3, 4, 5, 6, 7].map((count) => [count, 500] as const),
    end: failed('provider_result_timeout', 500, 8),
  },
]

const endings = {
  provider_client_error: 'PROVIDER_REJECTED',
  provider_auth_failed: 'PROVIDER_UNAVAILABLE',
  provider_result_timeout: 'ANALYSIS_TIMEOUT',
}

interface Outcome {
  readonly events: readonly AiReviewEvent[]
  readonly ending: Ending
}

/** Runs stories beside each other, each with its own analysis, for three hours. */
async function play(played: readonly Story[]): Promise<ReadonlyMap<Story, Outcome>> {
  const { world } = given
  scripts.clear()
  // The simulator answers the start, and each poll without an answer of the test.
  const result: typeof world.deps.provider.result = (providerCaseId, ...call) => {
    const script = scripts.get(providerCaseId)
    const { provider } = script !== undefined && script.answers.length > 0 ? script.deps : world.deps
    return provider.result(providerCaseId, ...call)
  }
  await given.open({ deps: { ...world.deps, provider: { ...world.deps.provider, result } } })
  const analyses = []
  for (const story of played) analyses.push({ story, analysis: await submitAnalysis(world) })
  await given.timeline.runUntilIdle()
  for (const { story, analysis } of analyses) {
    const { answers = [], stepTimeoutMs = world.configuration.stepTimeoutMs } = story
    scripts.set(providerCaseOf(await reviewEventsOf(given, analysis)), {
      answers: [...answers],
      deps: world.rewired({ providerBaseUrl: flaky.url, stepTimeoutMs }),
    })
  }
  await world.provider.fault(...played.flatMap(({ faults = [] }) => faults))
  await given.timeline.runFor(3 * 3600)
  const outcomes = new Map<Story, Outcome>()
  for (const { story, analysis } of analyses)
    outcomes.set(story, { events: await reviewEventsOf(given, analysis), ending: await endingOf(given, analysis) })
  return outcomes
}

function providerCaseOf(events: readonly AiReviewEvent[]): number {
  for (const event of events) if (event.type === 'AiReviewProviderCaseCreated') return event.data.providerCaseId
  throw new Error('the review has no case at the provider')
}

let together: Promise<ReadonlyMap<Story, Outcome>> | undefined

it.each(stories)('$what to a poll', async (story) => {
  // Each timeline costs a second of processor time, so all stories without faults of the simulator share one.
  const outcomes = await (story.faults === undefined
    ? (together ??= play(stories.filter(({ faults }) => faults === undefined)))
    : play([story]))
  const outcome = outcomes.get(story)
  if (outcome === undefined) throw new Error('the story was not played')
  const { events } = outcome
  expect(pollInstants(events)).toEqual(story.polls)
  const deferred = events.flatMap((event) =>
    event.type === 'AiReviewPollDeferred' ? [[event.data.attemptCount, event.data.upstreamStatus]] : [],
  )
  expect(deferred).toEqual(story.deferred)
  expect(events.at(-1)).toMatchObject(story.end)
  const { classification, ...ending } = outcome.ending
  const sent = classification === null ? 'completed' : endings[classification as keyof typeof endings]
  expect(ending).toEqual({
    assessment: [sent],
    review: classification === null ? 'completed' : 'failed',
    webhooks: [sent],
  })
})
