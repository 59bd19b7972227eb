import type { EventStore } from '../../engine/store/event-store.ts'
import type { StoredRecord } from '../../engine/store/decoding.ts'

export type { StoredRecord }

/** A stream of a subject, or one event of a stream that many subjects share. */
export interface StreamPart {
  readonly stream: string
  readonly firstCommit: bigint
  readonly lastCommit: bigint
  readonly firstRevision: bigint
  readonly lastRevision: bigint
}

/** A place in the log. Events of one append may have the same commit position, and differ in revision. */
export interface LogPlace {
  readonly commit: bigint
  readonly revision: bigint
}

export interface Reading {
  readonly order: 'asc' | 'desc'
  /** The events behind this place in the order. Undefined: all. */
  readonly after: LogPlace | undefined
  /** Whether personal members are decrypted. */
  readonly isOpened: boolean
}

export interface AuditRecords {
  /** The events of all parts, in the order of the log. The parts come in this order of their nearer end. */
  inOrder(parts: AsyncIterable<StreamPart>, reading: Reading): AsyncGenerator<StoredRecord, void, undefined>
}

/** Events of one read. A page of large events must not fill the memory. */
const mostRead = 16
/** Parts that are opened at once. */
const mostOpened = 8
/** In longer parts the place of the first event is searched. */
const shortPart = 64n

/** Merges streams. It holds few events of each, and no call stays open between two events. */
export function auditRecords(store: Pick<EventStore, 'readRecords'>): AuditRecords {
  async function read(
    part: StreamPart,
    from: bigint,
    limit: number,
    { order, isOpened }: Reading,
  ): Promise<StoredRecord[]> {
    const direction = order === 'asc' ? 'forwards' : 'backwards'
    const room = order === 'asc' ? part.lastRevision - from + 1n : from - part.firstRevision + 1n
    const range = { from, direction, limit: Number(room < BigInt(limit) ? room : limit) } as const
    const found: StoredRecord[] = []
    for await (const record of store.readRecords(part.stream, range, isOpened)) found.push(record)
    return found
  }

  /** The revision with which the events behind the place begin, or an earlier one. */
  async function beginningOf(part: StreamPart, reading: Reading): Promise<bigint> {
    const { order, after } = reading
    const [near, far] =
      order === 'asc' ? [part.firstRevision, part.lastRevision] : [part.lastRevision, part.firstRevision]
    if (after === undefined || part.lastRevision - part.firstRevision < shortPart) return near
    let [passed, wanted] = [near, far]
    while (distance(passed, wanted) > shortPart) {
      const middle = (passed + wanted) / 2n
      const [record] = await read(part, middle, 1, { ...reading, isOpened: false })
      if (record !== undefined && !isBehind(after, record, order)) passed = middle
      else wanted = middle
    }
    return passed
  }

  async function open(part: StreamPart, reading: Reading): Promise<OpenPart> {
    const opened: OpenPart = { part, next: await beginningOf(part, reading), records: [] }
    await fill(opened, reading)
    return opened
  }

  /** Afterwards the part has a record, or is at its end. */
  async function fill(opened: OpenPart, reading: Reading): Promise<void> {
    const { part } = opened
    const step = reading.order === 'asc' ? 1n : -1n
    while (opened.records.length === 0 && opened.next >= part.firstRevision && opened.next <= part.lastRevision) {
      const found = await read(part, opened.next, mostRead, reading)
      // Events that are left out are in no answer, so the next read begins behind the range, and not behind its last record.
      opened.next += step * BigInt(mostRead)
      opened.records = found.filter((record) => isBehind(reading.after, record, reading.order))
    }
  }

  return {
    async *inOrder(parts, reading) {
      const waiting = parts[Symbol.asyncIterator]()
      let ahead: StreamPart[] = []
      let isEnd = false
      const opened: OpenPart[] = []

      async function look(): Promise<StreamPart | undefined> {
        while (!isEnd && ahead.length < mostOpened) {
          const next = await waiting.next()
          if (next.done === true) isEnd = true
          else ahead.push(next.value)
        }
        return ahead[0]
      }

      for (;;) {
        let first = firstOf(opened, reading.order)
        for (
          let next = await look();
          next !== undefined && (first === undefined || beginsBefore(next, first, reading.order));
          next = await look()
        ) {
          const chunk = ahead
          ahead = []
          for (const one of await Promise.all(chunk.map((part) => open(part, reading))))
            if (one.records.length > 0) opened.push(one)
          first = firstOf(opened, reading.order)
        }
        const record = first?.records.shift()
        if (first === undefined || record === undefined) return
        yield record
        await fill(first, reading)
        if (first.records.length === 0) opened.splice(opened.indexOf(first), 1)
      }
    },
  }
}

interface OpenPart {
  readonly part: StreamPart
  /** The revision of the next read. */
  next: bigint
  records: StoredRecord[]
}

function distance(a: bigint, b: bigint): bigint {
  return a < b ? b - a : a - b
}

function placeOf({ position, revision }: StoredRecord): LogPlace {
  return { commit: position.commit, revision }
}

function isBehind(after: LogPlace | undefined, record: StoredRecord, order: 'asc' | 'desc'): boolean {
  return after === undefined || comparePlaces(placeOf(record), after, order) > 0
}

function comparePlaces(a: LogPlace, b: LogPlace, order: 'asc' | 'desc'): number {
  const forwards = a.commit === b.commit ? Number(a.revision - b.revision) : a.commit < b.commit ? -1 : 1
  return order === 'asc' ? forwards : -forwards
}

function firstOf(opened: readonly OpenPart[], order: 'asc' | 'desc'): OpenPart | undefined {
  let first: OpenPart | undefined
  for (const one of opened) {
    const [record] = one.records
    const [least] = first?.records ?? []
    if (record === undefined) continue
    if (least === undefined || comparePlaces(placeOf(record), placeOf(least), order) < 0) first = one
  }
  return first
}

function beginsBefore(part: StreamPart, { records: [record] }: OpenPart, order: 'asc' | 'desc'): boolean {
  if (record === undefined) return true
  return order === 'asc' ? part.firstCommit <= record.position.commit : part.lastCommit >= record.position.commit
}
