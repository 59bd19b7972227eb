import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { CorruptLogError } from '../../log/log-errors.ts'
import type { GroupSettings } from '../../persistent/group-settings.ts'
import { RunningGroup } from '../../persistent/running-group.ts'
import type { ResolvedEvent } from '../../streams/links.ts'
import type { StreamStore } from '../../streams/stream-store.ts'
import { eventId } from '../../wire/event-message.ts'
import { LogFolder, appendTo } from '../files/log-folder.ts'
import { smallGroup } from './group-settings.ts'

/** Each message is parked at the first tick without an answer. */
const settings: GroupSettings = {
  ...smallGroup,
  messageTimeout: 0,
  maxRetryCount: 0,
}

let folder: LogFolder
let store: StreamStore

beforeEach(() => {
  folder = new LogFolder()
  store = folder.open()
})

afterEach(async () => {
  await store.close()
  folder.remove()
})

test('damage in the stream of its parked messages stops the group, and not the node', async () => {
  await appendTo(store, 'orders', ['0'])
  const { running, drop } = await consumed(1)
  withDamage(() => running.tick(performance.now() + 1))
  expect(drop).toHaveBeenCalledOnce()
  expect(running.group.state.status).toBe('NotReady')
  running.stop()
})

test('no checkpoint passes a message that could not be parked', async () => {
  await appendTo(store, 'orders', ['0', '1'])
  const { running, ids } = await consumed(2)
  const [first = '', second = ''] = ids
  running.ack([second])
  withDamage(() => running.nack([first], 'park', 'later'))
  running.tick(performance.now() + 60_000)
  await new Promise<void>((resolve) => {
    store.log.whenDurable(resolve)
  })
  expect(running.streams.readCheckpoint()).toBeUndefined()
  running.stop()
})

/** A group with a consumer that got this many messages. */
async function consumed(count: number) {
  const running = new RunningGroup(store, settings)
  const drop = vi.fn()
  const ids: string[] = []
  await new Promise<void>((resolve) => {
    const deliver = ({ event }: ResolvedEvent) => {
      ids.push(event === undefined ? '' : eventId(event.message, event.layout))
      if (ids.length === count) resolve()
    }
    running.connect({ deliver, drop }, 10, { username: '', name: '' })
  })
  return { running, drop, ids }
}

function withDamage(act: () => void): void {
  const damaged = vi.spyOn(store, 'writtenMetadata').mockImplementation(() => {
    throw new CorruptLogError('checksum does not match', 1)
  })
  act()
  damaged.mockRestore()
}
