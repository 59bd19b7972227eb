import { isObject } from './canonical-json.ts'

/** An event whose stored bytes are at hand. */
export interface ProvenEvent {
  readonly id: string
  readonly stream: string
  readonly revision: number
  readonly type: string
  /** As it is stored, in the version of its time. Members that a version lacks read as null. */
  readonly data: Readonly<Record<string, unknown>>
}

/** The events of a stream, in their order. */
export function eventsOf(events: readonly ProvenEvent[], stream: string): readonly ProvenEvent[] {
  return events.filter((event) => event.stream === stream).toSorted((one, other) => one.revision - other.revision)
}

export function firstOf(events: readonly ProvenEvent[], type: string): ProvenEvent | undefined {
  return events.find((event) => event.type === type)
}

export function textOf(value: unknown, name: string): string | null {
  const member = memberOf(value, name)
  return typeof member === 'string' ? member : null
}

export function numberOf(value: unknown, name: string): number | null {
  const member = memberOf(value, name)
  return typeof member === 'number' ? member : null
}

export function flagOf(value: unknown, name: string): boolean | null {
  const member = memberOf(value, name)
  return typeof member === 'boolean' ? member : null
}

export function listOf(value: unknown, name: string): readonly unknown[] {
  const member = memberOf(value, name)
  return Array.isArray(member) ? member : []
}

export function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}
