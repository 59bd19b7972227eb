import { crc32 } from 'node:zlib'
import {
  appendContext,
  messageLength,
  planEvent,
  writeMessage,
  isJson,
  type EventLayout,
  type PlannedEvent,
} from '../wire/event-message.ts'
import type { ProposedEvent } from '../wire/append-request.ts'

/*
 * A frame is one append. It is stored completely or not at all:
 *
 *   u32 body length | body | u32 CRC-32 of length and body, seeded with the CRC of the frame before
 *
 *   body:  u32 name length | stream name | f64 first revision | f64 created (ms) | u32 event count | entries
 *   entry: u32 message length, record start, type start, type length, data start, data length, flags | message
 *
 * Integers are little-endian. The chained CRC detects a moved, doubled or missing frame as well as a changed one. The
 * position of an event is the position of its entry in the log.
 */

export const FRAME_OVERHEAD = 8
const ENTRY_HEADER = 28
const BODY_HEADER = 4 + 8 + 8 + 4
const FLAG_JSON = 1

/** An append before it is written. */
export type FrameInput = { stream: string; firstRevision: number; createdAt: number; events: ProposedEvent[] }

/** One event of a frame. `message` is a view on the frame, ready to be sent. */
export type StoredEvent = { position: number; revision: number; json: boolean; layout: EventLayout; message: Buffer }

/** A frame that was read: the header is parsed, the events are parsed on demand. */
export type Frame = {
  /** Position of the frame in the log. */
  position: number
  /** Position behind the frame. */
  end: number
  stream: string
  firstRevision: number
  createdAt: number
  count: number
  bytes: Buffer
}

/** An append with its size at a position of the log. */
export type PlannedFrame = {
  input: FrameInput
  position: number
  length: number
  write(previousCrc: number): Buffer
  positions: number[]
}

/** Computes the size of an append at `position`. Only `write` writes bytes. */
export function planFrame(input: FrameInput, position: number): PlannedFrame {
  const context = appendContext(input.stream, input.createdAt)
  const nameLength = Buffer.byteLength(input.stream, 'utf8')
  const planned: PlannedEvent[] = []
  const positions: number[] = []
  let at = 4 + BODY_HEADER + nameLength
  for (const [index, event] of input.events.entries()) {
    const plan = planEvent(context, event, input.firstRevision + index)
    planned.push(plan)
    positions.push(position + at)
    at += ENTRY_HEADER + messageLength(plan, position + at)
  }
  const length = at + 4

  function write(previousCrc: number): Buffer {
    const frame = Buffer.allocUnsafe(length)
    let offset = frame.writeUInt32LE(length - FRAME_OVERHEAD, 0)
    offset = frame.writeUInt32LE(nameLength, offset)
    offset += frame.write(input.stream, offset, 'utf8')
    offset = frame.writeDoubleLE(input.firstRevision, offset)
    offset = frame.writeDoubleLE(input.createdAt, offset)
    offset = frame.writeUInt32LE(planned.length, offset)
    for (const plan of planned) {
      const layout = writeMessage(frame, offset + ENTRY_HEADER, context, plan, position + offset)
      writeEntryHeader(frame, offset, layout, isJson(plan.event) ? FLAG_JSON : 0)
      offset += ENTRY_HEADER + layout.length
    }
    frame.writeUInt32LE(crc32(frame.subarray(0, offset), previousCrc), offset)
    return frame
  }

  return { input, position, length, write, positions }
}

/** Parses a frame whose CRC has been checked. */
export function parseFrame(bytes: Buffer, position: number): Frame {
  const nameLength = bytes.readUInt32LE(4)
  const at = 8 + nameLength
  return {
    position,
    end: position + bytes.length,
    stream: bytes.toString('utf8', 8, at),
    firstRevision: bytes.readDoubleLE(at),
    createdAt: bytes.readDoubleLE(at + 8),
    count: bytes.readUInt32LE(at + 16),
    bytes,
  }
}

/** The frame at the beginning of `bytes`. */
export function firstFrame(bytes: Buffer, position: number): Frame {
  return parseFrame(bytes.subarray(0, bytes.readUInt32LE(0) + FRAME_OVERHEAD), position)
}

/** The frames in `bytes`, which contain nothing else. */
export function splitFrames(bytes: Buffer, position: number): Frame[] {
  const frames: Frame[] = []
  for (let at = 0; at + FRAME_OVERHEAD <= bytes.length; at += frames.at(-1)?.bytes.length ?? bytes.length) {
    frames.push(firstFrame(bytes.subarray(at), position + at))
  }
  return frames
}

/** The events of a frame, in order. */
export function frameEvents(frame: Frame): StoredEvent[] {
  const events: StoredEvent[] = []
  let at = 4 + BODY_HEADER + frame.bytes.readUInt32LE(4)
  for (let index = 0; index < frame.count; index += 1) {
    const layout = readEntryHeader(frame.bytes, at)
    const start = at + ENTRY_HEADER
    const message = frame.bytes.subarray(start, start + layout.length)
    const json = (frame.bytes.readUInt32LE(at + 24) & FLAG_JSON) !== 0
    events.push({ position: frame.position + at, revision: frame.firstRevision + index, json, layout, message })
    at = start + layout.length
  }
  return events
}

/** Type of a stored event. */
export function eventType(event: StoredEvent): string {
  const { typeStart, typeLength } = event.layout
  return event.message.toString('utf8', typeStart, typeStart + typeLength)
}

/** Data of a stored event, as a view. */
export function eventData(event: StoredEvent): Buffer {
  const { dataStart, dataLength } = event.layout
  return event.message.subarray(dataStart, dataStart + dataLength)
}

function writeEntryHeader(frame: Buffer, offset: number, layout: EventLayout, flags: number): void {
  let at = frame.writeUInt32LE(layout.length, offset)
  at = frame.writeUInt32LE(layout.recordStart, at)
  at = frame.writeUInt32LE(layout.typeStart, at)
  at = frame.writeUInt32LE(layout.typeLength, at)
  at = frame.writeUInt32LE(layout.dataStart, at)
  at = frame.writeUInt32LE(layout.dataLength, at)
  frame.writeUInt32LE(flags, at)
}

function readEntryHeader(frame: Buffer, offset: number): EventLayout {
  return {
    length: frame.readUInt32LE(offset),
    recordStart: frame.readUInt32LE(offset + 4),
    typeStart: frame.readUInt32LE(offset + 8),
    typeLength: frame.readUInt32LE(offset + 12),
    dataStart: frame.readUInt32LE(offset + 16),
    dataLength: frame.readUInt32LE(offset + 20),
  }
}
