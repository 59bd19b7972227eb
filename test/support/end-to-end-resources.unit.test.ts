import { expect, test } from 'vitest'
import { endAfterEndToEnd, endUnlessEndToEnd } from './end-to-end-resources.ts'

test('what end-to-end files share ends once, before the first file of another tier', async () => {
  const ended: string[] = []
  for (const name of ['a', 'b']) endAfterEndToEnd(async () => void ended.push(name))
  await endUnlessEndToEnd('test/end-to-end/main-job/main-job.e2e.test.ts')
  expect(ended).toEqual([])
  await endUnlessEndToEnd('test/engine/store/leader-watch.int.test.ts')
  expect(ended).toEqual(['a', 'b'])
  await endUnlessEndToEnd('test/engine/store/codec.unit.test.ts')
  expect(ended).toEqual(['a', 'b'])
})
