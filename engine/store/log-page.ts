import type { Catalogue } from './catalogue.ts'
import type { Codec } from './codec.ts'
import { headOf } from './decoding.ts'
import { UndecodableEventError, UnknownEventTypeError } from './errors.ts'
import type { RecordedEvent } from './events.ts'
import type { LogFrame } from './log-frames.ts'
import { comparePositions, type Position } from '../../platform/kit/positions.ts'
import type { EventFilter } from './subscription-options.ts'

/** The events between the end of the previous batch and `position`, in the order of the log. */
export interface LogBatch {
  readonly events: readonly RecordedEvent[]
  readonly undecodable: readonly UndecodableEventError[]
  /** Number of events that were inspected. */
  readonly considered: number
  readonly position: Position
}

/** Selects the events of the log and decodes them. */
export interface PageRules {
  readonly codec: Codec
  readonly catalogue: Catalogue
  readonly filter: EventFilter
  readonly wants: (type: string) => boolean
  /** Whether personal members of events of this type are decrypted. */
  readonly opens: (type: string) => boolean
  /** Most wanted events of a page. Up to four times as many may be skipped. */
  readonly size: number
}

/** Most bytes of stored data that are decoded into one page. */
const mostBytes = 8 * 1024 * 1024
const passedOverPerWanted = 4

/** The next batch while it arrives. Each wanted event is decoded at once, so its bytes need not be kept. */
export class LogPage {
  readonly #rules: PageRules
  readonly #decoded: (RecordedEvent | undefined)[] = []
  readonly #undecodable: UndecodableEventError[] = []
  readonly #waiting: Promise<void>[] = []
  #failure: { readonly cause: unknown } | undefined
  #considered = 0
  #bytes = 0
  #last: LogFrame | undefined

  constructor(rules: PageRules) {
    this.#rules = rules
  }

  get isFull(): boolean {
    const { size } = this.#rules
    return this.#decoded.length >= size || this.#considered >= size * passedOverPerWanted || this.#bytes >= mostBytes
  }

  add(frame: LogFrame, bytes: number): void {
    this.#last = frame
    if (frame.type.startsWith('$')) return
    this.#considered += 1
    if (!this.#isWanted(frame)) return
    this.#bytes += bytes
    this.#decode(frame)
  }

  /** Place of its newest event. */
  get last(): Position | undefined {
    return this.#last?.position
  }

  /**
   * The batch, with `position` as its end. Rejects if an event cannot be decoded now, for example because the vault is
   * away.
   */
  async decoded(position: Position): Promise<LogBatch> {
    await Promise.all(this.#waiting)
    if (this.#failure !== undefined) throw this.#failure.cause
    const undecodable = this.#undecodable.toSorted((a, b) => comparePositions(a.head.position, b.head.position))
    return {
      events: this.#decoded.filter((event) => event !== undefined),
      undecodable,
      considered: this.#considered,
      position,
    }
  }

  #isWanted(frame: LogFrame): boolean {
    const { wants, catalogue, filter } = this.#rules
    if (!wants(frame.type) && catalogue.entry(frame.type) !== undefined) return false
    const { stream } = frame
    if (filter.streamPrefixes.length === 0) return !stream.startsWith('$')
    return filter.streamPrefixes.some((prefix) => stream.startsWith(prefix))
  }

  #decode(frame: LogFrame): void {
    const place = this.#decoded.push(undefined) - 1
    const take = (event: RecordedEvent): void => void (this.#decoded[place] = event)
    try {
      const stored = frame.open()
      if (this.#rules.catalogue.entry(stored.type) === undefined) throw new UnknownEventTypeError(headOf(stored))
      const decoded = this.#rules.codec.decode(stored, this.#rules.opens(stored.type))
      if (decoded instanceof Promise) this.#waiting.push(decoded.then(take, (error: unknown) => this.#refuse(error)))
      else take(decoded)
    } catch (error) {
      this.#refuse(error)
    }
  }

  #refuse(error: unknown): void {
    if (error instanceof UndecodableEventError) this.#undecodable.push(error)
    else this.#failure ??= { cause: error }
  }
}
