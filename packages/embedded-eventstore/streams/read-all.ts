import { frameEvents, type Frame, type StoredEvent } from '../log/frame.ts'
import { SEGMENT_HEADER } from '../log/segment.ts'
import type { StreamStore } from './stream-store.ts'

/** An event of `$all` and its append. */
export type LoggedEvent = { frame: Frame; event: StoredEvent }

/** Whether a client's position belongs to this log. Continuing from any other position would skip or repeat events. */
export function isPosition(store: StreamStore, position: number): boolean {
  if (position === 0 || position >= store.log.durableEnd) return true
  for (let at = frameBefore(store, position); at <= position;) {
    const frames = store.log.readFrames(at)
    const frame = frames.find(({ end }) => end > position)
    if (frame !== undefined)
      return frame.position >= position || frameEvents(frame).some((event) => event.position === position)
    at = frames.at(-1)?.end ?? Infinity
  }
  return true
}

/** Position of the frame with the first event at or behind `position`. */
function frameBefore(store: StreamStore, position: number): number {
  return store.index.markBefore(position) ?? SEGMENT_HEADER
}

/**
 * Chunks of the log's durable events from `position` (inclusive), in order, up to the durable end that the reading
 * meets. Returns the position from which to continue. Throws CorruptLogError.
 */
export function* readLogForwards(store: StreamStore, position: number): Generator<LoggedEvent[], number> {
  if (position >= store.log.durableEnd) return store.log.durableEnd
  let at = frameBefore(store, position)
  for (;;) {
    const frames = store.log.readFrames(at)
    const last = frames.at(-1)
    if (last === undefined) return at
    at = last.end
    const chunk = eventsOf(frames, position, Infinity)
    if (chunk.length > 0) yield chunk
  }
}

/** Chunks of the log's durable events before `position` (exclusive), newest first. Throws CorruptLogError. */
export function* readLogBackwards(store: StreamStore, position: number): Generator<LoggedEvent[]> {
  let until = Math.min(position, store.log.durableEnd)
  while (until > SEGMENT_HEADER) {
    const start = frameBefore(store, until - 1)
    const chunk: LoggedEvent[] = []
    for (let at = start; at < until;) {
      const frames = store.log.readFrames(at)
      const last = frames.at(-1)
      if (last === undefined) break
      chunk.push(...eventsOf(frames, 0, until))
      at = last.end
    }
    until = start
    if (chunk.length > 0) yield chunk.toReversed()
  }
}

function eventsOf(frames: Frame[], from: number, until: number): LoggedEvent[] {
  const chunk: LoggedEvent[] = []
  for (const frame of frames) {
    if (frame.end <= from || frame.position >= until) continue
    for (const event of frameEvents(frame))
      if (event.position >= from && event.position < until) chunk.push({ frame, event })
  }
  return chunk
}
