import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { EventLog } from '../../log/event-log.ts'
import { planFrame, type Frame, type FrameInput } from '../../log/frame.ts'
import { SEGMENT_HEADER } from '../../log/segment.ts'

/** Bytes that the start reads at once. */
const PIECE = 1 << 20

let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'event-log-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function open(recovered: Frame[] = []): EventLog {
  return new EventLog({
    folder,
    indexed: undefined,
    onIdentified: () => {},
    onRecovered: (frame) => recovered.push(frame),
    onDurable: () => {},
    onFailure: (error) => {
      throw error
    },
  })
}

function input(revision: number, size: number): FrameInput {
  const event = {
    id: 'd6a3b3a4-6a0b-4e0e-9b5e-0c6b6f1f8a11',
    type: 'Noted',
    contentType: 'application/json',
    data: Buffer.alloc(size, 0x20),
    metadata: Buffer.alloc(0),
  }
  return { stream: 'long-1', firstRevision: revision, createdAt: 1_700_000_000_000, events: [event] }
}

/** An append that ends exactly at a position. */
function endingAt(position: number, log: EventLog, revision: number): FrameInput {
  let size = position - log.appendedEnd - 300
  for (let tries = 0; tries < 10; tries += 1)
    size += position - log.appendedEnd - planFrame(input(revision, size), log.appendedEnd).length
  return input(revision, size)
}

function appendTo(log: EventLog, frame: FrameInput): Promise<void> {
  return new Promise((resolve) => {
    log.append(frame, resolve)
  })
}

test.each([0, 1, 2, 3, 4, 7, 8])(
  'the start reads on after an append that ends %i bytes before the end of one read',
  async (distance) => {
    const log = open()
    await appendTo(log, input(0, PIECE - 5000))
    await appendTo(log, endingAt(SEGMENT_HEADER + PIECE - distance, log, 1))
    expect(log.durableEnd).toBe(SEGMENT_HEADER + PIECE - distance)
    for (const revision of [2, 3]) await appendTo(log, input(revision, 100))
    const end = log.durableEnd
    await log.close()
    const recovered: Frame[] = []
    const opened = open(recovered)
    expect(opened.durableEnd).toBe(end)
    expect(recovered.map((frame) => frame.firstRevision)).toEqual([0, 1, 2, 3])
    await opened.close()
  },
)
