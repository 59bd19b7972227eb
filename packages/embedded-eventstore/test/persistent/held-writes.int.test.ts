import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { CorruptLogError, NoRoomError } from '../../log/log-errors.ts'
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

const onDamage = vi.fn()

function groupStreams(): GroupStreams {
  return new GroupStreams(store, SOURCE, 'group', onDamage)
}

/** A group with a checkpoint. A full disk refuses what it writes in `act`. */
async function refused(act: (streams: GroupStreams) => void): Promise<GroupStreams> {
  await appendTo(store, 'orders', ['0'])
  const streams = groupStreams()
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
  const next = groupStreams()
  expect([next.readCheckpoint(), next.parkedBounds()]).toEqual([undefined, undefined])
})

test('after a change of its group, a refused checkpoint is left out and a refused message is parked', async () => {
  const streams = await refused((group) => {
    group.writeCheckpoint(5)
    group.park({ event: readEvent(store, 'orders', 0), link: undefined }, 'later')
  })
  streams.close()
  const next = groupStreams()
  next.writeCheckpoint(7)
  vi.advanceTimersByTime(LATER_MS)
  await written()
  expect([next.readCheckpoint(), next.parkedBounds()]).toEqual([7, { first: 0, last: 0 }])
})

test('damage that a refused message meets when it is tried again stops the group, and not the node', async () => {
  await refused((group) => group.park({ event: readEvent(store, 'orders', 0), link: undefined }, 'later'))
  const damage = new CorruptLogError('checksum does not match', 1)
  const damaged = vi.spyOn(store, 'writtenMetadata').mockImplementation(() => {
    throw damage
  })
  vi.advanceTimersByTime(LATER_MS)
  damaged.mockRestore()
  expect(onDamage).toHaveBeenCalledExactlyOnceWith(damage)
})
