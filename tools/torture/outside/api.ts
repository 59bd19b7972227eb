import { setTimeout as sleep } from 'node:timers/promises'
import { at, textAt } from '../../../app/demo/members.ts'
import {
  createApiClient,
  requestToken,
  type ApiAnswer,
  type ApiRequest,
  type ClientSecrets,
} from '../../../test/support/raw-api.ts'
import { limited } from '../../../platform/kit/time-limits.ts'
import { operations, type Acknowledged, type DurableLines, type LoadSummary, type Operation } from '../acknowledged.ts'

/** A write request, sent once or repeatedly. */
export interface Write {
  readonly operation: Operation
  readonly key: string
  readonly path: string
  readonly request: ApiRequest
  readonly idOf: (body: unknown) => string
  /** Status that means for a repeat that the write is done. A deletion has no other answer for that. */
  readonly doneStatus?: number
}

const betweenRepeatsMs = 150
/** A request that is repeated for longer than this counts as unanswered. */
const patienceMs = 120_000
/** Exceeds the time limits of the platform. A request without an answer by then has none. */
const answerMs = 60_000
const isPassing = (status: number) => [502, 503, 504].includes(status)

/** Of a listed task, or of its review: its patient can be erased meanwhile. */
const ofTask = /\/tasks\/|^\/v1\/ai-reviews\/[^/]+$/

/**
 * A client that repeats unanswered requests under the same key. It records an acknowledgement before it does anything
 * else.
 */
export class PatientClient {
  readonly #baseUrl: string
  readonly #log: DurableLines
  #token = ''
  #renew: { readonly client: ClientSecrets; readonly at: number } | undefined
  #sent = 0
  #repeated = 0
  readonly #answers = new Map<string, number>()
  readonly #unanswered = new Map<Operation, number>()

  constructor(baseUrl: string, log: DurableLines) {
    this.#baseUrl = baseUrl
    this.#log = log
  }

  /** Gets a token, and a new one whenever half of its lifetime is over. */
  async logIn(client: ClientSecrets): Promise<void> {
    const { body } = await requestToken(this.#baseUrl, client)
    this.#token = textAt(body, 'access_token')
    this.#renew = { client, at: performance.now() + Number(at(body, 'expires_in')) * 500 }
  }

  /** Returns the answer that accepted the write. Undefined when it was refused or never answered. */
  async write(write: Write): Promise<ApiAnswer | undefined> {
    const deadline = performance.now() + patienceMs
    const headers = { ...write.request.headers, 'idempotency-key': write.key }
    while (performance.now() < deadline) {
      const answer = await this.ask(write.path, { ...write.request, headers }, write.doneStatus)
      if (answer !== undefined && !isPassing(answer.status)) {
        if (answer.status >= 300 && answer.status !== write.doneStatus) return undefined
        const { operation, key, idOf } = write
        const acknowledged: Acknowledged = {
          operation,
          key,
          status: answer.status,
          id: idOf(answer.body),
          position: answer.headers.get('x-commit-position'),
          at: Date.now(),
        }
        this.#log.write(acknowledged)
        return answer
      }
      this.#repeated += 1
      await sleep(betweenRepeatsMs)
    }
    this.#unanswered.set(write.operation, (this.#unanswered.get(write.operation) ?? 0) + 1)
    return undefined
  }

  /** Sends one request. Undefined without an answer. */
  async ask(path: string, request: ApiRequest = {}, doneStatus?: number): Promise<ApiAnswer | undefined> {
    this.#sent += 1
    await this.#keepLoggedIn()
    try {
      const answer = await limited(answerMs, createApiClient(this.#baseUrl, this.#token).call(path, request))
      const code = answer.status >= 300 ? ` ${String(at(answer.body, 'code'))}` : ''
      const isWithout = answer.status === 503 && !answer.headers.has('retry-after')
      const remarks = [
        isWithout ? ' without Retry-After' : '',
        answer.status === doneStatus ? ' of a finished write' : '',
        answer.status === 410 && ofTask.test(path) ? ' of a task' : '',
      ]
      this.#count(`${answer.status}${code}${remarks.join('')}`)
      return answer
    } catch (error) {
      // fetch throws a TypeError when the connection breaks. A body that is not JSON is a wrong answer.
      this.#count(error instanceof SyntaxError ? 'unreadable' : error instanceof TypeError ? 'none' : 'none in time')
      return undefined
    }
  }

  summary(): LoadSummary {
    const unanswered = Object.fromEntries(
      operations.map((operation) => [operation, this.#unanswered.get(operation) ?? 0]),
    ) as Record<Operation, number>
    return {
      sent: this.#sent,
      repeated: this.#repeated,
      unanswered,
      answers: Object.fromEntries([...this.#answers].toSorted(([a], [b]) => a.localeCompare(b))),
    }
  }

  async #keepLoggedIn(): Promise<void> {
    const due = this.#renew
    if (due === undefined || performance.now() < due.at) return
    this.#renew = undefined
    try {
      await limited(answerMs, this.logIn(due.client))
    } catch {
      // The token endpoint is down. The present token is used for the same time again.
      this.#renew = due
    }
  }

  #count(answer: string): void {
    this.#answers.set(answer, (this.#answers.get(answer) ?? 0) + 1)
  }
}
