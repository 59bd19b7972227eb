import { readdirSync, readFileSync } from 'node:fs'
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

test('the page about human review defines what its commands use, before they use it', () => {
  const blocks = [...documentAt('docs/human-review.md').matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block)
  const known = new Set<string>()
  for (const line of blocks.join('').split('\n')) {
    for (const [, name = ''] of line.matchAll(/\$([A-Z]+)/g)) expect([...known], line).toContain(name)
    for (const [, name = ''] of line.matchAll(/(?:^|\$\(|\| )(api|member|credential|actor)(?= )/g))
      expect([...known], line).toContain(name)
    const [, defined] = /^([A-Z]+)=|^(\w+)\(\)/.exec(line)?.filter((part) => part !== undefined) ?? []
    if (defined !== undefined) known.add(defined)
  }
  expect([...known]).toEqual(expect.arrayContaining(['BASE', 'ACTOR', 'TASK', 'api', 'member']))
})

test('each tour ends with links to other tours, among them that of notifications', () => {
  const tours = readdirSync(new URL('../../docs/tour/', import.meta.url))
  const linksOf = (tour: string) =>
    [...(documentAt(`docs/tour/${tour}`).trimEnd().split('\n').at(-1) ?? '').matchAll(/\]\(([\w-]+\.md)/g)].map(
      ([, target]) => target ?? '',
    )
  for (const tour of tours) {
    if (tour !== 'notifications.md') expect(linksOf(tour)).toContain('notifications.md')
    for (const target of linksOf(tour)) expect(documentAt(`docs/tour/${target}`)).not.toBe('')
    expect(linksOf(tour).length).toBeGreaterThan(0)
  }
})
