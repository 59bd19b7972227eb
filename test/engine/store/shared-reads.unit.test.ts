import { expect, it } from 'vitest'
import { SharedReads } from '../../../engine/store/shared-reads.ts'

/** Something that grows, and whose reads the test answers one by one with its size at their begin. */
function growing() {
  const reads: PromiseWithResolvers<void>[] = []
  const shared = new SharedReads<number>()
  const source = {
    size: 0,
    reads,
    get: (key = 'a') =>
      shared.get(key, async () => {
        const { size } = source
        const end = Promise.withResolvers<void>()
        reads.push(end)
        await end.promise
        return size
      }),
  }
  return source
}

it('answer with what there was at the call, or later', async () => {
  const source = growing()
  const first = source.get()
  source.size = 1
  const second = source.get()
  source.reads[0]?.resolve()
  expect(await first).toBe(0)
  source.reads[1]?.resolve()
  expect(await second).toBe(1)
})

it('are one for all calls during another read, and one for each key', async () => {
  const source = growing()
  const asked = Array.from({ length: 20 }, () => source.get())
  const other = source.get('b')
  expect(source.reads).toHaveLength(2)
  source.reads[0]?.resolve()
  await asked[0]
  source.reads[2]?.resolve()
  expect(await Promise.all(asked)).toHaveLength(20)
  expect(source.reads).toHaveLength(3)
  source.reads[1]?.resolve()
  await other
})

it('begin again after one that failed', async () => {
  const source = growing()
  const failing = source.get()
  const following = source.get()
  source.reads[0]?.reject(new Error('away'))
  await expect(failing).rejects.toThrow('away')
  source.reads[1]?.resolve()
  expect(await following).toBe(0)
})
