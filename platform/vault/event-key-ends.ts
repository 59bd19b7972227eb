import type { EventKeyEnd } from '../kit/key-vault.ts'
import { formatPosition, parsePosition } from '../kit/positions.ts'
import type { StoredRecord } from './vault-rows.ts'

/** Where the older keys of event signatures ended, by their ids. */
export function endsIn(record: StoredRecord | undefined): Map<string, EventKeyEnd> {
  if (record === undefined) return new Map()
  // Only this module writes the record, and it is sealed.
  const ends = JSON.parse(Buffer.from(record.bytes).toString()) as Record<string, { position: string; at: string }>
  return new Map(
    Object.entries(ends).map(([id, { position, at }]) => {
      const place = parsePosition(position)
      if (place === undefined) throw new Error(`the end of the event key ${id} has no position`)
      return [id, { position: place, at: new Date(at) }]
    }),
  )
}

export function bytesOfEnds(ends: ReadonlyMap<string, EventKeyEnd>): Uint8Array {
  const written = [...ends].map(([id, { position, at }]) => [
    id,
    { position: formatPosition(position), at: at.toISOString() },
  ])
  return Buffer.from(JSON.stringify(Object.fromEntries(written)))
}
