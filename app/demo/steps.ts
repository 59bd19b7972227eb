import { setTimeout as sleep } from 'node:timers/promises'
import { Problem, type Client, type Schemas } from 'clinical-assessment-client/source'
import { textAt } from './members.ts'
import type { ReceivedWebhook, WebhookReceiver } from './webhook-receiver.ts'

export interface DemoImage {
  readonly mimeType: string
  /** Base64. */
  readonly data: string
}

/** Runs one step of the demo and prints its result and duration. */
export type Step = <Result>(
  what: string,
  work: () => Promise<readonly [text: string, result: Result]>,
) => Promise<Result>

export type Report = (what: string, result: string, milliseconds: number) => void

const patience = 60

export function createSteps(report: Report): Step {
  return async (what, work) => {
    const begun = performance.now()
    const [text, result] = await work()
    report(what, text, performance.now() - begun)
    return result
  }
}

/**
 * Polls as a client does: prefers to wait for the final state, and pauses `next_poll_after_ms` before the next poll.
 */
export async function pollToEnd(
  client: Client,
  id: string,
  wanted: string,
): Promise<readonly [string, Schemas['AssessmentRecord']]> {
  for (let polls = 1; polls <= patience; polls++) {
    const { data } = await client.request('GET', '/v1/clinical-api/assessments/{id}', { params: { id }, wait: 25 })
    const { status, result, error, next_poll_after_ms: pauseMs } = data
    const summary = result === null ? '' : `, ${result.outcome.recommendation}`
    if (status === wanted) return [`${status} after ${polls} poll(s)${summary}`, data]
    if (status !== 'processing') throw new Error(`the assessment is ${status}, not ${wanted}: ${JSON.stringify(error)}`)
    await sleep(pauseMs)
  }
  throw new Error('the assessment did not come to an end')
}

/** The problem that a request must end with. */
export async function expectProblem(status: number, asked: Promise<unknown>): Promise<Problem> {
  const answer: unknown = await asked.catch((error: unknown) => error)
  if (answer instanceof Problem && answer.status === status) return answer
  if (answer instanceof Error) throw answer
  throw new Error(`expected ${status}, got a success`)
}

export async function untilReceived(receiver: WebhookReceiver, id: string): Promise<ReceivedWebhook> {
  return until('no webhook came', () => receiver.received.find(({ body }) => textAt(JSON.parse(body), 'id') === id))
}

/** Asks every 100 ms, for a minute. */
export async function until<Found>(
  failure: string,
  ask: () => Found | undefined | Promise<Found | undefined>,
): Promise<Found> {
  for (let waited = 0; waited < patience * 10; waited++) {
    const found = await ask()
    if (found !== undefined) return found
    await sleep(100)
  }
  throw new Error(failure)
}
