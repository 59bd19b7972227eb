import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { configurationTable } from '../../platform/configuration/configuration.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')

/** The rows of the README's configuration table, as cells without code marks. */
function documentedRows(): string[][] {
  return readme
    .split('\n')
    .filter((line) => /^\| `[A-Z][A-Z0-9_]+` \|/.test(line))
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\|? ?`?|`? ?\|?$/g, '').trim()))
}

test('the README lists exactly the variables, with default, unit and meaning', () => {
  const expected = configurationTable().map(({ name, default: initial, unit, meaning }) => [
    name,
    initial,
    unit,
    meaning,
  ])
  expect(documentedRows()).toEqual(expected)
})

test("the README's commands exist", () => {
  const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    scripts: Record<string, string>
  }
  const named = [...readme.matchAll(/npm (?:run )?(demo|test|start|platform|eventstore)\b/g)].map(
    ([, name]) => name ?? '',
  )
  expect(named).toContain('demo')
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([])
})
