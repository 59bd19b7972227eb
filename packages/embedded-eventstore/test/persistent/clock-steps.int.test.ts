import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PersistentSubscriptions } from '../../persistent/persistent-subscriptions.ts'
import type { StreamStore } from '../../streams/stream-store.ts'
import type { ResolvedEvent } from '../../streams/links.ts'
import { eventId } from '../../wire/event-message.ts'
import { SOON } from '../contract/persistent-consumer.ts'
import { LogFolder, appendTo } from '../files/log-folder.ts'
import { smallGroup } from './group-settings.ts'

let folder: LogFolder
let store: StreamStore
let groups: PersistentSubscriptions

beforeEach(() => {
  folder = new LogFolder()
  store = folder.open()
  groups = new PersistentSubscriptions(store)
})

afterEach(async () => {
  vi.useRealTimers()
  groups.stop()
  await store.close()
  folder.remove()
})

const setBack = () => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
const user = { username: '', name: '' }

test('a clock that is set back delays no message', async () => {
  await appendTo(store, 'orders', ['0', '1'])
  groups.create(smallGroup, '', () => undefined)
  const deliver = vi.fn()
  groups.find('orders', 'group').connect({ deliver, drop: vi.fn() }, 10, user)
  await expect.poll(() => deliver.mock.calls.length, SOON).toBeGreaterThan(1)
  setBack()
  const delivered = deliver.mock.calls.length
  await expect.poll(() => deliver.mock.calls.length, SOON).toBeGreaterThan(delivered)
})

test('a clock that is set back delays no checkpoint', async () => {
  await appendTo(store, 'orders', ['0'])
  groups.create({ ...smallGroup, messageTimeout: 60_000 }, '', () => undefined)
  const running = groups.find('orders', 'group')
  const deliver = ({ event }: ResolvedEvent) => {
    if (event !== undefined) queueMicrotask(() => running.ack([eventId(event.message, event.layout)]))
  }
  running.connect({ deliver, drop: vi.fn() }, 10, user)
  await expect.poll(() => running.streams.readCheckpoint(), SOON).toBe(0)
  setBack()
  await appendTo(store, 'orders', ['1'])
  await expect.poll(() => running.streams.readCheckpoint(), SOON).toBe(1)
})
