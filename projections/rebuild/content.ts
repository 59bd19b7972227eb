import { createHash } from 'node:crypto'
import type { PoolClient } from 'pg'
import type { Position } from '../../streams/store/positions.ts'
import type { Table } from '../runtime/projector.ts'
import { columnType, quoted } from '../runtime/row-statements.ts'
import { firstDifference } from './first-difference.ts'

/** What serves against what was filled, both at `position`. */
export interface Comparison {
  readonly position: Position
  readonly isEqual: boolean
  readonly tables: readonly TableComparison[]
  /** Absent when equal. Never a value of a column that is no key. */
  readonly difference?: Difference
}

export interface TableComparison {
  readonly table: string
  readonly rows: number
  readonly copyRows: number
  /** SHA-256 over the rows in the order of their keys, hexadecimal. */
  readonly hash: string
  readonly copyHash: string
}

/** Keys that are ids or numbers are shown, others as the beginning of a hash. */
export type Difference =
  | { readonly kind: 'changed'; readonly table: string; readonly key: Readonly<Record<string, string>>; readonly columns: readonly string[] }
  /** `missing`: by the log it is there, the serving copy has it not. `surplus`: the other way round. */
  | { readonly kind: 'missing' | 'surplus'; readonly table: string; readonly key: Readonly<Record<string, string>> }
  /** The table, or these of its columns, exist on one side only. */
  | { readonly kind: 'shape'; readonly table: string; readonly columns: readonly string[] }

/** One side of a comparison: a schema as one transaction sees it. */
export interface Side {
  readonly client: PoolClient
  readonly schema: string
  readonly tables: readonly Table[]
}

/** Rows that Postgres hashes at a time; two answers of a few bytes come of them. */
const pageRows = 5_000

/** Begins a transaction in which all rows stay as they are, and are told in the same words everywhere. */
export async function beginSnapshot(client: PoolClient): Promise<void> {
  await client.query('begin isolation level repeatable read read only')
  await client.query(`set local timezone = 'UTC'; set local statement_timeout = 0`)
}

/** Compares two copies page by page in the order of their keys; each side holds a snapshot. */
export async function compareContent(serving: Side, copy: Side, position: Position, signal?: AbortSignal): Promise<Comparison> {
  const tables: TableComparison[] = []
  let difference: Difference | undefined
  for (const table of copy.tables) {
    const stored = serving.tables.find(({ name }) => name === table.name)
    if (stored === undefined || !(await isThere(serving, table))) {
      difference ??= { kind: 'shape', table: table.name, columns: [] }
      continue
    }
    const common = commonPart(stored, table)
    const compared = await compareTable(serving, copy, common.table, signal)
    tables.push(compared.table)
    difference ??= common.onOneSide.length > 0 ? { kind: 'shape', table: table.name, columns: common.onOneSide } : compared.difference
  }
  const gone = serving.tables.find(({ name }) => !copy.tables.some((table) => table.name === name))
  if (gone !== undefined) difference ??= { kind: 'shape', table: gone.name, columns: [] }
  return { position, isEqual: difference === undefined, tables, ...(difference === undefined ? {} : { difference }) }
}

async function isThere({ client, schema }: Side, { name }: Table): Promise<boolean> {
  const { rows } = await client.query<{ found: string | null }>('select to_regclass($1)::text as found', [`${quoted(schema)}.${quoted(name)}`])
  return rows[0]?.found !== null
}

interface CommonPart {
  readonly table: Table
  /** Columns that only one of them has, or that differ in type. */
  readonly onOneSide: readonly string[]
}

function commonPart(stored: Table, table: Table): CommonPart {
  const isSame = (name: string) => JSON.stringify(stored.columns[name]) === JSON.stringify(table.columns[name])
  const names = [...new Set([...Object.keys(stored.columns), ...Object.keys(table.columns)])]
  const columns = Object.fromEntries(Object.entries(table.columns).filter(([name]) => isSame(name)))
  const onOneSide = names.filter((name) => !isSame(name))
  // Without the same keys the rows cannot be told apart the same way.
  const isKeyed = String(stored.primaryKey) === String(table.primaryKey) && table.primaryKey.every(isSame)
  return { table: { ...table, columns: isKeyed ? columns : table.columns }, onOneSide: isKeyed ? onOneSide : names }
}

async function compareTable(serving: Side, copy: Side, table: Table, signal: AbortSignal | undefined): Promise<{ table: TableComparison; difference?: Difference }> {
  const sides = [new Pages(serving, table), new Pages(copy, table)] as const
  let difference: Difference | undefined
  while (sides.some((side) => !side.isAtEnd)) {
    signal?.throwIfAborted()
    const after = sides[0].last
    const [left, right] = await Promise.all(sides.map((side) => side.next()))
    // Up to the first page that differs both sides stand at the same key.
    if (difference === undefined && left !== right) difference = await firstDifference(serving, copy, table, after, pageRows)
  }
  const [served, filled] = sides
  const compared = { table: table.name, rows: served.rows, copyRows: filled.rows, hash: served.digest(), copyHash: filled.digest() }
  return difference === undefined ? { table: compared } : { table: compared, difference }
}

/** The pages of one table, each hashed by Postgres. */
class Pages {
  rows = 0
  isAtEnd = false
  last: readonly string[] | undefined
  readonly #side: Side
  readonly #table: Table
  readonly #hash = createHash('sha256')

  constructor(side: Side, table: Table) {
    this.#side = side
    this.#table = table
  }

  /** The hash of the next page; undefined behind the end. */
  async next(): Promise<string | undefined> {
    if (this.isAtEnd) return undefined
    const { primaryKey } = this.#table
    const columns = Object.keys(this.#table.columns).sort().map(quoted).join(', ')
    const { rows } = await this.#side.client.query<{ rows: number; hash: string; last: string[] | null }>(
      `select count(*)::int as rows, encode(sha256(convert_to(coalesce(string_agg(line, E'\\n' order by ordinal), ''), 'UTF8')), 'hex') as hash,
         (array_agg(to_jsonb(key) order by ordinal desc))[1] as last
       from (select row(${columns})::text as line, array[${keyTexts(this.#table)}] as key, row_number() over (order by ${primaryKey.map(quoted).join(', ')}) as ordinal
             from ${pageOf(this.#side, this.#table, this.last)} page) numbered`,
      [...(this.last ?? []), pageRows],
    )
    const [page] = rows
    if (page === undefined) throw new TypeError('no answer about a page')
    this.rows += page.rows
    this.isAtEnd = page.rows < pageRows
    this.last = page.last ?? this.last
    this.#hash.update(page.hash)
    return page.hash
  }

  digest(): string {
    return this.#hash.digest('hex')
  }
}

/** The key columns of a row as texts that come back as the same values. */
export function keyTexts({ primaryKey }: Table): string {
  return primaryKey.map((name) => `${quoted(name)}::text`).join(', ')
}

/** The rows behind a key, as many as the last parameter says; the key's values are the parameters before it. */
export function pageOf({ schema }: Pick<Side, 'schema'>, table: Table, after: readonly string[] | undefined): string {
  const key = table.primaryKey.map(quoted).join(', ')
  const behind = table.primaryKey.map((name, index) => `$${index + 1}::${columnType(table.columns[name])}`).join(', ')
  const where = after === undefined ? '' : `where (${key}) > (${behind})`
  return `(select * from ${quoted(schema)}.${quoted(table.name)} ${where} order by ${key} limit $${(after?.length ?? 0) + 1})`
}
