import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { NoRoomError } from '../../log/log-errors.ts'
import { GroupStreams } from '../../persistent/group-streams.ts'
import type { StreamStore } from '../../streams/stream-store.ts'
import { readEvent } from '../../streams/read-stream.ts'
import { LogFolder, appendTo } from '../files/log-folder.ts'

const SOURCE = { kind: 'stream', stream: 'orders' } as const
/** Longer than the pause after which a refused write is tried again. */
const LATER_MS = 2_000

let folder: LogFolder
let store: StreamStore

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  folder = new LogFolder()
  store = folder.open()
})

afterEach(async () => {
  vi.useRealTimers()
  await store.close()
  folder.remove()
})

/** Resolves when everything that was appended before is durable. */
function written(): Promise<void> {
  return new Promise((resolve) => {
    store.log.whenDurable(resolve)
  })
}

/** A group with a checkpoint. A full disk refuses what it writes in `act`. */
async function refused(act: (streams: GroupStreams) => void): Promise<GroupStreams> {
  await appendTo(store, 'orders', ['0'])
  const streams = new GroupStreams(store, SOURCE, 'group')
  streams.writeCheckpoint(1)
  await written()
  const full = vi.spyOn(store, 'write').mockImplementation(() => {
    throw new NoRoomError()
  })
  act(streams)
  full.mockRestore()
  return streams
}

test('a checkpoint and a parked message that a full disk refused do not outlive the deletion of their group', async () => {
  const streams = await refused((group) => {
    group.park({ event: readEvent(store, 'orders', 0), link: undefined }, 'later')
    group.writeCheckpoint(5)
  })
  streams.close()
  streams.delete()
  vi.advanceTimersByTime(LATER_MS)
  await written()
  const next = new GroupStreams(store, SOURCE, 'group')
  expect([next.readCheckpoint(), next.parkedBounds()]).toEqual([undefined, undefined])
})

test('after a change of its group, a refused checkpoint is left out and a refused message is parked', async () => {
  const streams = await refused((group) => {
    group.writeCheckpoint(5)
    group.park({ event: readEvent(store, 'orders', 0), link: undefined }, 'later')
  })
  streams.close()
  const next = new GroupStreams(store, SOURCE, 'group')
  next.writeCheckpoint(7)
  vi.advanceTimersByTime(LATER_MS)
  await written()
  expect([next.readCheckpoint(), next.parkedBounds()]).toEqual([7, { first: 0, last: 0 }])
})
