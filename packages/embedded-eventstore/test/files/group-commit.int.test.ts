import { randomUUID } from 'node:crypto'
import fs, { mkdtempSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { EventLog } from '../../log/event-log.ts'

let folder = ''
let log: EventLog
/** Held syncs. A call completes one. A call with an error fails it. */
const held: ((error?: Error) => void)[] = []
const failures: Error[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'event-log-'))
  const onFailure = (error: Error): void => void failures.push(error)
  log = new EventLog({
    folder,
    indexed: undefined,
    onIdentified: () => {},
    onRecovered: () => {},
    onDurable: () => {},
    onFailure,
  })
  const real = fs.fdatasync
  vi.spyOn(fs, 'fdatasync').mockImplementation(
    (fd, done) => void held.push((error) => (error === undefined ? real(fd, done) : done(error))),
  )
  syncBuiltinESMExports()
})

afterEach(async () => {
  vi.restoreAllMocks()
  syncBuiltinESMExports()
  await log.close()
  rmSync(folder, { recursive: true, force: true })
  held.length = 0
  failures.length = 0
})

function append(answered: () => void): void {
  const event = {
    id: randomUUID(),
    type: 'Noted',
    contentType: 'application/json',
    data: Buffer.from('{}'),
    metadata: Buffer.alloc(0),
  }
  log.append({ stream: 'noted', firstRevision: 0, createdAt: 1_700_000_000_000, events: [event] }, answered)
}

async function fewTurns(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await turn()
}

test('an append is answered only after its group is synced', async () => {
  const answered = vi.fn<() => void>()
  const before = log.durableEnd
  append(answered)
  append(answered)
  await vi.waitFor(() => expect(held).toHaveLength(1))
  // Appends during a sync wait for the next one.
  append(answered)
  await fewTurns()
  expect(answered).not.toHaveBeenCalled()
  expect(log.durableEnd).toBe(before)

  held[0]?.()
  await vi.waitFor(() => expect(held).toHaveLength(2))
  expect(answered).toHaveBeenCalledTimes(2)
  held[1]?.()
  await vi.waitFor(() => expect(answered).toHaveBeenCalledTimes(3))
  expect(log.durableEnd).toBe(log.appendedEnd)
})

test('an append whose sync fails is never answered, and later appends are refused', async () => {
  const answered = vi.fn<() => void>()
  append(answered)
  await vi.waitFor(() => expect(held).toHaveLength(1))
  held[0]?.(new Error('the disk is gone'))
  await fewTurns()
  expect(failures.map(({ message }) => message)).toEqual(['the disk is gone'])
  expect(answered).not.toHaveBeenCalled()
  expect(() => append(answered)).toThrow('can no longer be written')
})
