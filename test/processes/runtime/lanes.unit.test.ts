import { expect, it } from 'vitest'
import { isAnyLaneFull, Lanes, type LaneVerdict } from '../../../processes/runtime/lanes.ts'
import { freeLane } from '../../../processes/runtime/todo-tables.ts'

const start = new Date('2026-03-01T10:00:00.000Z')
const after = (ms: number) => new Date(start.getTime() + ms)

/** Sixteen workers, four of them for one lane; pauses are not spread unless `spread` says so. */
function lanesOf({ slots = 16, perLane = 4, spread = 0.5 } = {}) {
  const random = () => spread
  const lanes = new Lanes({ slots, perLane }, random)
  return {
    lanes,
    begin: (name: string, steps = 1, now = start) => {
      for (let step = 0; step < steps; step += 1) lanes.begin(name, now)
    },
    /** One step from begin to end. */
    step: (name: string, verdict: LaneVerdict, now = start) => {
      lanes.begin(name, now)
      lanes.end(name, verdict, now)
    },
    room: (name: string, now = start) => {
      const { known, others } = lanes.shares(now)
      return known.find(({ lane }) => lane === name)?.room ?? others
    },
  }
}

it('lets a new lane have two steps at a time, and one more after each that goes well, up to its limit', () => {
  const { step, room, begin } = lanesOf()
  expect(room('a')).toBe(2)
  const rooms = Array.from({ length: 4 }, () => {
    step('a', { health: 'good' })
    return room('a')
  })
  expect(rooms).toEqual([3, 4, 4, 4])
  begin('a', 3)
  expect([room('a'), room('b')]).toEqual([1, 2])
  expect(lanesOf({ perLane: 1 }).room('a')).toBe(1)
})

it('lets a lane have one step at a time after one that went badly, until one goes well', () => {
  const { step, room, begin } = lanesOf()
  step('a', { health: 'good' })
  step('a', { health: 'bad' })
  expect(room('a')).toBe(1)
  begin('a')
  expect(room('a')).toBe(0)
  step('b', { health: 'bad' })
  step('b', { health: 'good' })
  expect(room('b')).toBe(2)
})

it('takes no step that says nothing of its receiver for a sign of health or illness', () => {
  const { step, room } = lanesOf()
  step('a', {})
  expect(room('a')).toBe(2)
  step('a', { health: 'bad' })
  step('a', {})
  expect(room('a')).toBe(1)
})

it('pauses a lane from the third time in a row that its receiver is not reached, longer each time', () => {
  const { lanes, step, room } = lanesOf()
  let now = start
  const pauses = Array.from({ length: 9 }, () => {
    step('a', { health: 'unreachable' }, now)
    const end = lanes.nextPauseEnd(now)
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
    const { lanes, step } = lanesOf({ spread: random })
    for (let time = 0; time < 3; time += 1) step('a', { health: 'unreachable' })
    return (lanes.nextPauseEnd(start)?.getTime() ?? 0) - start.getTime()
  }
  expect([pauseMs(0), pauseMs(0.999999)]).toEqual([4_000, 6_000])
})

it('counts an answer, good or bad, as reached', () => {
  for (const health of ['good', 'bad'] as const) {
    const { lanes, step } = lanesOf()
    for (const verdict of ['unreachable', 'unreachable', health, 'unreachable', 'unreachable'] as const)
      step('a', { health: verdict })
    expect(lanes.nextPauseEnd(start)).toBeUndefined()
  }
})

it('counts steps that were under way together as one failure with the one that paused their lane', () => {
  const { lanes, begin } = lanesOf({ perLane: 8 })
  begin('a', 8)
  for (let step = 0; step < 8; step += 1) lanes.end('a', { health: 'unreachable' }, start)
  expect(lanes.nextPauseEnd(start)).toEqual(after(5_000))
})

it('leaves a receiver alone for as long as it asks, but not for hours, and tries it with one step', () => {
  const { lanes, step, room } = lanesOf()
  step('a', { health: 'bad', pauseMs: 90_000 })
  expect([room('a', after(89_999)), room('a', after(90_000))]).toEqual([0, 1])
  // What was under way and went well shortens no pause.
  step('a', { health: 'good' })
  expect(room('a', after(1_000))).toBe(0)
  step('b', { health: 'bad', pauseMs: 86_400_000 })
  expect(room('b', after(300_000))).toBe(1)
  expect(lanes.nextPauseEnd(start)).toEqual(after(90_000))
})

it('keeps no pause that a clock began which has been set back since', () => {
  const { step, room } = lanesOf()
  step('a', { pauseMs: 60_000 }, after(3_600_000))
  expect(room('a')).toBe(1)
  step('a', { pauseMs: 1_000 })
  expect([room('a'), room('a', after(1_000))]).toEqual([0, 1])
})

it('lets all unhealthy lanes together have a quarter of the workers', () => {
  const { lanes, begin, step, room } = lanesOf()
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) step(name, { health: 'bad' })
  expect([lanes.shares(start).unhealthy, room('f')]).toEqual([4, 1])
  for (const name of ['a', 'b', 'c', 'd']) begin(name)
  expect([lanes.shares(start).unhealthy, room('e'), room('well')]).toEqual([0, 0, 2])
  lanes.end('a', {}, start)
  expect([lanes.shares(start).unhealthy, room('e')]).toEqual([1, 1])
  expect(lanesOf({ slots: 1 }).lanes.shares(start).unhealthy).toBe(1)
})

