import { expect, it } from 'vitest'
import { createTurns } from '../../../commands/handling/turns.ts'

const pause = () => new Promise<void>((resolve) => setImmediate(resolve))

it('lets one in at a time per name, in order, and hands each its own result', async () => {
  const inTurn = createTurns()
  const told: string[] = []
  const work = (name: string, what: string) =>
    inTurn(name, async () => {
      told.push(`${what} begins`)
      await pause()
      told.push(`${what} ends`)
      return what
    })
  expect(await Promise.all([work('a', 'first'), work('a', 'second'), work('b', 'other')])).toEqual([
    'first',
    'second',
    'other',
  ])
  expect(told.filter((line) => !line.startsWith('other'))).toEqual([
    'first begins',
    'first ends',
    'second begins',
    'second ends',
  ])
  expect(told.indexOf('other begins')).toBeLessThan(told.indexOf('first ends'))
})

it('goes on after a failure, which only its own caller hears of', async () => {
  const inTurn = createTurns()
  const failing = inTurn('a', async () => {
    await pause()
    throw new Error('planted')
  })
  const next = inTurn('a', async () => 'done')
  await expect(failing).rejects.toThrow('planted')
  expect(await next).toBe('done')
  expect(await inTurn('a', async () => 'again')).toBe('again')
})
