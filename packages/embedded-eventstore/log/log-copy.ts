import { closeSync, createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setImmediate as turn } from 'node:timers/promises'
import { AcknowledgedMark, readMark } from './acknowledged-mark.ts'
import { frameEvents, type Frame } from './frame.ts'
import { readFramesFrom } from './verified-read.ts'
import { SEGMENT_HEADER, openSegment, readSegment, segmentBases, segmentPath, type Segment } from './segment.ts'

/** So much is read at a time, in bytes. */
const READ = 1 << 20

/** The part of a segment that is copied: its header and whole appends. */
export type SegmentCopy = {
  /** Position of its first byte. */
  base: number
  bytes: number
  /**
   * Checks each append. Throws CorruptLogError. Can be read once, after the segments before it. A chunk is overwritten
   * when the next one is asked for.
   */
  chunks(): AsyncGenerator<Buffer, void, undefined>
}

/** What the appends that were read so far contain. */
export type LogContents = {
  events: number
  /** Position of the last event, and when it was appended (ms). Undefined without events. */
  last: { position: number; createdAt: number } | undefined
}

export type LogCopy = {
  /** Every append before this position was acknowledged. The copy ends there. */
  end: number
  segments: SegmentCopy[]
  contents: LogContents
  close(): void
}

/**
 * Reads the log in a node's data folder up to its last acknowledged append, while the node may run: it only adds behind
 * that place. Changes nothing. The copy's positions are those of the log.
 */
export function openLogCopy(dataDir: string): LogCopy {
  const folder = join(dataDir, 'log')
  const end = readMark(folder)
  const bases = segmentBases(folder).filter((base) => base < end)
  const segments: Segment[] = []
  const close = () => segments.forEach(({ fd }) => closeSync(fd))
  try {
    for (const [place, base] of bases.entries())
      // Behind its end a segment may have room ahead.
      segments.push({ ...openSegment(folder, base, 'r'), size: (bases[place + 1] ?? end) - base })
  } catch (error) {
    close()
    throw error
  }
  const contents: LogContents = { events: 0, last: undefined }
  return {
    end,
    contents,
    segments: segments.map((segment) => ({
      base: segment.base,
      bytes: segment.size,
      chunks: () => chunksOf(segment, segments, end, contents),
    })),
    close,
  }
}

async function* chunksOf(
  segment: Segment,
  segments: Segment[],
  end: number,
  contents: LogContents,
): AsyncGenerator<Buffer, void, undefined> {
  yield readSegment(segment, 0, SEGMENT_HEADER)
  const room = Buffer.allocUnsafeSlow(READ)
  let at = segment.base + SEGMENT_HEADER
  while (at < segment.base + segment.size) {
    const frames = readFramesFrom(segments, at, end, room)
    take(frames, contents)
    const read = joined(frames)
    at += read.length
    yield read
    await turn()
  }
}

/** Appends that were read together lie behind one another in one buffer. */
function joined(frames: readonly Frame[]): Buffer {
  const [first] = frames
  const bytes = frames.reduce((sum, frame) => sum + frame.bytes.length, 0)
  return first === undefined ? Buffer.alloc(0) : Buffer.from(first.bytes.buffer, first.bytes.byteOffset, bytes)
}

function take(frames: readonly Frame[], contents: LogContents): void {
  for (const { count } of frames) contents.events += count
  const last = frames.findLast(({ count }) => count > 0)
  const position = last === undefined ? undefined : frameEvents(last).at(-1)?.position
  if (last !== undefined && position !== undefined) contents.last = { position, createdAt: last.createdAt }
}

/** Writes a copied segment into a new data folder. It is durable when this resolves. */
export async function writeSegmentCopy(
  dataDir: string,
  base: number,
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  const folder = join(dataDir, 'log')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  await pipeline(chunks, createWriteStream(segmentPath(folder, base), { flags: 'wx', mode: 0o600, flush: true }))
}

/** Makes the copied segments a log, which the next start of a node opens and indexes. */
export function finishLogCopy(dataDir: string, end: number): void {
  const mark = new AcknowledgedMark(join(dataDir, 'log'), true)
  mark.write(end)
  mark.close()
}
