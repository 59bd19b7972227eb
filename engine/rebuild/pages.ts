import { createHash } from 'node:crypto'
import type { PoolClient } from 'pg'
import { columnType, type Table } from '../projections/projector.ts'
import { quoted } from '../projections/row-statements.ts'

/** One side of a comparison: a schema, seen by one transaction. */
export interface Side {
  readonly client: PoolClient
  readonly schema: string
  readonly tables: readonly Table[]
}

/** Number of rows in one question. Postgres hashes each row, then the hashes: together the rows may exceed its memory. */
export const pageRows = 5_000

/** The pages of one table. Postgres hashes each one. */
export class Pages {
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

  /** The hash of the next page; undefined after the end. */
  async next(): Promise<string | undefined> {
    if (this.isAtEnd) return undefined
    const { primaryKey } = this.#table
    const columns = Object.keys(this.#table.columns).sort().map(quoted).join(', ')
    const { rows } = await this.#side.client.query<{ rows: number; hash: string; last: string[] | null }>(
      `select count(*)::int as rows, encode(sha256(coalesce(string_agg(line, '' order by ordinal), '')), 'hex') as hash,
         (array_agg(to_jsonb(key) order by ordinal desc))[1] as last
       from (select sha256(convert_to(row(${columns})::text, 'UTF8')) as line, array[${keyTexts(this.#table)}] as key, row_number() over (order by ${primaryKey.map(quoted).join(', ')}) as ordinal
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

/** The key columns of a row as texts that convert back to equal values. */
export function keyTexts({ primaryKey }: Table): string {
  return primaryKey.map((name) => `${quoted(name)}::text`).join(', ')
}

/** The rows after a key. The last parameter is their number; the parameters before it are the key's values. */
export function pageOf({ schema }: Pick<Side, 'schema'>, table: Table, after: readonly string[] | undefined): string {
  const key = table.primaryKey.map(quoted).join(', ')
  const behind = table.primaryKey.map((name, index) => `$${index + 1}::${columnType(table.columns[name])}`).join(', ')
  const where = after === undefined ? '' : `where (${key}) > (${behind})`
  return `(select * from ${quoted(schema)}.${quoted(table.name)} ${where} order by ${key} limit $${(after?.length ?? 0) + 1})`
}
