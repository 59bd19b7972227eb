import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { allMutants } from '../../../tools/mutants/all-mutants.ts'
import { occurrences, root } from '../../../tools/mutants/planting.ts'

const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')

describe('each mutant', () => {
  it('replaces a text that occurs exactly once in its file', () => {
    const elsewhere = allMutants.filter(({ file, text }) => occurrences(textOf(file), text) !== 1)
    expect(elsewhere.map(({ name }) => name)).toEqual([])
  })

  it('changes something and has a unique name', () => {
    expect(allMutants.filter(({ text, replacement }) => text === replacement)).toEqual([])
    expect(new Set(allMutants.map(({ name }) => name)).size).toBe(allMutants.length)
  })

  it('names existing tests, each by a text that matches one test of its file', () => {
    const catchers = allMutants.flatMap(({ caughtBy }) => caughtBy)
    expect(catchers.filter(({ file, test }) => occurrences(textOf(file), test) !== 1)).toEqual([])
    expect(allMutants.filter(({ caughtBy }) => caughtBy.length === 0)).toEqual([])
  })
})
