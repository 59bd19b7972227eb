import { crc32 } from 'node:zlib'
import { CorruptLogError } from './log-errors.ts'
import { FRAME_OVERHEAD, parseFrame, type Frame } from './frame.ts'
import { SEGMENT_HEADER, readSegment, type Segment } from './segment.ts'

const CHUNK = 1 << 20

/**
 * The end of the log as an index has it: the position behind the last append, that append's CRC, and the identity of
 * the log.
 */
export type ScanStart = { position: number; crc: number; identity: number }

export type RecoveryCallbacks = {
  /** The end of the log as an index has it. Everything behind it goes to `onRecovered`. */
  indexed: ScanStart | undefined
  /** Called once and first, with the identity of the log and whether the index matches the log. */
  onIdentified: (identity: number, isIndexTrue: boolean) => void
  onRecovered: (frame: Frame) => void
}

/**
 * Walks the log from the end of the index to find the end of the log. An invalid frame ends the log if nothing behind
 * it was acknowledged: it is a torn tail. Otherwise it is a CorruptLogError.
 */
export function recoverLog(
  segments: Segment[],
  acknowledged: number,
  identity: number,
  callbacks: RecoveryCallbacks,
): { end: number; crc: number } {
  const start = trustedStart(segments, identity, callbacks.indexed)
  callbacks.onIdentified(identity, start !== undefined)
  let { position, crc } = start ?? { position: SEGMENT_HEADER, crc: identity }
  for (const [index, segment] of segments.entries()) {
    const segmentEnd = segment.base + segment.size
    const isNewest = index === segments.length - 1
    if (position >= segmentEnd && !isNewest) continue
    if (position <= segment.base) {
      position = segment.base + SEGMENT_HEADER
      crc = segment.seed
    }
    const walked = walkSegment(segment, position, crc, callbacks.onRecovered)
    position = walked.end
    crc = walked.crc
    if (!isNewest && position !== segmentEnd) throw new CorruptLogError('checksum does not match', position)
  }
  if (position < acknowledged)
    throw new CorruptLogError('checksum does not match, but later appends were acknowledged', position)
  return { end: position, crc }
}

/** Bytes from `end` to the last byte that is not zero. They are the rest of an unfinished write in the room ahead. */
export function tornBytes(segment: Segment, end: number): number {
  let torn = 0
  for (let at = end; at < segment.size; at += CHUNK) {
    const bytes = readSegment(segment, at, CHUNK)
    const last = bytes.findLastIndex((byte) => byte !== 0)
    if (last !== -1) torn = at + last + 1 - end
  }
  return torn
}

function trustedStart(
  segments: Segment[],
  identity: number,
  indexed: ScanStart | undefined,
): { position: number; crc: number } | undefined {
  if (indexed === undefined || indexed.identity !== identity) return undefined
  const segment = segments.findLast((candidate) => candidate.base < indexed.position)
  if (segment === undefined) return undefined
  const before = readSegment(segment, indexed.position - segment.base - 4, 4)
  if (before.length < 4 || before.readUInt32LE(0) !== indexed.crc) return undefined
  return { position: indexed.position, crc: indexed.crc }
}

function walkSegment(
  segment: Segment,
  from: number,
  seed: number,
  onFrame: (frame: Frame) => void,
): { end: number; crc: number } {
  let position = from
  let crc = seed
  let wanted = CHUNK
  for (;;) {
    const bytes = readSegment(segment, position - segment.base, wanted)
    let at = 0
    while (at + FRAME_OVERHEAD <= bytes.length) {
      const length = bytes.readUInt32LE(at) + FRAME_OVERHEAD
      if (length === FRAME_OVERHEAD || at + length > bytes.length) break
      const stored = bytes.readUInt32LE(at + length - 4)
      if (crc32(bytes.subarray(at, at + length - 4), crc) !== stored) return { end: position + at, crc }
      onFrame(parseFrame(bytes.subarray(at, at + length), position + at))
      crc = stored
      at += length
    }
    position += at
    const left = segment.base + segment.size - position
    // A chunk that ends directly behind a frame does not contain the length of the next one.
    const next = bytes.length - at >= 4 ? bytes.readUInt32LE(at) + FRAME_OVERHEAD : FRAME_OVERHEAD + 1
    if (next === FRAME_OVERHEAD || next > left || (at === 0 && wanted >= next)) return { end: position, crc }
    wanted = Math.max(CHUNK, next)
  }
}
