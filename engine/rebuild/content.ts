import type { PoolClient } from 'pg'
import type { Position } from '../../platform/kit/positions.ts'
import type { Table } from '../projections/projector.ts'
import { quoted } from '../projections/row-statements.ts'
import { firstDifference, type Difference } from './first-difference.ts'
import { Pages, type Side } from './pages.ts'

/** The serving copy and the filled one, both at `position`. */
export interface Comparison {
  readonly position: Position
  readonly isEqual: boolean
  readonly tables: readonly TableComparison[]
  /** Absent if equal. Contains values of key columns only. */
  readonly difference?: Difference
}

interface TableComparison {
  readonly table: string
  readonly rows: number
  readonly copyRows: number
  /** SHA-256 over the hashes of the rows in key order, hexadecimal. Empty if rows can only be counted. */
  readonly hash: string
  readonly copyHash: string
}

/** Starts a transaction with a fixed snapshot and fixed text formats, so both sides produce equal texts. */
export async function beginSnapshot(client: PoolClient): Promise<void> {
  await client.query('begin isolation level repeatable read read only')
  await client.query(`set local timezone = 'UTC'; set local statement_timeout = 0`)
}

/** Compares two copies page by page in key order. Each side holds a snapshot. */
export async function compareContent(
  serving: Side,
  copy: Side,
  position: Position,
  signal?: AbortSignal,
): Promise<Comparison> {
  const tables: TableComparison[] = []
  let difference: Difference | undefined
  for (const table of copy.tables) {
    const stored = serving.tables.find(({ name }) => name === table.name)
    if (stored === undefined || !(await isThere(serving, table))) {
      difference ??= { kind: 'shape', table: table.name, columns: [] }
      continue
    }
    const common = commonPart(stored, table)
    const compared = common.isKeyed
      ? await compareTable(serving, copy, common.table, signal)
      : { table: await countTable(serving, copy, table) }
    tables.push(compared.table)
    difference ??=
      common.onOneSide.length > 0 || !common.isKeyed
        ? { kind: 'shape', table: table.name, columns: common.onOneSide }
        : compared.difference
  }
  const gone = serving.tables.find(({ name }) => !copy.tables.some((table) => table.name === name))
  if (gone !== undefined) difference ??= { kind: 'shape', table: gone.name, columns: [] }
  return { position, isEqual: difference === undefined, tables, ...(difference === undefined ? {} : { difference }) }
}

async function isThere({ client, schema }: Side, { name }: Table): Promise<boolean> {
  const { rows } = await client.query<{ found: string | null }>('select to_regclass($1)::text as found', [
    `${quoted(schema)}.${quoted(name)}`,
  ])
  return rows[0]?.found !== null
}

interface CommonPart {
  readonly table: Table
  /** Columns that exist on one side only, or differ in type. */
  readonly onOneSide: readonly string[]
  /** Rows can be matched only if both sides have the same keys. */
  readonly isKeyed: boolean
}

function commonPart(stored: Table, table: Table): CommonPart {
  const isSame = (name: string) => JSON.stringify(stored.columns[name]) === JSON.stringify(table.columns[name])
  const names = [...new Set([...Object.keys(stored.columns), ...Object.keys(table.columns)])]
  const columns = Object.fromEntries(Object.entries(table.columns).filter(([name]) => isSame(name)))
  const onOneSide = names.filter((name) => !isSame(name))
  const isKeyed = String(stored.primaryKey) === String(table.primaryKey) && table.primaryKey.every(isSame)
  return { table: { ...table, columns }, onOneSide, isKeyed }
}

async function countTable(serving: Side, copy: Side, { name }: Table): Promise<TableComparison> {
  const [rows, copyRows] = await Promise.all(
    [serving, copy].map(async ({ client, schema }) => {
      const { rows: counted } = await client.query<{ rows: number }>(
        `select count(*)::int as rows from ${quoted(schema)}.${quoted(name)}`,
      )
      return counted[0]?.rows ?? 0
    }),
  )
  return { table: name, rows: rows ?? 0, copyRows: copyRows ?? 0, hash: '', copyHash: '' }
}

async function compareTable(
  serving: Side,
  copy: Side,
  table: Table,
  signal: AbortSignal | undefined,
): Promise<{ table: TableComparison; difference?: Difference }> {
  const sides = [new Pages(serving, table), new Pages(copy, table)] as const
  let difference: Difference | undefined
  while (sides.some((side) => !side.isAtEnd)) {
    signal?.throwIfAborted()
    const after = sides[0].last
    const [left, right] = await Promise.all(sides.map((side) => side.next()))
    // Before the first page that differs, both sides are at the same key.
    if (difference === undefined && left !== right) difference = await firstDifference(serving, copy, table, after)
  }
  const [served, filled] = sides
  const compared = {
    table: table.name,
    rows: served.rows,
    copyRows: filled.rows,
    hash: served.digest(),
    copyHash: filled.digest(),
  }
  return difference === undefined ? { table: compared } : { table: compared, difference }
}
