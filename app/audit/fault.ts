import { formatPosition, type Position } from '../../platform/kit/positions.ts'

export const faultKinds = ['changed', 'removed', 'added', 'moved', 'tail_cut', 'forged_seal', 'unknown_key'] as const
export type FaultKind = (typeof faultKinds)[number]

/** A difference between the record and what was sealed. */
export interface Fault {
  readonly kind: FaultKind
  /** Of the event, or of the last event before a missing one. Null if nobody can say. */
  readonly position: string | null
  readonly stream: string | null
  readonly event_id: string | null
  /** A sentence for people. */
  readonly detail: string
}

interface FaultyEvent {
  readonly id: string
  readonly stream: string
  readonly position: Position
}

export function eventFault(kind: FaultKind, { id, stream, position }: FaultyEvent, detail: string): Fault {
  return { kind, position: formatPosition(position), stream, event_id: id, detail }
}

/** A fault that no event is to blame for. */
export function placeFault(
  kind: FaultKind,
  position: Position | undefined,
  detail: string,
  stream: string | null = null,
): Fault {
  return { kind, position: position === undefined ? null : formatPosition(position), stream, event_id: null, detail }
}
