import { expect, it } from 'vitest'
import { ConcurrencyKeys } from '../../../engine/processes/concurrency-keys.ts'
import type { ReceiverVerdict } from '../../../engine/processes/process.ts'
import { noConcurrencyKey } from '../../../engine/processes/todo-tables.ts'

const start = new Date('2026-03-01T10:00:00.000Z')
const after = (ms: number) => new Date(start.getTime() + ms)

/** Sixteen workers, at most four for one key. Pauses are not spread, unless `spread` differs. */
function keysOf({ workers = 16, perKey = 4, spread = 0.5 } = {}) {
  const random = () => spread
  const keys = new ConcurrencyKeys({ workers, perKey }, random)
  return {
    keys,
    begin: (name: string, steps = 1, now = start) => {
      for (let step = 0; step < steps; step += 1) keys.begin(name, now)
    },
    /** One step from begin to end. */
    step: (name: string, verdict: ReceiverVerdict, now = start) => {
      keys.begin(name, now)
      keys.end(name, verdict, now)
    },
    room: (name: string, now = start) => {
      const { known, others } = keys.quotas(now)
      return known.find(({ key }) => key === name)?.room ?? others
    },
  }
}

it('lets a new key run two steps at a time, and one more after each healthy step, up to its limit', () => {
  const { step, room, begin } = keysOf()
  expect(room('a')).toBe(2)
  const rooms = Array.from({ length: 4 }, () => {
    step('a', { health: 'good' })
    return room('a')
  })
  expect(rooms).toEqual([3, 4, 4, 4])
  begin('a', 3)
  expect([room('a'), room('b')]).toEqual([1, 2])
  expect(keysOf({ perKey: 1 }).room('a')).toBe(1)
})

it('lets a key run one step at a time after an unhealthy step, until a healthy one', () => {
  const { step, room, begin } = keysOf()
  step('a', { health: 'good' })
  step('a', { health: 'bad' })
  expect(room('a')).toBe(1)
  begin('a')
  expect(room('a')).toBe(0)
  step('b', { health: 'bad' })
  step('b', { health: 'good' })
  expect(room('b')).toBe(2)
})

it('changes nothing after a step without a verdict', () => {
  const { step, room } = keysOf()
  step('a', {})
  expect(room('a')).toBe(2)
  step('a', { health: 'bad' })
  step('a', {})
  expect(room('a')).toBe(1)
})

it('pauses a key when its receiver is unreachable three times in a row, and longer each time after', () => {
  const { keys, step, room } = keysOf()
  let now = start
  const pauses = Array.from({ length: 9 }, () => {
    step('a', { health: 'unreachable' }, now)
    const end = keys.nextPauseEnd(now)
    const pauseMs = end === undefined ? 0 : end.getTime() - now.getTime()
    if (end !== undefined) {
      expect([room('a', now), room('a', new Date(end.getTime() - 1)), room('a', end)]).toEqual([0, 0, 1])
      now = end
    }
    return pauseMs
  })
  expect(pauses).toEqual([0, 0, 5_000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000])
})

it('spreads the ends of pauses', () => {
  const pauseMs = (random: number) => {
    const { keys, step } = keysOf({ spread: random })
    for (let time = 0; time < 3; time += 1) step('a', { health: 'unreachable' })
    return (keys.nextPauseEnd(start)?.getTime() ?? 0) - start.getTime()
  }
  expect([pauseMs(0), pauseMs(0.999999)]).toEqual([4_000, 6_000])
})

it('counts any answer, good or bad, as reached', () => {
  for (const health of ['good', 'bad'] as const) {
    const { keys, step } = keysOf()
    for (const verdict of ['unreachable', 'unreachable', health, 'unreachable', 'unreachable'] as const)
      step('a', { health: verdict })
    expect(keys.nextPauseEnd(start)).toBeUndefined()
  }
})

it('counts steps that ran together as one failure', () => {
  const { keys, begin } = keysOf({ perKey: 8 })
  begin('a', 8)
  for (let step = 0; step < 8; step += 1) keys.end('a', { health: 'unreachable' }, start)
  expect(keys.nextPauseEnd(start)).toEqual(after(5_000))
})

