import { crc32 } from 'node:zlib'
import { CorruptLogError } from './log-errors.ts'
import { FRAME_OVERHEAD, parseFrame, type Frame } from './frame.ts'
import { SEGMENT_HEADER, readSegment, type Segment } from './segment.ts'

const CHUNK = 256 << 10
const SINGLE_READ = 2048

/** Reads and checks the frame at a position. Throws CorruptLogError. */
export function readFrameAt(segments: Segment[], position: number, durable: number): Frame {
  const frame = readChecked(segments, position, durable, SINGLE_READ, 1)[0]
  if (frame === undefined) throw new CorruptLogError('no append where the index expects one', position)
  return frame
}

/**
 * Reads and checks the frames from a position, as many as one read of the file returns, or as fit into `room`. They are
 * views on `room`, unless the first one is larger. Throws CorruptLogError.
 */
export function readFramesFrom(segments: Segment[], position: number, durable: number, room?: Buffer): Frame[] {
  return readChecked(segments, position, durable, room === undefined ? CHUNK : room.length - 4, Infinity, room)
}

/** The position of the first frame at or behind a position. The position may lie in the header of a segment. */
export function skipHeader(segments: Segment[], position: number): number {
  return Math.max(position, segmentOf(segments, position).base + SEGMENT_HEADER)
}

function readChecked(
  segments: Segment[],
  position: number,
  durable: number,
  firstRead: number,
  limit: number,
  room?: Buffer,
): Frame[] {
  // The four bytes before a frame are the seed of its CRC.
  let bytes = readBytes(segments, position - 4, 4 + firstRead, durable, room)
  if (bytes.length >= 8) {
    const needed = 4 + bytes.readUInt32LE(4) + FRAME_OVERHEAD
    if (needed > bytes.length) bytes = readBytes(segments, position - 4, needed, durable)
  }
  if (bytes.length < 4) throw new CorruptLogError('the log is shorter than before', position)
  const frames: Frame[] = []
  let crc = bytes.readUInt32LE(0)
  let at = 4
  while (frames.length < limit && at + FRAME_OVERHEAD <= bytes.length) {
    const length = bytes.readUInt32LE(at) + FRAME_OVERHEAD
    if (at + length > bytes.length) break
    const frame = bytes.subarray(at, at + length)
    const stored = frame.readUInt32LE(length - 4)
    const place = position - 4 + at
    if (length === FRAME_OVERHEAD || crc32(frame.subarray(0, length - 4), crc) !== stored)
      throw new CorruptLogError('checksum does not match', place)
    frames.push(parseFrame(frame, place))
    crc = stored
    at += length
  }
  if (frames.length === 0) throw new CorruptLogError('length of an append is not plausible', position)
  return frames
}

/** Bytes of one segment from a position, only durable ones. */
function readBytes(segments: Segment[], position: number, length: number, durable: number, room?: Buffer): Buffer {
  const segment = segmentOf(segments, position)
  const limit = Math.min(durable, segment.base + segment.size)
  return readSegment(segment, position - segment.base, Math.min(length, limit - position), room)
}

function segmentOf(segments: Segment[], position: number): Segment {
  let low = 0
  let high = segments.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((segments[middle]?.base ?? Infinity) <= position) low = middle
    else high = middle - 1
  }
  const segment = segments[low]
  if (segment === undefined) throw new CorruptLogError('no segment contains this position', position)
  return segment
}
