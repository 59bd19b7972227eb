import { hash } from 'node:crypto'
import { NoteError } from './signed-note.ts'

/** The event that an entry of the log stands for. */
export interface EntryEvent {
  readonly id: string
  readonly stream: string
  readonly revision: bigint
  readonly type: string
  readonly dataBytes: Uint8Array
  readonly metadataBytes: Uint8Array
}

/** What an entry shows of an event. It outlives the erasure of the event's content. */
export interface EventEntry {
  readonly id: string
  readonly stream: string
  readonly revision: number
  readonly type: string
  /** Lower-case hex SHA-256 of the stored bytes. */
  readonly data: string
  readonly metadata: string
}

/** The entry of an event: the RFC 8785 form, with members in the order of their names. */
export function entryOf({ id, stream, revision, type, dataBytes, metadataBytes }: EntryEvent): Buffer {
  const [data, metadata] = [hash('sha256', dataBytes), hash('sha256', metadataBytes)]
  return Buffer.from(
    `{"data":"${data}","id":${JSON.stringify(id)},"metadata":"${metadata}","revision":${revision},"stream":${JSON.stringify(stream)},"type":${JSON.stringify(type)}}`,
  )
}

/** @throws NoteError */
export function parseEntry(bytes: Buffer): EventEntry {
  const entry = jsonObjectOf(bytes)
  const { id, stream, revision, type, data, metadata } = entry
  if (
    typeof id !== 'string' ||
    typeof stream !== 'string' ||
    typeof revision !== 'number' ||
    typeof type !== 'string' ||
    typeof data !== 'string' ||
    typeof metadata !== 'string'
  )
    throw new NoteError('not the entry of an event')
  return { id, stream, revision, type, data, metadata }
}

function jsonObjectOf(bytes: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    if (typeof value === 'object' && value !== null) return { ...value }
  } catch {
    // Reported below.
  }
  throw new NoteError('not the entry of an event')
}
