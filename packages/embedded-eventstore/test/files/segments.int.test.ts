import { randomUUID } from 'node:crypto'
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { EventLog } from '../../log/event-log.ts'
import type { Frame } from '../../log/frame.ts'

let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'event-log-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function open(recovered: Frame[] = []): EventLog {
  return new EventLog({
    folder,
    segmentSize: 4096,
    indexed: undefined,
    onIdentified: () => {},
    onRecovered: (frame) => recovered.push(frame),
    onDurable: () => {},
    onFailure: (error) => {
      throw error
    },
  })
}

function append(log: EventLog, n: number): Promise<void> {
  const event = {
    id: randomUUID(),
    type: 'Numbered',
    contentType: 'application/json',
    data: Buffer.from(`{"n":${n}}`),
    metadata: Buffer.alloc(0),
  }
  return new Promise((resolve) => {
    log.append({ stream: `stream-${n}`, firstRevision: 0, createdAt: 1_700_000_000_000, events: [event] }, resolve)
  })
}

function streams(log: EventLog): string[] {
  const names: string[] = []
  for (let at = 0, frames = log.readFrames(at); frames.length > 0; frames = log.readFrames(at)) {
    names.push(...frames.map((frame) => frame.stream))
    at = frames.at(-1)?.end ?? Infinity
  }
  return names
}

const segments = (): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.segment'))
    .toSorted()
const expected = (count: number): string[] => Array.from({ length: count }, (_, n) => `stream-${n}`)

async function fill(count: number): Promise<void> {
  const log = open()
  for (let n = 0; n < count; n += 20)
    await Promise.all(Array.from({ length: 20 }, (_, index) => append(log, n + index)))
  expect(streams(log)).toEqual(expected(count))
  await log.close()
}

test('a log of many segments reads as one, before and after a restart', async () => {
  await fill(200)
  expect(segments().length).toBeGreaterThan(8)
  const recovered: Frame[] = []
  const log = open(recovered)
  expect(recovered.map((frame) => frame.stream)).toEqual(expected(200))
  expect(streams(log)).toEqual(expected(200))
  for (const frame of recovered) expect(log.readFrame(frame.position).stream).toBe(frame.stream)
  await append(log, 200)
  expect(streams(log)).toEqual(expected(201))
  await log.close()
})

test('segments also fill up one append at a time', async () => {
  let log = open()
  for (let n = 0; n < 60; n += 1) await append(log, n)
  await log.close()
  expect(segments().length).toBeGreaterThan(2)
  log = open()
  expect(streams(log)).toEqual(expected(60))
  await log.close()
})

test('appends with required room go into that room, and later appends into a new segment', async () => {
  let log = open()
  let count = 0
  for (; log.durableEnd < 4000; count += 1) await append(log, count)
  const before = segments()
  log.requireRoom(2)
  for (const last = count + 20; count < last; count += 1) await append(log, count)
  expect(segments()).toEqual(before)
  await log.close()

  log = open()
  expect(streams(log)).toEqual(expected(count))
  await append(log, count)
  expect(segments()).toHaveLength(before.length + 1)
  expect(streams(log)).toEqual(expected(count + 1))
  await log.close()
})

test('a segment that is missing, too long, too short or another one stops the start', async () => {
  await fill(200)
  const [, second = '', third = ''] = segments()
  const path = join(folder, second)
  const bytes = readFileSync(path)
  const size = statSync(path).size
  const damages = [
    () => rmSync(path),
    () => truncateSync(path, size - 1),
    () => writeFileSync(path, Buffer.concat([bytes, Buffer.alloc(7)])),
    () => copyFileSync(join(folder, third), path),
    () => writeFileSync(path, bytes.fill(bytes.readUInt8(300) ^ 1, 300, 301)),
  ]
  for (const damage of damages) {
    const intact = readFileSync(path)
    damage()
    expect(() => open()).toThrow(/event log is damaged/)
    writeFileSync(path, intact)
  }
})

test('a start creates segments again that a backlog had created and a kill left unused', async () => {
  await fill(40)
  const newest = segments().at(-1) ?? ''
  const end = Number(newest.slice(0, 16)) + statSync(join(folder, newest)).size
  const header = readFileSync(join(folder, newest)).subarray(0, 32)
  for (const distance of [1000, 5000, 9000])
    writeFileSync(join(folder, `${String(end + distance).padStart(16, '0')}.segment`), header)
  const log = open()
  expect(streams(log)).toEqual(expected(40))
  await append(log, 40)
  expect(streams(log)).toEqual(expected(41))
  await log.close()
})

test('a start creates an unused segment again even if the room before it ends at its beginning', async () => {
  await fill(40)
  const newest = join(folder, segments().at(-1) ?? '')
  const header = Buffer.from(readFileSync(newest).subarray(0, 32))
  writeFileSync(newest, Buffer.concat([readFileSync(newest), Buffer.alloc(1000)]))
  const room = Number(segments().at(-1)?.slice(0, 16)) + statSync(newest).size
  writeFileSync(join(folder, `${String(room).padStart(16, '0')}.segment`), header)
  const log = open()
  expect(streams(log)).toEqual(expected(40))
  await append(log, 40)
  expect(streams(log)).toEqual(expected(41))
  await log.close()
})

test('a start creates a segment again that a kill left unused', async () => {
  await fill(40)
  const newest = segments().at(-1) ?? ''
  const end = Number(newest.slice(0, 16)) + statSync(join(folder, newest)).size
  const header = readFileSync(join(folder, newest)).subarray(0, 32)
  for (const content of [
    Buffer.alloc(0),
    header.subarray(0, 10),
    header,
    Buffer.concat([header, Buffer.alloc(1 << 20)]),
  ]) {
    writeFileSync(join(folder, `${String(end + 100).padStart(16, '0')}.segment`), content)
    const log = open()
    expect(streams(log)).toEqual(expected(40))
    await log.close()
  }
  const log = open()
  await append(log, 40)
  expect(streams(log)).toEqual(expected(41))
  await log.close()
})
