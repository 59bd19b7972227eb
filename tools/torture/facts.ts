import type { AllStreamRecordedEvent } from '@eventstore/db-client'
import { at } from '../../app/demo/api-client.ts'
import { formatPosition } from '../../platform/kit/positions.ts'

/** An event as the log has it: sealed members stay sealed, so that no evidence can show them. */
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

/** A text of the event's data, empty where there is none. */
export function text(fact: Fact, member: string): string {
  const value = at(fact.data, member)
  return typeof value === 'string' ? value : ''
}

/** Where an event stands, as evidence names it. */
export function placeOf({ stream, revision, type, id, position }: Fact): string {
  return `${stream}@${revision} ${type} ${id} at ${position}`
}

/** Something that must never be: what, and where to look. Ids, places and counts only. */
export interface Finding {
  readonly what: string
  readonly where: string
}

/** What one check looked at, and what it found wrong. */
export interface Checked {
  readonly check: string
  /** How many things it looked at: a check of nothing proves nothing. */
  readonly examined: number
  readonly findings: readonly Finding[]
}

/** How many findings a report names; it counts them all. */
export const namedFindings = 10
