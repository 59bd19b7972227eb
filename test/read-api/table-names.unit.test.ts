import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readModels } from '../../projections/registry.ts'

const root = join(import.meta.dirname, '../..')
const tables = readModels.flatMap(({ name, tables }) => tables.map((table) => `${name}.${table.name}`))

/** Tables that a text names, and lists that it builds as JSON. The compiler checks neither. */
function unchecked(source: string): readonly string[] {
  return [...tables, 'jsonb_agg'].filter((name) => new RegExp(`\\b${name.replace('.', '\\.')}\\b`).test(source))
}

it('queries name tables by their declarations only', () => {
  const sources = globSync('read-api/**/*.ts', { cwd: root })
  expect(sources.length).toBeGreaterThan(30)
  const found = sources.flatMap((path) =>
    unchecked(readFileSync(join(root, path), 'utf8')).map((name) => `${path}: ${name}`),
  )
  expect(found).toEqual([])
})

it('a table that a query names as text is reported', () => {
  expect(unchecked('select from users.user_roles as o')).toEqual(['users.user_roles'])
  expect(unchecked('(select jsonb_agg(x) from (?) as x)')).toEqual(['jsonb_agg'])
})
