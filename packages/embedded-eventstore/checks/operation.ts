/** An event as an operation writes it. `data` is JSON or plain text, `metadata` is JSON or empty. */
export type Written = { id: string; type: string; isJson: boolean; data: string; metadata: string }

export type Expected = ExpectedOfDelete | 'stream_exists'
export type ExpectedOfDelete = 'any' | 'no_stream' | number

/** The last event of an append. The name is equal in two stores, whatever the position. */
export type Place = { stream: string; revision: number }

export type NameFilter = { on: 'stream' | 'type'; prefixes: string[] } | { on: 'stream' | 'type'; regex: string }

/** The operations of the checks as data, equal for the model, the node and a real server. */
export type Operation =
  | { kind: 'append'; stream: string; expected: Expected; events: Written[]; call: 'batch' | 'single' }
  | { kind: 'delete' | 'tombstone'; stream: string; expected: ExpectedOfDelete }
  | {
      kind: 'read'
      stream: string
      backwards: boolean
      from: 'start' | 'end' | number
      count: number
      resolve: boolean
    }
  | { kind: 'metadata'; stream: string }
  | { kind: 'read-all'; backwards: boolean; from: 'start' | 'end' | Place; count: number; resolve: boolean }
  | { kind: 'subscribe'; stream: string; after: 'start' | number; resolve: boolean }
  | { kind: 'subscribe-all'; after: 'start' | Place; resolve: boolean; filter: NameFilter | undefined }

/**
 * Result of an operation. Events are texts from `eventText`. A repeat has no position when readers cannot find its last
 * event.
 */
export type Answer =
  | { outcome: 'written'; revision: number; hasPosition: boolean }
  | { outcome: 'done' }
  | { outcome: 'events'; events: string[] }
  | { outcome: 'metadata'; metadata: string }
  | { outcome: 'refused'; type: string; actual?: number }

/** Types of the events that a store writes by itself. Only their ids differ between stores. */
const OWN_TYPES = ['$metadata', '$streamDeleted']

export type TextParts = {
  stream: string
  revision: string
  id: string
  type: string
  isJson: boolean
  data: string
  metadata: string
}

/** One line with every part of an event that must be equal. */
export function eventText(event: TextParts): string {
  const id = OWN_TYPES.includes(event.type) ? '' : event.id
  return `${event.stream}/${event.revision} ${id} ${event.type} ${event.isJson ? 'json' : 'bytes'} ${event.data} ${event.metadata}`
}

/** A resolved event: its target and its link. */
export function resolvedText(event: string | undefined, link: string | undefined): string {
  return link === undefined ? (event ?? '') : `${event ?? 'nothing'} <- ${link}`
}

/** JSON with sorted keys, because stores may reorder the keys of metadata that they change. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
