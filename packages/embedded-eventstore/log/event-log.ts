import { closeSync, fdatasync, fdatasyncSync, mkdirSync, writeSync } from 'node:fs'
import { randomInt } from 'node:crypto'
import { AcknowledgedMark } from './acknowledged-mark.ts'
import { CorruptLogError, NoRoomError, isForWantOfRoom } from './log-errors.ts'
import { firstFrame, planFrame, splitFrames, type Frame, type FrameInput } from './frame.ts'
import { readFrameAt, readFramesFrom, skipHeader } from './verified-read.ts'
import { recoverLog, tornBytes, type RecoveryCallbacks } from './recovery.ts'
import { SEGMENT_HEADER, createSegment, cutSegment, openSegments, removeSegment, type Segment } from './segment.ts'
import { RecentGroups } from './recent-groups.ts'
import { RoomAhead, freeBytes } from './room-ahead.ts'

const SEGMENT_SIZE = 256 << 20
const LARGEST_GROUP = 8 << 20
/**
 * Largest append in bytes of the log. With less room than this the log counts as full: it could not take every append.
 */
const LARGEST_APPEND = 2 << 20
/**
 * Room that each append leaves free. An append that revives a deleted stream is followed by metadata, and that
 * metadata must not be refused.
 */
const SPARE = 64 << 10

type Group = { segment: Segment; start: number; frames: Buffer[]; done: (() => void)[]; length: number }

export type EventLogOptions = RecoveryCallbacks & {
  folder: string
  /** Bytes after which a new segment begins. The default is 256 MiB. */
  segmentSize?: number
  /** Called with the frames of a group once they are durable and before the appends are answered. */
  onDurable: (frames: Frame[]) => void
  /** A write or sync failed. No append may be acknowledged after that. */
  onFailure: (error: Error) => void
}

/** The append-only log: one writer, group commit, verified reads. */
export class EventLog {
  /** Seed of the CRC chain. It distinguishes one log from another. */
  readonly identity: number
  /** Bytes of unacknowledged appends that the start found at the end of the log and cut off. */
  readonly tornBytes: number
  private readonly options: EventLogOptions
  private readonly segments: Segment[]
  private readonly mark: AcknowledgedMark
  private readonly recent = new RecentGroups()
  private readonly room: RoomAhead
  private syncs = 0
  private end: number
  /** End of the room that `requireRoom` guarantees. */
  private required = 0
  private durable: number
  private crc: number
  private inFlight: Group | undefined
  private readonly waiting: Group[] = []
  private syncing = false
  private failed = false
  private readonly idle: (() => void)[] = []

  constructor(options: EventLogOptions) {
    this.options = options
    mkdirSync(options.folder, { recursive: true, mode: 0o700 })
    this.room = new RoomAhead(() => freeBytes(options.folder))
    this.segments = openSegments(options.folder)
    const isNew = this.segments.length === 0
    this.mark = new AcknowledgedMark(options.folder, isNew)
    if (isNew) this.segments.push(createSegment(options.folder, 0, randomInt(1, 2 ** 32)))
    this.identity = this.segments[0]?.seed ?? 0
    try {
      const recovered = recoverLog(this.segments, this.mark.position, this.identity, options)
      this.end = recovered.end
      this.durable = recovered.end
      this.crc = recovered.crc
    } catch (error) {
      this.closeFiles()
      throw error
    }
    const last = this.newest()
    this.tornBytes = tornBytes(last, this.end - last.base)
    if (last.base + last.size > this.end) cutSegment(last, this.end - last.base)
    fdatasyncSync(last.fd)
    this.mark.write(this.end)
  }

  /** Position behind the last durable append. */
  get durableEnd(): number {
    return this.durable
  }

  /** Position behind the last append, durable or not. */
  get appendedEnd(): number {
    return this.end
  }

  /** Bytes that were appended and are not durable yet. */
  get backlog(): number {
    return this.end - this.durable
  }

  /** Syncs since the start. */
  get syncCount(): number {
    return this.syncs
  }

  /** Whether appends have been refused for lack of room since the last success. Tries to make room again first. */
  get isFull(): boolean {
    if (!this.room.isWanting) return false
    try {
      const segment = this.newest()
      this.room.make(segment, this.end - segment.base, LARGEST_APPEND)
      return false
    } catch (error) {
      if (error instanceof NoRoomError) return true
      throw error
    }
  }

  /**
   * Guarantees room for a sequence of appends that must not be refused halfway. Throws NoRoomError unless there is room
   * for `appends` appends of any size. They all go into that room, even beyond the size of a segment.
   */
  requireRoom(appends = 1): void {
    const segment = this.newest()
    this.room.make(segment, this.end - segment.base, appends * LARGEST_APPEND)
    this.required = this.end + appends * LARGEST_APPEND
  }