it('says how many steps of a lane are under way', () => {
  const { lanes, begin } = lanesOf({ perLane: 8 })
  for (let step = 0; step < 6; step += 1) lanes.begin('a', start)
  for (let step = 0; step < 6; step += 1) lanes.end('a', { health: 'good' }, start)
  begin('a', 6)
  begin('b')
  expect(lanes.shares(start).known).toEqual([
    { lane: freeLane, room: 16, inHand: 0, isUnhealthy: false },
    { lane: 'a', room: 2, inHand: 6, isUnhealthy: false },
    { lane: 'b', room: 1, inHand: 1, isUnhealthy: false },
  ])
})

it('names unhealthy lanes in the order of their last steps, so that they take turns', () => {
  const { lanes, begin, step } = lanesOf()
  for (const name of ['a', 'b', 'c']) step(name, { health: 'bad' })
  const unhealthy = () => lanes.shares(start).known.flatMap(({ lane, isUnhealthy }) => (isUnhealthy ? [lane] : []))
  expect(unhealthy()).toEqual(['a', 'b', 'c'])
  begin('a')
  lanes.end('a', { health: 'bad' }, start)
  expect(unhealthy()).toEqual(['b', 'c', 'a'])
})

it('never limits or pauses the lane of steps that call nobody', () => {
  const { begin, step, room } = lanesOf()
  begin(freeLane, 3)
  step(freeLane, { health: 'unreachable', pauseMs: 60_000 })
  expect(room(freeLane)).toBe(16)
})

it('forgets idle lanes beyond a number, and none that pauses or is at work', () => {
  const { lanes, begin, step, room } = lanesOf()
  step('paused', { pauseMs: 60_000 })
  begin('busy', 2)
  step('idle', { health: 'bad' })
  for (let index = 0; index < 5_000; index += 1) step(`lane-${index}`, { health: 'bad' })
  expect([room('paused'), room('busy'), room('idle')]).toEqual([0, 0, 2])
  expect(lanes.shares(start).known.length).toBeLessThanOrEqual(2_001)
})

it('tells a claim that may have left rows from one that took all', () => {
  const { lanes, begin, step } = lanesOf()
  step('grown', { health: 'good' })
  const isFull = (...taken: string[]) => isAnyLaneFull(lanes.shares(start), taken)
  expect([
    isFull(),
    isFull('new'),
    isFull('grown', 'grown'),
    isFull(...Array.from({ length: 15 }, () => freeLane)),
  ]).toEqual([false, false, false, false])
  expect([isFull('new', 'new'), isFull('grown', 'grown', 'grown')]).toEqual([true, true])
  for (const unhealthy of ['ill0', 'ill1', 'ill2', 'ill3']) step(unhealthy, { health: 'bad' })
  expect([isFull(), isFull('ill0'), isFull('ill0', 'ill1', 'ill2', 'ill3')]).toEqual([false, true, true])
  begin('full', 2)
  expect(isFull()).toBe(true)
})
