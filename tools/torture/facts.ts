import type { AllStreamRecordedEvent } from '@eventstore/db-client'
import { at } from '../../app/demo/members.ts'
import { formatPosition } from '../../platform/kit/positions.ts'

/** An event as it is in the log. Sealed members stay sealed, so that no report can show them. */
export interface Fact {
  readonly id: string
  readonly stream: string
  readonly revision: bigint
  /** `commit/prepare`. */
  readonly position: string
  readonly type: string
  readonly data: unknown
  readonly metadata: unknown
}

export function factOf({ id, streamId, revision, position, type, data, metadata }: AllStreamRecordedEvent): Fact {
  return { id, stream: streamId, revision, position: formatPosition(position), type, data, metadata }
}

export function categoryOf({ stream }: Pick<Fact, 'stream'>): string {
  return stream.slice(0, stream.includes('-') ? stream.indexOf('-') : undefined)
}

/** A text member of the event's data. Empty when there is none. */
export function text(fact: Fact, member: string): string {
  const value = at(fact.data, member)
  return typeof value === 'string' ? value : ''
}

/** The place of an event, for reports. */
export function placeOf({ stream, revision, type, id, position }: Fact): string {
  return `${stream}@${revision} ${type} ${id} at ${position}`
}

/** A violated promise and its place. Contains only ids, places and counts. */
export interface Finding {
  readonly what: string
  readonly where: string
}

/** The result of one check. */
export interface Checked {
  readonly check: string
  /** Number of examined items. A check of 0 items proves nothing. */
  readonly examined: number
  readonly findings: readonly Finding[]
}

/** Largest number of findings that a report lists. It counts all. */
export const namedFindings = 10
