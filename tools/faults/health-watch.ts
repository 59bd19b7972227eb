import { setTimeout as sleep } from 'node:timers/promises'
import { at } from '../../app/demo/members.ts'

/** Polls a platform's health without pause, as an operator's monitoring does. */
export class HealthWatch {
  readonly failed = new Set<string>()
  readonly wrong: string[] = []
  #shownAt: number | undefined
  #lastFailingAt = 0
  #isHealthy = false
  readonly #baseUrl: string
  readonly #stopping = new AbortController()
  #watching: Promise<void> = Promise.resolve()

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl
  }

  start(): void {
    this.#watching = this.#watch()
  }

  get isHealthy(): boolean {
    return this.#isHealthy
  }

  /** Times of the first and the last failing health answer, from `performance.now()`. */
  get times(): { readonly shownAt: number | undefined; readonly lastFailingAt: number } {
    return { shownAt: this.#shownAt, lastFailingAt: this.#lastFailingAt }
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#watching
  }

  async #watch(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await this.#look().catch((error: unknown) => this.wrong.push(`no health answer: ${String(error)}`))
      await sleep(250, undefined, { signal: this.#stopping.signal }).catch(() => undefined)
    }
  }

  async #look(): Promise<void> {
    const signal = AbortSignal.timeout(10_000)
    const [full, live] = await Promise.all([
      fetch(`${this.#baseUrl}/health`, { signal }),
      fetch(`${this.#baseUrl}/health/live`, { signal }),
    ])
    await live.arrayBuffer()
    if (live.status !== 200) this.wrong.push(`/health/live answered ${live.status}`)
    const body: unknown = await full.json()
    this.#isHealthy = full.status === 200
    if (this.#isHealthy) return
    this.#shownAt ??= performance.now()
    this.#lastFailingAt = performance.now()
    const checks: unknown = at(body, 'checks')
    for (const check of Array.isArray(checks) ? checks : []) {
      if (at(check, 'status') === 'failing') this.failed.add(String(at(check, 'name')))
    }
  }
}
