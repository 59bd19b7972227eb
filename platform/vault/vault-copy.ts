import { Buffer } from 'node:buffer'
import { escapeIdentifier } from 'pg'
import { createPool, type Pool } from '../database/database.ts'
import { VaultRows } from './vault-rows.ts'
import type { MasterKeyRing } from './master-keys.ts'

/** A table of the vault, as lines of JSON. Its secrets stay wrapped. */
export interface CopiedTable {
  readonly name: string
  readonly lines: AsyncIterable<Buffer>
}

/** What such a line of `vault_secrets` says without its secret. */
export interface CopiedSecret {
  readonly kind: string
  readonly id: string
  readonly isDestroyed: boolean
}

/** Begins the names of the vault's tables. A program that watches a database may have one of its own beside them. */
const ownTables = 'vault_'
const rowsAtOnce = 500
/** Of one statement, in milliseconds. */
const statementTimeoutMs = 600_000

/** The tables at one moment. Read each one to its end before the next. */
export async function* copyVault(url: string): AsyncGenerator<CopiedTable, void, undefined> {
  const pool = createPool({ url, max: 1, name: 'platform backup', statementTimeoutMs })
  try {
    const client = await pool.connect()
    try {
      await client.query('begin isolation level repeatable read read only')
      // Before the snapshot. A rewriting of the table keeps the rows that an older snapshot sees, destroyed keys among
      // them. So it must wait for the end of this copy.
      await client.query('lock table vault_secrets in access share mode')
      const { rows } = await client.query<{ name: string }>(
        'select tablename as name from pg_tables where schemaname = current_schema() and starts_with(tablename, $1) order by 1',
        [ownTables],
      )
      for (const { name } of rows) yield { name, lines: linesOf(client, name) }
      await client.query('commit')
    } finally {
      // The end of the connection ends a transaction that was cut off.
      client.release(true)
    }
  } finally {
    await pool.end()
  }
}

async function* linesOf(client: Pick<Pool, 'query'>, table: string): AsyncGenerator<Buffer, void, undefined> {
  await client.query(
    `declare copied no scroll cursor for select to_jsonb(t)::text as line from ${escapeIdentifier(table)} t`,
  )
  for (;;) {
    const { rows } = await client.query<{ line: string }>(`fetch ${rowsAtOnce} from copied`)
    if (rows.length === 0) break
    yield Buffer.from(rows.map(({ line }) => `${line}\n`).join(''))
  }
  await client.query('close copied')
}

/** Takes in the tables of a copy. `close` ends it. */
export interface VaultRestore {
  /** Rows as lines of JSON. @throws Error for a table that this version does not have */
  table(name: string, lines: AsyncIterable<string>): Promise<void>
  /** Marks keys of subjects as destroyed, whether they exist or not. */
  destroySubjects(ids: AsyncIterable<string>): Promise<number>
  /** Rows of `vault_erasures` of another copy, as lines of JSON. Those that exist stay. */
  addErasures(lines: AsyncIterable<string>): Promise<void>
  close(): Promise<void>
}

/** @throws Error if the vault has secrets already */
export async function openVaultRestore(url: string, masterKeys: MasterKeyRing): Promise<VaultRestore> {
  const pool = createPool({ url, max: 1, name: 'platform restore', statementTimeoutMs })
  try {
    const vaultRows = new VaultRows(pool, masterKeys)
    await vaultRows.migrate()
    const { rows } = await pool.query('select from vault_secrets limit 1')
    if (rows.length > 0) throw new Error('the database of the vault is not empty')
    return {
      async table(name, lines) {
        // Earlier versions copied every table of the schema.
        if (!name.startsWith(ownTables)) return
        const known = await pool.query('select from pg_tables where schemaname = current_schema() and tablename = $1', [
          name,
        ])
        if (known.rows.length === 0) throw new Error(`the backup has a table ${name}: a newer version made it`)
        const insert = `insert into ${escapeIdentifier(name)} select * from jsonb_populate_recordset(null::${escapeIdentifier(name)}, $1::jsonb)`
        for await (const batch of inBatches(lines)) await pool.query(insert, [`[${batch.join(',')}]`])
      },
      async destroySubjects(ids) {
        let count = 0
        for await (const id of ids) {
          await vaultRows.destroy('subject', id)
          count += 1
        }
        return count
      },
      async addErasures(lines) {
        const insert = `insert into vault_erasures
          select * from jsonb_populate_recordset(null::vault_erasures, $1::jsonb) on conflict do nothing`
        for await (const batch of inBatches(lines)) await pool.query(insert, [`[${batch.join(',')}]`])
      },
      close: () => pool.end(),
    }
  } catch (error) {
    await pool.end()
    throw error
  }
}

async function* inBatches(lines: AsyncIterable<string>): AsyncGenerator<readonly string[], void, undefined> {
  let batch: string[] = []
  for await (const line of lines) {
    batch.push(line)
    if (batch.length < rowsAtOnce) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
