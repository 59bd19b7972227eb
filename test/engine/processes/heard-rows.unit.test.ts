import { beforeEach, expect, it, vi } from 'vitest'
import { HeardRows } from '../../../engine/processes/heard-rows.ts'

const row = { key: 'k', step: 's' }
const other = { key: 'k', step: 't' }
const at = (place: bigint) => ({ commit: place, prepare: place })
const due = (dueMs: number, place = 1n) => ({ dueMs, position: at(place) })
const gone = (place = 1n) => due(Infinity, place)

let heard: HeardRows

beforeEach(() => {
  heard = new HeardRows()
  heard.isComplete = true
})

it('tells at once of a row that is due, and later of one that becomes due', () => {
  expect(heard.hear(row, due(100), 100)).toBe(true)
  expect(heard.hear(row, due(130), 100)).toBe(false)
  expect(heard.untilDueMs(110)).toBe(20)
})

it('forgets a row that is removed or moved before it is due', () => {
  heard.hear(row, due(130), 100)
  heard.hear(other, due(150), 100)
  heard.hear(row, gone(), 100)
  expect(heard.untilDueMs(100)).toBe(50)
  heard.hear(other, due(170), 100)
  expect(heard.untilDueMs(100)).toBe(70)
})

it('forgets the rows that a claim has taken, and says whether it remembered each one', () => {
  heard.hear(row, due(130), 100)
  heard.hear(other, due(3_600_000), 100)
  heard.claimed(130)
  expect(heard.isComplete).toBe(true)
  expect(heard.untilDueMs(130)).toBe(3_599_870)
  heard.claimed(3_600_000)
  expect(heard.isComplete).toBe(false)
  expect(heard.untilDueMs(3_600_000)).toBe(Infinity)
})

it('remembers no more than 10,000 rows, and still knows when the first of the others is due', () => {
  for (let key = 0; key < 10_001; key += 1) heard.hear({ key: `${key}`, step: 's' }, due(500 - key / 100), 100)
  heard.claimed(399)
  expect(heard.isComplete).toBe(true)
  expect(heard.untilDueMs(399)).toBe(1)
  heard.claimed(400)
  expect(heard.isComplete).toBe(false)
})

it('says that a row without a name is due, and asks the database for no other one then', () => {
  expect(heard.expect(100, 100)).toBe(true)
  heard.claimed(100)
  expect([heard.isComplete, heard.untilDueMs(100)]).toEqual([true, Infinity])
  expect(heard.expect(130, 100)).toBe(false)
  expect(heard.untilDueMs(100)).toBe(30)
})

it('makes no work of what a step has done to its own row', () => {
  heard.begin(row)
  expect(heard.hear(row, due(90, 1n), 100)).toBe(false)
  expect(heard.end(row, undefined, at(2n), 110)).toBe(false)
  expect(heard.hear(row, due(90, 1n), 110)).toBe(false)
  expect(heard.hear(row, gone(2n), 120)).toBe(false)
  expect(heard.untilDueMs(120)).toBe(Infinity)
  expect(heard.waitingSinceMs).toBe(Infinity)
})

it('makes work of a row that its own step has made due again, whichever is heard of first', () => {
  for (const isHeardFirst of [true, false]) {
    heard.begin(row)
    const hearing = () => heard.hear(row, due(100, 2n), 100)
    const ending = () => heard.end(row, undefined, at(2n), 100)
    const [first, second] = isHeardFirst ? [hearing, ending] : [ending, hearing]
    expect([first(), second()]).toEqual([false, true])
  }
})

it('tells since when the row of a step that is done waits for its list', () => {
  const clock = vi.spyOn(performance, 'now')
  heard.begin(row)
  heard.begin(other)
  expect(heard.waitingSinceMs).toBe(Infinity)
  clock.mockReturnValue(5)
  heard.end(other, undefined, at(2n), 100)
  clock.mockReturnValue(7)
  heard.end(row, undefined, at(2n), 100)
  expect(heard.waitingSinceMs).toBe(5)
  heard.forgetWaiting()
  expect(heard.waitingSinceMs).toBe(Infinity)
  clock.mockRestore()
})

it('knows when a step that failed is due again, unless its row was removed meanwhile', () => {
  heard.begin(row)
  expect(heard.end(row, 150, undefined, 100)).toBe(false)
  expect(heard.untilDueMs(100)).toBe(50)
  heard.begin(other)
  heard.hear(other, gone(), 100)
  expect(heard.end(other, 100, undefined, 100)).toBe(false)
  expect(heard.untilDueMs(100)).toBe(50)
})

it('knows when a row is due that was put off while its step ran and failed', () => {
  heard.begin(row)
  heard.hear(row, due(400), 100)
  expect(heard.end(row, 150, undefined, 100)).toBe(false)
  heard.claimed(150)
  expect(heard.untilDueMs(150)).toBe(250)
})
