import { expect, test } from 'vitest'
import type { Benchmark } from '../../../tools/bench/harness/benchmark.ts'
import { atLeast, atMost, compare, isFarOff, single, type Goal } from '../../../tools/bench/harness/compare.ts'
import { chosenBenchmarks, settingsOf } from '../../../tools/bench/harness/command-line.ts'
import { table } from '../../../tools/bench/harness/report.ts'
import { runBenchmarks } from '../../../tools/bench/harness/run.ts'
import { sampleOf } from '../../../tools/sample.ts'

const compared = (ours: readonly number[], other: readonly number[], goal: Goal) => {
  const next = (values: readonly number[]) => {
    let at = 0
    return async () => values[at++ % values.length] ?? NaN
  }
  return single({
    goalNumber: '1',
    name: 'it',
    unit: 'per second',
    goal,
    ours: { name: 'a', measure: next(ours) },
    other: { name: 'b', measure: next(other) },
  })
}

test('compares round by round, without the first round', async () => {
  const [outcome] = await compare(compared([900, 1, 2, 3], [1, 2, 4, 6], atLeast(0.5)), 3)
  expect(outcome).toMatchObject({ ratio: 0.5, spread: 0, verdict: 'holds', ours: { median: 2 }, other: { median: 4 } })
})

test('one round is no result, and has no warm-up and no spread', async () => {
  const outcomes = await compare(compared([3, 1], [1, 1], atLeast(0.5)), 1)
  expect(outcomes).toMatchObject([{ ratio: 3, spread: NaN, verdict: 'no result' }])
  expect(table(outcomes).split('\n').at(-1)).toBe(
    '| 1 | it, per second | a: 3.00 | b: 1.00 | 3.00 |  | ≥ 0.50 | no result |',
  )
})

test('reports a missed goal, a reached goal, and no result', async () => {
  const verdict = async (ours: readonly number[], goal: Goal) =>
    (await compare(compared(ours, [1], goal), 5))[0]?.verdict
  expect(await verdict([0.4], atLeast(0.5))).toBe('falls short')
  expect(await verdict([0.4], atMost(0.5))).toBe('holds')
  expect(await verdict([0.6], atMost(0.5))).toBe('falls short')
  expect(await verdict([4], { kind: 'between', least: 3.8, most: 4.3 })).toBe('holds')
  expect(await verdict([5], { kind: 'between', least: 3.8, most: 4.3 })).toBe('falls short')
  expect(await verdict([5], { kind: 'none' })).toBe('shown')
  expect(await verdict([1, 2, 3, 4, 5, 6], atLeast(0.5))).toBe('no result')
  expect(await verdict([NaN], atLeast(0.5))).toBe('no result')
})

test('is far off below 0.6 of a goal, or above a bound divided by 0.6', () => {
  expect(isFarOff({ ratio: 0.31, goal: atLeast(0.5) })).toBe(false)
  expect(isFarOff({ ratio: 0.29, goal: atLeast(0.5) })).toBe(true)
  expect(isFarOff({ ratio: 3.3, goal: atMost(2) })).toBe(false)
  expect(isFarOff({ ratio: 3.4, goal: atMost(2) })).toBe(true)
  expect(isFarOff({ ratio: 0.13, goal: atLeast(0.5, { reached: 0.2 }) })).toBe(false)
  expect(isFarOff({ ratio: 0.11, goal: atLeast(0.5, { reached: 0.2 }) })).toBe(true)
  expect(isFarOff({ ratio: 12, goal: atMost(2, { reached: 8 }) })).toBe(false)
  expect(isFarOff({ ratio: 14, goal: atMost(2, { reached: 8 }) })).toBe(true)
  expect(isFarOff({ ratio: NaN, goal: atMost(2) })).toBe(true)
  expect(isFarOff({ ratio: NaN, goal: { kind: 'none' } })).toBe(false)
})

const quick = { quick: true, rounds: 1, events: undefined, realUrl: undefined }

test('the quick form tries a ratio three times before it counts as broken', async () => {
  const run = (ours: readonly number[]) => {
    const benchmark: Benchmark = {
      name: 'it',
      goals: ['1'],
      about: '',
      run: async (_, { compare }) => compare(compared(ours, [1], atLeast(1))),
    }
    return runBenchmarks([benchmark], quick, () => {})
  }
  expect(await run([0, 0, 1])).toMatchObject({ isBroken: false, rows: [{ ratio: 1 }] })
  expect(await run([0, 0, 0, 1])).toMatchObject({ isBroken: true, rows: [{ ratio: 0 }] })
})

test('a failed benchmark becomes a row, and the next one runs', async () => {
  const broken: Benchmark = {
    name: 'broken',
    goals: ['1'],
    about: '',
    run: async () => Promise.reject(new Error('ten came of nine')),
  }
  const absent: Benchmark = {
    name: 'absent',
    goals: ['2'],
    about: '',
    run: async (_, { notRun }) => notRun({ goal: '2', name: 'absent', why: 'no server' }),
  }
  const { rows, isBroken } = await runBenchmarks([broken, absent], quick, () => {})
  expect(isBroken).toBe(true)
  expect(table(rows).split('\n').slice(2)).toEqual([
    '| 1 | broken |  |  |  |  |  | failed: ten came of nine |',
    '| 2 | absent |  |  |  |  |  | not run: no server |',
  ])
})

test('parses the command line', () => {
  expect(settingsOf(['a', '--quick', '--json', 'out.json'], '')).toEqual({
    names: ['a'],
    list: false,
    json: 'out.json',
    sample: undefined,
    settings: { quick: true, rounds: 1, events: undefined, realUrl: undefined },
  })
  expect(settingsOf(['--rounds', '7', '--events', '1000'], 'esdb://x')?.settings).toEqual({
    quick: false,
    rounds: 7,
    events: 1000,
    realUrl: 'esdb://x',
  })
  expect(settingsOf(['--quick', '--sample', '3'], '')?.sample).toBe(3)
  for (const wrong of [['--sample', '0'], ['--sample', 'many'], ['--rounds', '0'], ['--events', 'many'], ['--unknown']])
    expect(settingsOf(wrong, undefined)).toBeUndefined()
  const named = (name: string): Benchmark => ({ name, goals: [], about: '', run: async () => {} })
  const all = [named('a'), named('b')]
  expect(chosenBenchmarks(all, [])).toBe(all)
  expect(chosenBenchmarks(all, ['b'])?.map(({ name }) => name)).toEqual(['b'])
  expect(chosenBenchmarks(all, ['c'])).toBeUndefined()
})

test('a sample contains some of them, each once', () => {
  const all = [1, 2, 3, 4, 5]
  const sample = sampleOf(all, 3)
  expect(new Set(sample.filter((one) => all.includes(one))).size).toBe(3)
  expect(new Set(sampleOf(all, 9))).toEqual(new Set(all))
  const firsts = Array.from({ length: 200 }, () => sampleOf(all, 1)[0])
  expect(new Set(firsts)).toEqual(new Set(all))
})
