import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const document = readFileSync(join(root, 'docs/event-store-hazards.md'), 'utf8')

interface Hazard {
  readonly id: string
  readonly tests: readonly string[]
}

/** Rows of the tables: the first cell is the hazard's number, the last one lists its tests in backquotes. */
function hazardsOf(markdown: string): readonly Hazard[] {
  return markdown.split('\n').flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim())
    const id = cells[1] ?? ''
    if (!/^[A-Z]\d+$/.test(id)) return []
    return [{ id, tests: [...(cells.at(-2) ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '') }]
  })
}

function titlesIn(source: string): readonly string[] {
  return [...source.matchAll(/\btest\('([^']+)'/g)].map((match) => match[1] ?? '')
}

/** Names in a table that no test has. */
function missingTests(markdown: string, sources: readonly string[]): readonly string[] {
  const titles = new Set(sources.flatMap(titlesIn))
  return hazardsOf(markdown).flatMap(({ id, tests }) =>
    tests.filter((name) => !titles.has(name)).map((name) => `${id}: ${name}`),
  )
}

function sourcesOf(pattern: string): readonly string[] {
  return globSync(pattern, { cwd: root }).map((path) => readFileSync(join(root, path), 'utf8'))
}

describe('the table of event store hazards', () => {
  test('names an existing test for every hazard', () => {
    const hazards = hazardsOf(document)

    expect(hazards.filter(({ tests }) => tests.length === 0)).toEqual([])
    expect(missingTests(document, sourcesOf('test/{engine/store,architecture}/*.test.ts'))).toEqual([])
  })

  test('has a row for each hazard in the design', () => {
    const ids = hazardsOf(document).map(({ id }) => id)

    expect(ids).toEqual(expect.arrayContaining(Array.from({ length: 14 }, (_, index) => `C${index + 1}`)))
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('is reported if it names a test that does not exist', () => {
    const planted = '| # | What | Do | Test |\n| --- | --- | --- | --- |\n| C1 | a | b | `there`, `not there` |\n'
    expect(missingTests(planted, [`test('there', () => {})`])).toEqual(['C1: not there'])
  })

  test('no reader of events depends on system projections or persistent subscriptions', () => {
    const forbidden = /PersistentSubscription|['"`]\$(ce|et|bc|by_category)-/
    const offenders = sourcesOf('{engine,streams,projections,processes,commands,read-api,platform}/**/*.ts').filter(
      (source) => forbidden.test(source),
    )

    expect(offenders).toEqual([])
    expect(forbidden.test('client.readStream(`$ce-patient`)')).toBe(true)
  })
})
