import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { configurationTable } from '../../platform/configuration/configuration.ts'
import { missingNames, readTree } from './guides.ts'

const documentAt = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const readme = documentAt('README.md')

/** The rows of the tables in docs/configuration.md, as cells without code marks. */
function documentedRows(): string[][] {
  return documentAt('docs/configuration.md')
    .split('\n')
    .filter((line) => /^\| `[A-Z][A-Z0-9_]+` \|/.test(line))
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\|? ?`?|`? ?\|?$/g, '').trim()))
}

test('docs/configuration.md lists exactly the variables, with default, unit and meaning', () => {
  const expected = configurationTable().map(({ name, default: initial, unit, meaning }) => [
    name,
    initial,
    unit,
    meaning,
  ])
  expect(documentedRows()).toEqual(expected)
})

test.each(['README.md', 'docs/architecture.md'])('all files and names in %s exist', async (path) => {
  expect(missingNames({ path, text: documentAt(path) }, await readTree())).toEqual([])
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
