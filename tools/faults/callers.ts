import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { at, textAt } from '../../app/demo/members.ts'
import { createApiClient, requestToken, type ApiAnswer, type ApiClient } from '../../test/support/raw-api.ts'
import { assessmentBody, photograph } from '../../test/support/main-job.ts'
import { clientOf } from '../../test/support/platform.ts'
import type { CallerName, Outcome } from './outcomes.ts'
import type { Stage } from './stage/stage.ts'

/** Longest time for any request until its answer, in milliseconds (docs/reliability.md). */
const answerLimitMs = 60_000
/** After this time the request counts as hanging. */
const hangMs = answerLimitMs + 15_000
/** Callers do not wait the full Retry-After, so that they collect more answers. */
const longestPauseMs = 2_000

const codes: ReadonlySet<unknown> = new Set([
  'access-log-unavailable',
  'event-store-unavailable',
  'database-unavailable',
  'object-store-unavailable',
  'read-model-behind',
])

export interface Acknowledged {
  readonly id: string
}

/** Callers that send requests to a platform without pause and record the answers. */
export class Callers {
  readonly outcomes: Outcome[] = []
  readonly acknowledged: Acknowledged[] = []
  readonly #stage: Stage
  readonly #stopping = new AbortController()
  readonly #mayExpire: boolean
  #api: ApiClient
  #all: Promise<unknown> = Promise.resolve()

  /** `mayExpire`: the clock moves and tokens may expire. A caller with a refused token requests a new one. */
  constructor(stage: Stage, api: ApiClient, { mayExpire = false }: { readonly mayExpire?: boolean } = {}) {
    this.#stage = stage
    this.#api = api
    this.#mayExpire = mayExpire
  }

  start(): void {
    this.#all = Promise.all([
      this.#submit(),
      this.#submit(),
      this.#every(1_000, () => this.#register()),
      this.#every(150, () => this.#read()),
      this.#every(500, () => this.#list()),
      this.#every(1_000, () => this.#token()),
    ])
  }

  /** Resolves once every caller has its last answer. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#all
  }

  get #isOver(): boolean {
    return this.#stopping.signal.aborted
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined)
  }

  async #every(ms: number, ask: () => Promise<unknown>): Promise<void> {
    while (!this.#isOver) {
      await ask()
      await this.#pause(ms)
    }
  }

  /** Repeats one request under one key until it is accepted, then reads the record, which must exist immediately. */
  async #submit(): Promise<void> {
    while (!this.#isOver) {
      const key = randomUUID()
      const body = assessmentBody(this.#stage.patientId, [await photograph()])
      let answer: ApiAnswer | undefined
      do {
        answer = await this.#ask('write: assessment', 202, () =>
          this.#api.call('/v1/clinical-api/assessments', { body, headers: { 'idempotency-key': key } }),
        )
        if (answer?.status !== 202)
          await this.#pause(Math.min(longestPauseMs, 1_000 * Number(answer?.headers.get('retry-after') ?? 1)))
      } while (answer?.status !== 202 && !this.#isOver)
      if (answer?.status !== 202) return
      const id = textAt(answer.body, 'id')
      this.acknowledged.push({ id })
      await this.#record(id)
      await this.#pause(400)
    }
  }

  async #register(): Promise<void> {
    const body = { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29' }
    await this.#ask('write: patient', 201, () => this.#api.call('/v1/clinical-api/patients', { body }))
  }

  async #read(): Promise<void> {
    const one = this.acknowledged[Math.floor(Math.random() * this.acknowledged.length)]
    if (one !== undefined) await this.#record(one.id)
  }

  async #record(id: string): Promise<void> {
    await this.#ask('read: record', 200, () => this.#api.call(`/v1/clinical-api/assessments/${id}`))
  }

  async #list(): Promise<void> {
    await this.#ask('read: list', 200, () => this.#api.call('/v1/ai-reviews?limit=10'))
  }

  async #token(): Promise<void> {
    const answer = await this.#ask('token', 200, () =>
      requestToken(this.#stage.baseUrl, clientOf(this.#stage.platform, 0)),
    )
    if (answer?.status === 200 && this.#mayExpire)
      this.#api = createApiClient(this.#stage.baseUrl, textAt(answer.body, 'access_token'))
  }

  async #ask(caller: CallerName, wanted: number, ask: () => Promise<ApiAnswer>): Promise<ApiAnswer | undefined> {
    const begun = performance.now()
    const over = new AbortController()
    const note = (answer: string, wrong: string | undefined) => {
      over.abort()
      this.outcomes.push({ caller, answer, ms: performance.now() - begun, wrong })
    }
    try {
      const hang = sleep(hangMs, undefined, { signal: over.signal })
      const answer = await Promise.race([ask(), hang])
      if (answer === undefined) {
        note('none: it hangs', `no answer within ${hangMs} ms`)
        return undefined
      }
      const code = at(answer.body, 'code')
      note(
        [answer.status, ...(typeof code === 'string' ? [code] : [])].join(' '),
        this.#wrong(answer, wanted, performance.now() - begun),
      )
      return answer
    } catch (error) {
      note('none: the connection broke', String(error))
      return undefined
    }
  }

  #wrong(answer: ApiAnswer, wanted: number, ms: number): string | undefined {
    if (ms > answerLimitMs) return `answered after ${Math.round(ms)} ms`
    if (answer.status === wanted) return undefined
    if (answer.status === 401 && this.#mayExpire) return undefined
    if (answer.status !== 503) return `answered ${answer.status}: ${JSON.stringify(answer.body)}`
    const { body, headers } = answer
    // The token endpoint follows OAuth, where an outage has no code of the platform.
    if (!codes.has(at(body, 'code'))) return `a 503 with an unexpected code: ${JSON.stringify(body)}`
    return Number(headers.get('retry-after')) > 0 ? undefined : 'a 503 without Retry-After'
  }
}
