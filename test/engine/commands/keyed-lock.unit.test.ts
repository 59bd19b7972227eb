import { expect, it } from 'vitest'
import { createKeyedLock } from '../../../engine/commands/keyed-lock.ts'

const pause = () => new Promise<void>((resolve) => setImmediate(resolve))

it('runs one work at a time per name, in order, and returns each result to its caller', async () => {
  const withLock = createKeyedLock()
  const log: string[] = []
  const work = (name: string, what: string) =>
    withLock(name, async () => {
      log.push(`${what} begins`)
      await pause()
      log.push(`${what} ends`)
      return what
    })
  expect(await Promise.all([work('a', 'first'), work('a', 'second'), work('b', 'other')])).toEqual([
    'first',
    'second',
    'other',
  ])
  expect(log.filter((line) => !line.startsWith('other'))).toEqual([
    'first begins',
    'first ends',
    'second begins',
    'second ends',
  ])
  expect(log.indexOf('other begins')).toBeLessThan(log.indexOf('first ends'))
})

it('continues after a failure, which only its own caller gets', async () => {
  const withLock = createKeyedLock()
  const failing = withLock('a', async () => {
    await pause()
    throw new Error('planted')
  })
  const next = withLock('a', async () => 'done')
  await expect(failing).rejects.toThrow('planted')
  expect(await next).toBe('done')
  expect(await withLock('a', async () => 'again')).toBe('again')
})

it('waits a limited time for each earlier work if it has a limit', async () => {
  const withLock = createKeyedLock(20)
  const never = new Promise<void>(() => undefined)
  for (let each = 0; each < 3; each += 1) void withLock('a', () => never)
  expect(await withLock('a', async () => 'done')).toBe('done')
})
