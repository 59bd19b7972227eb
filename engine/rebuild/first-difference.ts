import { createHash } from 'node:crypto'
import { columnType, type Table } from '../projections/projector.ts'
import { quoted } from '../projections/row-statements.ts'
import { keyTexts, pageOf, pageRows, type Side } from './pages.ts'

/** Keys that are ids or numbers are shown in full, others as the start of a hash. */
export type Difference =
  | {
      readonly kind: 'changed'
      readonly table: string
      readonly key: Readonly<Record<string, string>>
      readonly columns: readonly string[]
    }
  /** `missing`: the log has the row, the serving copy does not. `surplus`: the reverse. */
  | { readonly kind: 'missing' | 'surplus'; readonly table: string; readonly key: Readonly<Record<string, string>> }
  /** The table or these columns exist on one side only. */
  | { readonly kind: 'shape'; readonly table: string; readonly columns: readonly string[] }

interface PageRow {
  readonly key: readonly string[]
  /** One hash per column, in the order of the table's columns. The values themselves stay in the database. */
  readonly hashes: readonly string[]
}

/**
 * The first row after a key, in key order, that only one side has or that differs. Undefined if the pages are equal.
 */
export async function firstDifference(
  serving: Side,
  copy: Side,
  table: Table,
  after: readonly string[] | undefined,
): Promise<Difference | undefined> {
  const [served, filled] = await Promise.all([rowsOf(serving, table, after), rowsOf(copy, table, after)])
  for (let index = 0; index < Math.max(served.length, filled.length); index += 1) {
    const [own, other] = [served[index], filled[index]]
    if (own !== undefined && other !== undefined && isSameKey(own, other)) {
      const columns = Object.keys(table.columns).filter((_, column) => own.hashes[column] !== other.hashes[column])
      if (columns.length > 0) return { kind: 'changed', table: table.name, key: shownKey(table, own), columns }
      continue
    }
    if (other === undefined || (own !== undefined && (await isBefore(serving, table, own, other)))) {
      return own && { kind: 'surplus', table: table.name, key: shownKey(table, own) }
    }
    return { kind: 'missing', table: table.name, key: shownKey(table, other) }
  }
  return undefined
}

async function rowsOf(side: Side, table: Table, after: readonly string[] | undefined): Promise<PageRow[]> {
  const hashes = Object.keys(table.columns)
    .map((name) => `coalesce(md5(${quoted(name)}::text), '')`)
    .join(', ')
  const order = table.primaryKey.map(quoted).join(', ')
  const { rows } = await side.client.query<{ key: readonly string[]; hashes: readonly string[] }>(
    `select to_jsonb(array[${keyTexts(table)}]) as key, to_jsonb(array[${hashes}]) as hashes from ${pageOf(side, table, after)} page order by ${order}`,
    [...(after ?? []), pageRows],
  )
  return rows
}

function isSameKey(a: PageRow, b: PageRow): boolean {
  return a.key.every((value, index) => value === b.key[index])
}

/** Uses the database's order, because only the database knows the collation of keys. */
async function isBefore({ client }: Side, table: Table, a: PageRow, b: PageRow): Promise<boolean> {
  const values = (offset: number) =>
    table.primaryKey.map((name, index) => `$${offset + index + 1}::${columnType(table.columns[name])}`).join(', ')
  const width = table.primaryKey.length
  const { rows } = await client.query<{ before: boolean }>(`select (${values(0)}) < (${values(width)}) as before`, [
    ...a.key,
    ...b.key,
  ])
  return rows[0]?.before === true
}

/** A key may contain more than ids, so only ids and numbers are shown. */
function shownKey(table: Table, { key }: PageRow): Readonly<Record<string, string>> {
  return Object.fromEntries(
    table.primaryKey.map((name, index) => {
      const value = key[index] ?? ''
      const isId = ['uuid', 'integer', 'bigint'].includes(columnType(table.columns[name]))
      return [name, isId ? value : `#${createHash('sha256').update(value).digest('hex').slice(0, 12)}`]
    }),
  )
}
