import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { allMutants } from '../../../tools/mutants/all-mutants.ts'
import { catchersOf, type Mutant } from '../../../tools/mutants/mutant.ts'
import { planted } from '../../../tools/mutants/places.ts'
import { root } from '../../../tools/mutants/planting.ts'
import { wrongArguments } from '../../../tools/mutants/wrong-arguments.ts'

const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')

describe('each mutant', () => {
  it.each(allMutants)('$name has one place in its file, and changes it', (mutant) => {
    const text = textOf(mutant.file)
    expect(planted(mutant, text)).not.toBe(text)
  })

  it('has a unique name', () => {
    expect(new Set(allMutants.map(({ name }) => name)).size).toBe(allMutants.length)
  })

  it('names existing tests, each by a text that matches one test of its file', () => {
    const catchers = allMutants.flatMap(catchersOf)
    expect(catchers.filter(({ file, test }) => textOf(file).split(test).length !== 2)).toEqual([])
    expect(allMutants.filter((mutant) => catchersOf(mutant).length === 0)).toEqual([])
  })
})

describe('the command', () => {
  it.each(['0', 'many', '1.5'])('refuses a sample of %s', (sample) => {
    expect(wrongArguments([], sample)).toEqual(['--sample needs a number of at least 1'])
  })

  it('refuses what is wrong, and plants nothing', () => {
    const args = ['tools/mutants/main.ts', 'no-such-mutant', '--sample', '0']
    const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
    const messages = ['no mutant no-such-mutant', '--sample needs a number of at least 1']
    expect([status, stdout.split('\n\n').slice(0, 2)]).toEqual([2, messages])
  })
})

describe('a place', () => {
  const mutant = (at: string, becomes: string): Mutant => ({
    name: 'sample',
    fault: '',
    file: 'sample.ts',
    at,
    becomes,
    caughtBy: {},
  })
  const text = `
    export function total(prices: number[], limit: number) {
      if (prices.length === 0) return 0
      if (prices.length > limit) throw new RangeError('too many')
      return prices.reduce((sum, price) => sum + price, 0)
    }`

  it('is found whatever the locals are named and however the code is formatted', () => {
    const renamed = text.replaceAll('prices', 'all').replaceAll('price', 'one').replaceAll(' {', '\n{')
    expect(planted(mutant('total / reduce() / +', '$left'), text)).toContain('=> sum,')
    expect(planted(mutant('total / reduce() / +', '$left'), renamed)).toContain('=> sum,')
    expect(planted(mutant('total / if 2 / .test', '!($self)'), renamed)).toContain('if (!(all.length > limit))')
    expect(planted(mutant("total / 'too many'", 'too few'), renamed)).toContain("RangeError('too few')")
  })

  it('is reported with the mutant, the file and the step if it is gone or ambiguous', () => {
    expect(() => planted(mutant('sum / if', ''), text)).toThrow(
      'sample: sample.ts has 0 places for "sum" of "sum / if"',
    )
    expect(() => planted(mutant('total / if', ''), text)).toThrow(
      'sample: sample.ts has 2 places for "if" of "total / if"',
    )
    expect(() => planted(mutant('total / if 1', '$left'), text)).toThrow('has no part "left"')
  })
})
