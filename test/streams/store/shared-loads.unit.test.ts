import { expect, it } from 'vitest'
import { SharedLoads } from '../../../streams/store/shared-loads.ts'

/** A server whose answers the test gives. Each contains the number of writes before the question. */
function slowServer() {
  const answers: (() => void)[] = []
  let writes = 0
  const read = (): Promise<number> => {
    const seen = writes
    return new Promise((resolve) => answers.push(() => resolve(seen)))
  }
  return { read, answers, write: () => void (writes += 1) }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

it('all who ask during a load share the next one, which contains what was written before they asked', async () => {
  const { read, answers, write } = slowServer()
  const loads = new SharedLoads()
  const first = loads.load('template', read)
  write()
  const later = [loads.load('template', read), loads.load('template', read)]
  answers[0]?.()
  expect(await first).toBe(0)
  await turn()
  expect(answers).toHaveLength(2)
  write()
  const last = loads.load('template', read)
  answers[1]?.()
  expect(await Promise.all(later)).toEqual([1, 1])
  await turn()
  answers[2]?.()
  expect(await last).toBe(2)
})

it('a load that fails fails for nobody who asked later, and other streams wait for nothing', async () => {
  const { read, answers } = slowServer()
  const loads = new SharedLoads()
  const failed = loads.load('template', async () => Promise.reject(new Error('away')))
  const later = loads.load('template', read)
  const other = loads.load('other', read)
  await expect(failed).rejects.toThrow('away')
  await turn()
  expect(answers).toHaveLength(2)
  for (const answer of answers) answer()
  expect(await Promise.all([later, other])).toEqual([0, 0])
})
