import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { GroupSettings } from '../../persistent/group-settings.ts'
import { PersistentSubscriptions } from '../../persistent/persistent-subscriptions.ts'
import type { StreamStore } from '../../streams/stream-store.ts'
import { SOON } from '../contract/persistent-consumer.ts'
import { LogFolder, appendTo } from '../files/log-folder.ts'

const settings: GroupSettings = {
  source: { kind: 'stream', stream: 'orders' },
  group: 'group',
  resolveLinks: false,
  startPosition: '0',
  extraStatistics: false,
  messageTimeout: 1,
  maxRetryCount: 10,
  checkpointAfter: 1,
  minCheckpointCount: 1,
  maxCheckpointCount: 1_000,
  maxSubscriberCount: 0,
  liveBufferSize: 10,
  readBatchSize: 10,
  historyBufferSize: 20,
  strategy: 'RoundRobin',
}

let folder: LogFolder
let store: StreamStore

beforeEach(() => {
  folder = new LogFolder()
  store = folder.open()
})

afterEach(async () => {
  vi.useRealTimers()
  await store.close()
  folder.remove()
})

test('a clock that is set back delays no message and no checkpoint', async () => {
  await appendTo(store, 'orders', ['0', '1'])
  const groups = new PersistentSubscriptions(store)
  groups.create(settings, '', () => undefined)
  const running = groups.find('orders', 'group')
  const deliver = vi.fn()
  running.connect({ deliver, drop: vi.fn() }, 10, { username: '', name: '' })
  await expect.poll(() => deliver.mock.calls.length, SOON).toBeGreaterThan(1)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
  const delivered = deliver.mock.calls.length
  await expect.poll(() => deliver.mock.calls.length, SOON).toBeGreaterThan(delivered)
  groups.stop()
})