it('pauses for as long as the receiver asks, but not for hours, then tries one step', () => {
  const { keys, step, room } = keysOf()
  step('a', { health: 'bad', pauseMs: 90_000 })
  expect([room('a', after(89_999)), room('a', after(90_000))]).toEqual([0, 1])
  // A step that began before the pause and ends well does not shorten it.
  step('a', { health: 'good' })
  expect(room('a', after(1_000))).toBe(0)
  step('b', { health: 'bad', pauseMs: 86_400_000 })
  expect(room('b', after(300_000))).toBe(1)
  expect(keys.nextPauseEnd(start)).toEqual(after(90_000))
})

it('ends a pause that began before the clock was set back', () => {
  const { step, room } = keysOf()
  step('a', { pauseMs: 60_000 }, after(3_600_000))
  expect(room('a')).toBe(1)
  step('a', { pauseMs: 1_000 })
  expect([room('a'), room('a', after(1_000))]).toEqual([0, 1])
})

it('gives all unhealthy keys together a quarter of the workers', () => {
  const { keys, begin, step, room } = keysOf()
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) step(name, { health: 'bad' })
  expect([keys.quotas(start).unhealthy, room('f')]).toEqual([4, 1])
  for (const name of ['a', 'b', 'c', 'd']) begin(name)
  expect([keys.quotas(start).unhealthy, room('e'), room('well')]).toEqual([0, 0, 2])
  keys.end('a', {}, start)
  expect([keys.quotas(start).unhealthy, room('e')]).toEqual([1, 1])
  expect(keysOf({ workers: 1 }).keys.quotas(start).unhealthy).toBe(1)
})

it('counts the running steps of a key', () => {
  const { keys, begin } = keysOf({ perKey: 8 })
  for (let step = 0; step < 6; step += 1) keys.begin('a', start)
  for (let step = 0; step < 6; step += 1) keys.end('a', { health: 'good' }, start)
  begin('a', 6)
  begin('b')
  expect(keys.quotas(start).known).toEqual([
    { key: noConcurrencyKey, room: 16, inHand: 0, isUnhealthy: false },
    { key: 'a', room: 2, inHand: 6, isUnhealthy: false },
    { key: 'b', room: 1, inHand: 1, isUnhealthy: false },
  ])
})

it('lists unhealthy keys in the order of their last steps, so that they take turns', () => {
  const { keys, begin, step } = keysOf()
  for (const name of ['a', 'b', 'c']) step(name, { health: 'bad' })
  const unhealthy = () => keys.quotas(start).known.flatMap(({ key, isUnhealthy }) => (isUnhealthy ? [key] : []))
  expect(unhealthy()).toEqual(['a', 'b', 'c'])
  begin('a')
  keys.end('a', { health: 'bad' }, start)
  expect(unhealthy()).toEqual(['b', 'c', 'a'])
})

it('never limits or pauses steps without a receiver', () => {
  const { begin, step, room } = keysOf()
  begin(noConcurrencyKey, 3)
  step(noConcurrencyKey, { health: 'unreachable', pauseMs: 60_000 })
  expect(room(noConcurrencyKey)).toBe(16)
})

it('forgets idle keys beyond a number, but none that pauses or has running steps', () => {
  const { keys, begin, step, room } = keysOf()
  step('paused', { pauseMs: 60_000 })
  begin('busy', 2)
  step('idle', { health: 'bad' })
  for (let index = 0; index < 5_000; index += 1) step(`key-${index}`, { health: 'bad' })
  expect([room('paused'), room('busy'), room('idle')]).toEqual([0, 0, 2])
  expect(keys.quotas(start).known.length).toBeLessThanOrEqual(2_001)
})

it('forgets the oldest pauses beyond a larger number: each claim sends all keys to the database', () => {
  const { keys, begin, step, room } = keysOf()
  begin('busy', 2)
  step('first', { pauseMs: 60_000 })
  for (let index = 0; index < 5_000; index += 1) step(`key-${index}`, { pauseMs: 60_000 })
  expect([room('busy'), room('first'), room('key-4999')]).toEqual([0, 2, 0])
  expect(keys.quotas(start).known.length).toBeLessThanOrEqual(5_001)
})
