import type { Persons } from '../../platform/http/shown-content.ts'
import { isInstant } from '../../platform/http/formats.ts'
import { parsePosition, type Position } from '../../platform/kit/positions.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/** A moment of the past: the events up to a position, and the clock of the answer. */
export interface Moment {
  readonly position: Position
  readonly at: Date
}

export interface PastAnswer {
  readonly status: number
  /** Null for an empty body. */
  readonly body: unknown
  /** Whose personal content the body shows. */
  readonly persons: Persons
}

export interface AsOf {
  /**
   * The last position at or before an instant, or the last event at or before a position, with its time. Undefined if
   * it is after the newest event.
   * @throws Problem `event-store-unavailable`
   */
  momentOf(at: Date | Position): Promise<Moment | undefined>
  /**
   * What a GET route answered at a moment to a caller who sees the whole organisation.
   * @throws Problem `path-not-supported`, `subject-erased`
   */
  answer(tenant: TenantId, moment: Moment, path: string): Promise<PastAnswer>
  /** The templates of the paths, as the API documents them, with the parameters that a list needs. */
  readonly paths: readonly string[]
}

export const placeForms = 'an instant such as 2026-03-01T10:00:00Z, or a position such as 81240/81240'

/** Undefined if the text has neither form. */
export function placeOf(at: string): Date | Position | undefined {
  return parsePosition(at) ?? (isInstant(at) ? new Date(at) : undefined)
}
