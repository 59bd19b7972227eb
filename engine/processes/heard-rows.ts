import { comparePositions, type Position } from '../../platform/kit/positions.ts'
import type { RowNews } from './wake-ups.ts'
import type { TodoRow } from './process.ts'

/** Rows that are due within this time are remembered one by one, in milliseconds. Most of them are removed before. */
const soonMs = 10_000
/** A claim finds the rows beyond this number, as it finds those of other instances. */
const mostSoon = 10_000

type RowKey = Pick<TodoRow, 'key' | 'step'>
type News = Pick<RowNews, 'dueMs' | 'position'>

/** A row that this worker has claimed. Until its list contains what the step appended, it is not due again. */
interface Held {
  /** When the step ended, on the monotonic clock. Undefined while it runs. */
  endedMs?: number
  fence?: Position | undefined
  /** What the last batch with this row did to it. */
  news?: News
}

/** What a worker knows of the rows of its list: from its steps, the batches of this instance, and its last question. */
export class HeardRows {
  readonly #soon = new Map<string, number>()
  readonly #held = new Map<string, Held>()
  #soonestMs = Infinity
  /** When the first of all other rows is due. */
  #laterMs = Infinity
  /** Whether no other row is due before. Otherwise the database knows. */
  isComplete = false

  /** Returns whether the row is due now. */
  hear(row: RowKey, news: News, nowMs: number): boolean {
    const name = nameOf(row)
    const held = this.#held.get(name)
    if (held === undefined) return this.#schedule(name, news.dueMs, nowMs)
    held.news = news
    return this.#scheduleHeld(name, held, nowMs)
  }

  /** A row is due then that is not remembered one by one. Returns whether it is due now: a claim finds it. */
  expect(dueMs: number, nowMs: number): boolean {
    if (dueMs <= nowMs) return true
    this.#laterMs = Math.min(this.#laterMs, dueMs)
    return false
  }

  /** Whether this worker has claimed the row. A statement that is sent again must not take it twice. */
  holds(row: RowKey): boolean {
    return this.#held.has(nameOf(row))
  }

  /** Whether a step of the row runs in this worker. */
  isRunning(row: RowKey): boolean {
    const held = this.#held.get(nameOf(row))
    return held !== undefined && held.endedMs === undefined
  }

  begin(row: RowKey): void {
    this.#held.set(nameOf(row), {})
  }

  /** A step has ended. Its row is due then; undefined: when its list tells so, after the fence. */
  end(row: RowKey, dueMs: number | undefined, fence: Position | undefined, nowMs: number): boolean {
    const name = nameOf(row)
    const held: Held = { ...this.#held.get(name), endedMs: performance.now(), fence }
    this.#held.delete(name)
    // It is not due before its list says so, either.
    if (dueMs !== undefined) return this.#schedule(name, Math.max(dueMs, held.news?.dueMs ?? dueMs), nowMs)
    // The rows that wait stand in the order in which they began to.
    this.#held.set(name, held)
    return this.#scheduleHeld(name, held, nowMs)
  }

  /** Milliseconds until a row is due, by the clock. */
  untilDueMs(nowMs: number): number {
    if (this.#soonestMs === -Infinity) this.#soonestMs = Math.min(Infinity, ...this.#soon.values())
    return Math.min(this.#soonestMs, this.#laterMs) - nowMs
  }

  /** A claim has taken the rows that were due then. */
  claimed(atMs: number): void {
    for (const [name, dueMs] of this.#soon) if (dueMs <= atMs) this.#soon.delete(name)
    if (this.#soonestMs <= atMs) this.#soonestMs = -Infinity
    if (this.#laterMs > atMs) return
    this.#laterMs = Infinity
    this.isComplete = false
  }

  /** Since when a row waits for its list, on the monotonic clock. */
  get waitingSinceMs(): number {
    for (const { endedMs } of this.#held.values()) if (endedMs !== undefined) return endedMs
    return Infinity
  }

  /** Rows that wait for their list are not remembered any more: the next claim finds those that are due. */
  forgetWaiting(): void {
    for (const [name, { endedMs }] of this.#held) if (endedMs !== undefined) this.#held.delete(name)
  }

  /** Once the list contains what the step appended, the row is due as its batch made it. */
  #scheduleHeld(name: string, { endedMs, fence, news }: Held, nowMs: number): boolean {
    if (endedMs === undefined || fence === undefined || news === undefined) return false
    if (comparePositions(news.position, fence) < 0) return false
    this.#held.delete(name)
    return this.#schedule(name, news.dueMs, nowMs)
  }

  #schedule(name: string, dueMs: number, nowMs: number): boolean {
    if (this.#soon.get(name) === this.#soonestMs) this.#soonestMs = -Infinity
    this.#soon.delete(name)
    if (dueMs <= nowMs) return true
    if (dueMs - nowMs > soonMs || this.#soon.size >= mostSoon) return this.expect(dueMs, nowMs)
    this.#soon.set(name, dueMs)
    this.#soonestMs = Math.min(this.#soonestMs, dueMs)
    return false
  }
}

function nameOf({ key, step }: RowKey): string {
  return `${step} ${key}`
}
