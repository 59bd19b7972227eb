/**
 * Revisions are plain numbers inside the node. Two values of the protocol exceed the safe integers and are sentinels
 * here.
 */

/** Head of a stream that was never written. */
export const NO_STREAM = -1

/** Head of a tombstoned stream, and the `$tb` of a soft-deleted one: 2^63 - 1 on the wire. */
export const DELETED_STREAM = Number.MAX_SAFE_INTEGER

/** 2^63 - 1 as the protocol writes it. */
export const DELETED_STREAM_WIRE = 0x7fffffffffffffffn

/** Position of an append whose last event readers do not find. */
export const NO_POSITION = -1

/** The expected state of a stream for an append or a delete. */
export type ExpectedRevision = 'any' | 'no_stream' | 'stream_exists' | number

/** A revision as the protocol's unsigned 64-bit decimal text. */
export function revisionToWire(revision: number): string {
  return revision === DELETED_STREAM ? DELETED_STREAM_WIRE.toString() : String(revision)
}

/** A revision from the protocol. A value beyond the safe integers counts as the deleted marker. */
export function revisionFromWire(revision: bigint): number {
  return revision > BigInt(Number.MAX_SAFE_INTEGER) ? DELETED_STREAM : Number(revision)
}
