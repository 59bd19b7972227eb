import { expect, it } from 'vitest'
import { WorkerBudget } from '../../../engine/processes/worker-budget.ts'

/** So many processes that share workers. `inHand` of each can be set. */
function budgetOf(workers: number, processes: number) {
  const woken: number[] = []
  const budget = new WorkerBudget(workers)
  const members = Array.from({ length: processes }, (_, number) => ({
    inHand: 0,
    wakeUp: () => void woken.push(number),
  }))
  for (const member of members) budget.add(member)
  const roomOf = (number: number) => {
    const member = members[number]
    if (member === undefined) throw new RangeError('no such process')
    return budget.roomFor(member)
  }
  return { budget, members, woken, roomOf }
}

it('gives a single process all workers', () => {
  const { members, roomOf } = budgetOf(10, 1)
  expect(roomOf(0)).toBe(10)
  Object.assign(members[0] ?? {}, { inHand: 10 })
  expect(roomOf(0)).toBe(0)
})

it('keeps half of an equal quota free for each other process', () => {
  const { members, roomOf } = budgetOf(10, 2)
  expect([roomOf(0), roomOf(1)]).toEqual([8, 8])
  Object.assign(members[0] ?? {}, { inHand: 8 })
  expect([roomOf(0), roomOf(1)]).toEqual([0, 2])
  Object.assign(members[1] ?? {}, { inHand: 1 })
  expect([roomOf(0), roomOf(1)]).toEqual([0, 1])
})

it('lets each process run a step although there are fewer workers than processes', () => {
  const { members, roomOf } = budgetOf(1, 3)
  expect([roomOf(0), roomOf(1), roomOf(2)]).toEqual([1, 1, 1])
  Object.assign(members[2] ?? {}, { inHand: 1 })
  expect([roomOf(0), roomOf(1), roomOf(2)]).toEqual([0, 0, 0])
})

it('wakes the process with the fewest steps first when there is room', () => {
  const { budget, members, woken } = budgetOf(10, 3)
  for (const [number, inHand] of [3, 0, 1].entries()) Object.assign(members[number] ?? {}, { inHand })
  budget.freed()
  expect(woken).toEqual([1, 2, 0])
})
