import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  readdirSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { CorruptLogError } from './log-errors.ts'

/*
 * A segment is a file named after the position of its first byte. It begins with a header:
 *
 *   magic (8) | f64 base position | u32 format | u32 reserved | u32 CRC-32 of the other fields | u32 seed of the CRC chain
 *
 * The seed is the last CRC of the segment before. So the four bytes before any frame are always the seed of its CRC.
 * The newest segment ends in zeros. They are room written ahead, so that a sync need not record a new file size.
 */

export const SEGMENT_HEADER = 32
const MAGIC = Buffer.from('CAPEVLOG', 'latin1')
const FORMAT = 1
const SUFFIX = '.segment'
const ZEROS = Buffer.alloc(1 << 20)

/** One open segment file. `size` is the size of the file, not of its used part. */
export type Segment = { base: number; fd: number; size: number; seed: number }

/** Opens all segments of a folder, oldest first, and checks that nothing is missing between them. */
export function openSegments(folder: string): Segment[] {
  const bases = segmentBases(folder)
  removeUnused(folder, bases)
  const segments: Segment[] = []
  for (const base of bases) {
    const segment = openSegment(folder, base)
    const previous = segments.at(-1)
    if (previous === undefined ? base !== 0 : previous.base + previous.size !== base) {
      throw new CorruptLogError(
        'a segment is missing or has the wrong length',
        previous === undefined ? 0 : previous.base,
      )
    }
    if (previous !== undefined && lastCrc(previous) !== segment.seed)
      throw new CorruptLogError('segments do not follow each other', base)
    segments.push(segment)
  }
  return segments
}

/** Positions at which the segments of a folder start, oldest first. */
export function segmentBases(folder: string): number[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(SUFFIX))
    .map((name) => Number(name.slice(0, -SUFFIX.length)))
    .toSorted((a, b) => a - b)
}

/**
 * Removes segments that were created and never written to. A node leaves them when it is killed before the segment in
 * front of them is complete. A large backlog creates several.
 */
function removeUnused(folder: string, bases: number[]): void {
  for (
    let newest = bases.at(-1);
    newest !== undefined && isUnused(folder, newest, bases.at(-2));
    newest = bases.at(-1)
  ) {
    unlinkSync(segmentPath(folder, newest))
    syncFolder(folder)
    bases.pop()
  }
}

/** A segment contains only zeros behind its header until the segment before it is on disk and cut to its length. */
function isUnused(folder: string, newest: number, previous: number | undefined): boolean {
  if (sizeOf(folder, newest) < SEGMENT_HEADER) return true
  if (previous === undefined || !bytesAt(folder, newest, SEGMENT_HEADER).every((byte) => byte === 0)) return false
  return previous + sizeOf(folder, previous) !== newest || !isContinued(folder, previous, newest)
}

/**
 * Whether an empty segment begins with the last CRC of the one before. The room of the one before may end at the same
 * place by chance.
 */
function isContinued(folder: string, previous: number, next: number): boolean {
  return bytesAt(folder, previous, sizeOf(folder, previous) - 4).equals(bytesAt(folder, next, SEGMENT_HEADER - 4))
}

function sizeOf(folder: string, base: number): number {
  return statSync(segmentPath(folder, base)).size
}

/** Four bytes of a segment's file, or fewer at its end. */
function bytesAt(folder: string, base: number, offset: number): Buffer {
  const fd = openSync(segmentPath(folder, base), 'r')
  const bytes = readSegment({ base, fd, size: fstatSync(fd).size, seed: 0 }, offset, 4)
  closeSync(fd)
  return bytes
}

/**
 * Creates the segment that starts at `base`. When this returns, the file and its folder entry are on disk. When it
 * throws, the file does not exist.
 */
export function createSegment(folder: string, base: number, seed: number): Segment {
  const fd = openSync(segmentPath(folder, base), 'wx+', 0o600)
  const segment: Segment = { base, fd, size: SEGMENT_HEADER, seed }
  try {
    writeHeader(segment)
    syncFolder(folder)
  } catch (error) {
    removeSegment(folder, segment)
    throw error
  }
  return segment
}

/** Closes and deletes a segment without appends. */
export function removeSegment(folder: string, { base, fd }: Segment): void {
  closeSync(fd)
  unlinkSync(segmentPath(folder, base))
}

function writeHeader({ base, fd, seed }: Segment): void {
  const header = Buffer.alloc(SEGMENT_HEADER)
  MAGIC.copy(header, 0)
  header.writeDoubleLE(base, 8)
  header.writeUInt32LE(FORMAT, 16)
  header.writeUInt32LE(seed, 28)
  header.writeUInt32LE(headerCrc(header), 24)
  writeSync(fd, header, 0, SEGMENT_HEADER, 0)
  fsyncSync(fd)
}

/** Appends zeros to a segment until the file has `size` bytes. */
export function extendSegment(segment: Segment, size: number): void {
  while (segment.size < size) {
    const length = Math.min(ZEROS.length, size - segment.size)
    segment.size += writeSync(segment.fd, ZEROS, 0, length, segment.size)
  }
}

/** Cuts the file to `size`. The cut is on disk when this returns. */
export function cutSegment(segment: Segment, size: number): void {
  shortenSegment(segment, size)
  fsyncSync(segment.fd)
}

/** Returns the room behind a segment's end to the disk. */
export function shortenSegment(segment: Segment, size: number): void {
  ftruncateSync(segment.fd, size)
  segment.size = size
}

/**
 * Reads up to `length` bytes from `offset` of the file, into `room` if they fit into it. Returns fewer only at the end of
 * the file.
 */
export function readSegment(segment: Segment, offset: number, length: number, room?: Buffer): Buffer {
  const wanted = Math.max(0, Math.min(length, segment.size - offset))
  const bytes = room !== undefined && wanted <= room.length ? room : Buffer.allocUnsafeSlow(wanted)
  let read = 0
  while (read < wanted) {
    const count = readSync(segment.fd, bytes, read, wanted - read, offset + read)
    if (count === 0) break
    read += count
  }
  return bytes.subarray(0, read)
}

/** Makes created and removed files of a folder durable. */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r')
  fsyncSync(fd)
  closeSync(fd)
}

/** The segment that starts at `base`. Throws CorruptLogError if its header is not intact. */
export function openSegment(folder: string, base: number, flags: 'r' | 'r+' = 'r+'): Segment {
  const fd = openSync(segmentPath(folder, base), flags)
  const segment: Segment = { base, fd, size: fstatSync(fd).size, seed: 0 }
  const header = readSegment(segment, 0, SEGMENT_HEADER)
  const intact =
    header.length === SEGMENT_HEADER &&
    header.subarray(0, MAGIC.length).equals(MAGIC) &&
    header.readDoubleLE(8) === base &&
    header.readUInt32LE(16) === FORMAT &&
    header.readUInt32LE(24) === headerCrc(header)
  if (!intact) throw new CorruptLogError('the header of a segment is not intact', base)
  segment.seed = header.readUInt32LE(28)
  return segment
}

function headerCrc(header: Buffer): number {
  return crc32(header.subarray(28, SEGMENT_HEADER), crc32(header.subarray(0, 24)))
}

function lastCrc(segment: Segment): number {
  return readSegment(segment, segment.size - 4, 4).readUInt32LE(0)
}

export function segmentPath(folder: string, base: number): string {
  return join(folder, `${String(base).padStart(16, '0')}${SUFFIX}`)
}
