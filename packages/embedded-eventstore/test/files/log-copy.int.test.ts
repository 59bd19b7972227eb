import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { EventLog } from '../../log/event-log.ts'
import { frameEvents } from '../../log/frame.ts'
import { finishLogCopy, openLogCopy, writeSegmentCopy } from '../../log/log-copy.ts'

let folder = ''
let copied = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'event-log-'))
  copied = mkdtempSync(join(tmpdir(), 'event-log-copy-'))
})
afterEach(() => {
  for (const each of [folder, copied]) rmSync(each, { recursive: true, force: true })
})

function open(dataDir: string): EventLog {
  return new EventLog({
    folder: join(dataDir, 'log'),
    segmentSize: 4096,
    indexed: undefined,
    onIdentified: () => {},
    onRecovered: () => {},
    onDurable: () => {},
    onFailure: (error) => {
      throw error
    },
  })
}

function append(log: EventLog, n: number): Promise<void> {
  const event = { id: randomUUID(), type: 'Numbered', contentType: 'application/json' }
  const bytes = { data: Buffer.from(`{"n":${n}}`), metadata: Buffer.alloc(0) }
  return new Promise((resolve) => {
    log.append(
      { stream: `stream-${n}`, firstRevision: 0, createdAt: 1_700_000_000_000 + n, events: [{ ...event, ...bytes }] },
      resolve,
    )
  })
}

/** Stream, position and message of each event. */
function events(log: EventLog): unknown[] {
  const found: unknown[] = []
  for (let at = 0, frames = log.readFrames(at); frames.length > 0; frames = log.readFrames(at)) {
    for (const frame of frames)
      found.push(...frameEvents(frame).map((event) => [frame.stream, event.position, event.message.toString('hex')]))
    at = frames.at(-1)?.end ?? Infinity
  }
  return found
}

async function copy(): Promise<ReturnType<typeof openLogCopy>> {
  const source = openLogCopy(folder)
  try {
    for (const segment of source.segments) await writeSegmentCopy(copied, segment.base, segment.chunks())
    finishLogCopy(copied, source.end)
    return source
  } finally {
    source.close()
  }
}

test.each([0, 1, 5, 60])(
  'a copy of a log of %i appends that goes on has what was acknowledged, at its positions',
  async (number) => {
    const log = open(folder)
    for (let n = 1; n <= number; n += 1) await append(log, n)
    const before = events(log)
    const source = openLogCopy(folder)
    const later = Promise.all(Array.from({ length: 60 }, (_, n) => append(log, 1_000 + n)))
    for (const segment of source.segments) await writeSegmentCopy(copied, segment.base, segment.chunks())
    finishLogCopy(copied, source.end)
    source.close()
    await later
    await log.close()

    const restored = open(copied)
    expect(events(restored)).toEqual(before)
    expect(source.contents.events).toBe(number)
    if (number > 0) expect(source.contents.last?.createdAt).toBe(1_700_000_000_000 + number)
    await append(restored, 2_000)
    expect(events(restored)).toHaveLength(number + 1)
    await restored.close()
    expect(readdirSync(join(copied, 'log')).length).toBe(number === 60 ? source.segments.length + 1 : 2)
  },
)

test('what is written and not acknowledged is not copied', async () => {
  const log = open(folder)
  await append(log, 1)
  const acknowledged = readFileSync(join(folder, 'log', 'acknowledged'))
  await append(log, 2)
  writeFileSync(join(folder, 'log', 'acknowledged'), acknowledged)
  await copy()
  const restored = open(copied)
  expect(events(restored)).toHaveLength(1)
  await restored.close()
  await log.close()
})

test('a damaged append is refused, and the source is left as it is', async () => {
  const log = open(folder)
  for (let n = 1; n <= 60; n += 1) await append(log, n)
  await log.close()
  const [, second = ''] = readdirSync(join(folder, 'log')).filter((name) => name.endsWith('.segment'))
  const file = join(folder, 'log', second)
  const bytes = readFileSync(file)
  bytes.writeUInt8(bytes.readUInt8(100) ^ 1, 100)
  writeFileSync(file, bytes)
  await expect(copy()).rejects.toThrow('checksum does not match')
  expect(existsSync(join(copied, 'log', 'acknowledged'))).toBe(false)
  expect(readFileSync(file)).toEqual(bytes)
})