  /**
   * Adds an append at the end and returns the positions of its events. Calls `done` once it is durable. Throws
   * NoRoomError; nothing has happened then. `isFollowUp`: the append belongs to the one before it and may use the room
   * that the other one left free.
   */
  append(input: FrameInput, done: () => void, isFollowUp = false): number[] {
    if (this.failed) throw new Error('the event log can no longer be written')
    let plan = planFrame(input, this.end)
    let segment = this.newest()
    const isRequired = this.end + plan.length <= this.required
    if (
      !isRequired &&
      this.end + plan.length - segment.base > (this.options.segmentSize ?? SEGMENT_SIZE) &&
      this.end > segment.base + SEGMENT_HEADER
    ) {
      segment = this.rotate(plan.length)
      plan = planFrame(input, this.end)
    }
    this.room.make(segment, this.end + plan.length - segment.base, isFollowUp || isRequired ? 0 : SPARE)
    const frame = plan.write(this.crc)
    this.crc = frame.readUInt32LE(frame.length - 4)
    const group = this.openGroup(segment)
    group.frames.push(frame)
    group.done.push(done)
    group.length += frame.length
    this.end += frame.length
    if (!this.syncing) this.startSync()
    return plan.positions
  }

  /** Calls back once everything appended so far is durable, immediately when it already is. */
  whenDurable(done: () => void): void {
    const group = this.waiting.at(-1) ?? this.inFlight
    if (group === undefined) done()
    else group.done.push(done)
  }

  /** The frame at a position. Throws CorruptLogError. */
  readFrame(position: number): Frame {
    const held = this.recent.at(position)
    return held === undefined ? readFrameAt(this.segments, position, this.durable) : firstFrame(held, position)
  }

  /**
   * The next durable frames from a frame's position, some hundred kilobytes. Empty at the end. Throws CorruptLogError.
   */
  readFrames(position: number): Frame[] {
    const from = skipHeader(this.segments, position)
    if (from >= this.durable) return []
    const held = this.recent.at(from)
    return held === undefined ? readFramesFrom(this.segments, from, this.durable) : splitFrames(held, from)
  }

  /** Waits for the last sync and closes the files. */
  async close(): Promise<void> {
    if (this.syncing && !this.failed) await new Promise<void>((resolve) => this.idle.push(resolve))
    const last = this.newest()
    if (!this.failed) cutSegment(last, this.durable - last.base)
    this.closeFiles()
  }

  private closeFiles(): void {
    this.mark.close()
    for (const segment of this.segments) closeSync(segment.fd)
  }

  private newest(): Segment {
    const segment = this.segments.at(-1)
    if (segment === undefined) throw new CorruptLogError('the log has no segment', 0)
    return segment
  }

  private openGroup(segment: Segment): Group {
    const last = this.waiting.at(-1)
    if (last !== undefined && last.segment === segment && last.length < LARGEST_GROUP) return last
    const group: Group = { segment, start: this.end, frames: [], done: [], length: 0 }
    this.waiting.push(group)
    return group
  }

  /**
   * Begins a segment with room for an append. The segment before it is cut to its length when its last append is
   * durable. If it already is, this happens here.
   */
  private rotate(length: number): Segment {
    if (this.room.isPausing) throw new NoRoomError()
    const full = this.newest()
    if (this.durable === this.end) cutSegment(full, this.end - full.base)
    const segment = this.begin()
    try {
      // The length of an event varies by a few bytes with its position.
      this.room.make(segment, SEGMENT_HEADER + length, 2 * SPARE)
    } catch (error) {
      removeSegment(this.options.folder, segment)
      throw error
    }
    this.segments.push(segment)
    this.end += SEGMENT_HEADER
    return segment
  }

  private begin(): Segment {
    try {
      return createSegment(this.options.folder, this.end, this.crc)
    } catch (error) {
      throw isForWantOfRoom(error) ? this.room.refused(error) : error
    }
  }

  /** All appends of the same turn of the event loop join one group. */
  private startSync(): void {
    this.syncing = true
    setImmediate(() => this.syncNext())
  }

  private syncNext(): void {
    const group = this.waiting.shift()
    this.inFlight = group
    if (group === undefined) {
      this.syncing = false
      for (const resolve of this.idle.splice(0)) resolve()
      return
    }
    const bytes =
      group.frames.length === 1 && group.frames[0] !== undefined
        ? group.frames[0]
        : Buffer.concat(group.frames, group.length)
    try {
      this.writeGroup(group, bytes)
    } catch (error) {
      this.fail(error)
      return
    }
    fdatasync(group.segment.fd, (error) => {
      if (error === null) this.finish(group, bytes)
      else this.fail(error)
    })
  }

  private writeGroup(group: Group, bytes: Buffer): void {
    const { segment } = group
    const offset = group.start - segment.base
    for (let written = 0; written < bytes.length;)
      written += writeSync(segment.fd, bytes, written, bytes.length - written, offset + written)
  }

  private finish(group: Group, bytes: Buffer): void {
    this.syncs += 1
    this.durable = group.start + bytes.length
    const isSealed = group.segment !== this.newest() && this.waiting[0]?.segment !== group.segment
    if (isSealed) cutSegment(group.segment, this.durable - group.segment.base)
    this.mark.write(this.durable)
    this.recent.add(group.start, bytes)
    this.options.onDurable(splitFrames(bytes, group.start))
    for (const done of group.done) done()
    this.syncNext()
  }

  private fail(error: unknown): void {
    this.failed = true
    this.options.onFailure(error instanceof Error ? error : new Error(String(error)))
  }
}
