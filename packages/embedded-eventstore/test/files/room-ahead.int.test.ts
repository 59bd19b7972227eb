import { closeSync, fstatSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { NoRoomError } from '../../log/log-errors.ts'
import { RoomAhead, freeBytes } from '../../log/room-ahead.ts'
import { createSegment, type Segment } from '../../log/segment.ts'

const MEGABYTE = 1 << 20
let folder: string
let segment: Segment

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'room-ahead-'))
  segment = createSegment(folder, 0, 1)
})

afterEach(async () => {
  closeSync(segment.fd)
  await rm(folder, { recursive: true, force: true })
})

const fileSize = (): number => fstatSync(segment.fd).size

test('on an almost full disk it takes the room for the append and half of the rest', () => {
  const room = new RoomAhead(() => MEGABYTE)
  room.make(segment, MEGABYTE / 2, 0)
  expect(fileSize()).toBeGreaterThanOrEqual(MEGABYTE / 2)
  expect(fileSize()).toBeLessThan(MEGABYTE)
  expect(room.isWanting).toBe(false)
})

test('a retry on a full disk writes nothing; a retry with enough room ends the refusals', async () => {
  let free = 2 * MEGABYTE - 100
  const room = new RoomAhead(() => free)
  const before = fileSize()
  expect(room.refused()).toBeInstanceOf(NoRoomError)
  await vi.waitFor(() => expect(room.isPausing).toBe(false))

  expect(() => room.make(segment, before, 2 * MEGABYTE)).toThrow(NoRoomError)
  expect([room.isWanting, room.isPausing, fileSize()]).toEqual([true, true, before])

  free = 4 * MEGABYTE
  await vi.waitFor(() => room.make(segment, before, 2 * MEGABYTE))
  expect(room.isWanting).toBe(false)
  expect(fileSize()).toBeGreaterThanOrEqual(before + 2 * MEGABYTE)
})

test('reports the free bytes of a disk', () => {
  expect(freeBytes(folder)).toBeGreaterThan(MEGABYTE)
})
