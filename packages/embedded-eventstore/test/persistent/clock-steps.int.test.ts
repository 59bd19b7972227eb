import { expect, onTestFinished, test, vi } from 'vitest'
import { PersistentSubscriptions } from '../../persistent/persistent-subscriptions.ts'
import { SOON } from '../contract/persistent-consumer.ts'
import { LogFolder, appendTo } from '../files/log-folder.ts'
import { smallGroup } from './group-settings.ts'

test('a clock that is set back delays no message and no checkpoint', async () => {
  const folder = new LogFolder()
  const store = folder.open()
  onTestFinished(async () => {
    vi.useRealTimers()
    await store.close()
    folder.remove()
  })
  await appendTo(store, 'orders', ['0', '1'])
  const groups = new PersistentSubscriptions(store)
  groups.create(smallGroup, '', () => undefined)
  const running = groups.find('orders', 'group')
  const deliver = vi.fn()
  running.connect({ deliver, drop: vi.fn() }, 10, { username: '', name: '' })
  await expect.poll(() => deliver.mock.calls.length, SOON).toBeGreaterThan(1)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
  const delivered = deliver.mock.calls.length
  await expect.poll(() => deliver.mock.calls.length, SOON).toBeGreaterThan(delivered)
  groups.stop()
})
