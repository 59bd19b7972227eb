import type { Pool } from 'pg'
import { queryPrepared } from '../database/prepared.ts'
import { inTransaction } from '../database/transaction.ts'
import { unwrapSecret, wrapSecret } from './wrapping.ts'
import type { MasterKeyRing } from './master-keys.ts'

/** A record as it is stored now. `wrapped` identifies this version of it. */
export interface StoredRecord {
  readonly bytes: Uint8Array
  readonly wrapped: Uint8Array
}

/** A secret from the database; `'destroyed'` only if its row is marked so. */
export type StoredSecret = Uint8Array | 'destroyed'

export interface NamedSecret {
  readonly id: string
  readonly secret: Uint8Array
  readonly createdAt: Date
}

interface Row {
  readonly id: string
  readonly wrapped: Buffer | null
  readonly master_key_id: string
  readonly created_at: Date
  readonly destroyed_at: Date | null
}

const columns = 'id, wrapped, master_key_id, created_at, destroyed_at'

/** Lock for the creation of the tables. The number was chosen at random once. */
const migrationLock = 4_127_093_311

/** The clocks of two processes differ by less, in milliseconds. */
const clockGapMs = 600_000

/**
 * The tables of the vault: the secrets, and ids that were used and must not be used again. Every secret is wrapped. A destroyed secret keeps its row, so it cannot be created
 * again.
 */
export class VaultRows {
  readonly #pool: Pool
  readonly #ring: MasterKeyRing

  constructor(pool: Pool, ring: MasterKeyRing) {
    this.#pool = pool
    this.#ring = ring
  }

  /** Creates the tables. Safe to repeat, and in several processes at once. */
  async migrate(): Promise<void> {
    await inTransaction(this.#pool, async (client) => {
      await client.query('select pg_advisory_xact_lock($1)', [migrationLock])
      await client.query(`
        create table if not exists vault_secrets (
          kind text not null,
          id text not null,
          wrapped bytea,
          master_key_id text not null,
          created_at timestamptz not null default clock_timestamp(),
          destroyed_at timestamptz,
          primary key (kind, id),
          check ((wrapped is null) = (destroyed_at is not null))
        )`)
      await client.query(`
        create table if not exists vault_used_once (
          id text primary key,
          usable_until timestamptz not null
        )`)
      await client.query(`
        create index if not exists vault_period_keys on vault_secrets ((split_part(id, '@', 2) collate "C"))
        where kind = 'subject' and destroyed_at is null and id like '%@%'`)
      await client.query('create index if not exists vault_used_once_until on vault_used_once (usable_until)')
    })
  }

  /** Undefined if there is no row. */
  async read(kind: string, id: string): Promise<StoredSecret | undefined> {
    return (await this.readMany(kind, [id])).get(id)
  }

  /** By id. The result lacks ids without a row. Rejects for all if one row does not open. */
  async readMany(kind: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredSecret>> {
    const { rows } = await queryPrepared<Row>(
      this.#pool,
      `select ${columns} from vault_secrets where kind = $1 and id = any($2)`,
      [kind, ids],
    )
    return new Map(rows.map((row) => [row.id, this.#opened(kind, row)]))
  }

  /** All secrets that are not destroyed, newest first. */
  async readAll(kind: string): Promise<readonly NamedSecret[]> {
    const { rows } = await this.#pool.query<Row>(
      `select ${columns} from vault_secrets
       where kind = $1 and destroyed_at is null order by created_at desc, id`,
      [kind],
    )
    return rows.flatMap((row) => {
      const secret = this.#opened(kind, row)
      return secret === 'destroyed' ? [] : [{ id: row.id, secret, createdAt: row.created_at }]
    })
  }

  /**
   * The row, with `candidate` if there was none. So every process gets the same secret. Another process may store its
   * own between both halves of the statement; then the statement returns nothing.
   */
  async getOrCreate(kind: string, id: string, candidate: () => Uint8Array): Promise<StoredSecret> {
    const { wrapped, masterKeyId } = wrapSecret(this.#ring, kind, id, candidate())
    const { rows } = await queryPrepared<Row>(
      this.#pool,
      `with present as (select ${columns} from vault_secrets where kind = $1 and id = $2),
         added as (
           insert into vault_secrets (kind, id, wrapped, master_key_id)
           select $1::text, $2::text, $3::bytea, $4::text where not exists (select from present)
           on conflict do nothing returning ${columns}
         )
       select * from present union all select * from added`,
      [kind, id, wrapped, masterKeyId],
    )
    const [row] = rows
    const stored = row === undefined ? await this.read(kind, id) : this.#opened(kind, row)
    if (stored === undefined) throw new Error(`the vault lost the ${kind} key it had just stored`)
    return stored
  }

  /** Stores or replaces a secret. A destroyed one stays destroyed. */
  async put(kind: string, id: string, secret: Uint8Array): Promise<StoredSecret> {
    const { wrapped, masterKeyId } = wrapSecret(this.#ring, kind, id, secret)
    const { rowCount } = await this.#pool.query(
      `insert into vault_secrets (kind, id, wrapped, master_key_id) values ($1, $2, $3, $4)
       on conflict (kind, id) do update set wrapped = excluded.wrapped, master_key_id = excluded.master_key_id
       where vault_secrets.destroyed_at is null`,
      [kind, id, wrapped, masterKeyId],
    )
    return rowCount === 0 ? 'destroyed' : secret
  }

  /** Undefined if there is no row. */
  async readRecord(kind: string, id: string): Promise<StoredRecord | undefined> {
    const { rows } = await this.#pool.query<Row>(`select ${columns} from vault_secrets where kind = $1 and id = $2`, [
      kind,
      id,
    ])
    const [row] = rows
    if (row === undefined || row.wrapped === null) return undefined
    const { wrapped, master_key_id: masterKeyId } = row
    return { bytes: unwrapSecret(this.#ring, kind, id, { wrapped, masterKeyId }), wrapped }
  }

  /** Replaces exactly the version that was read. Undefined if another process replaced it before. */
  async replaceRecord(
    kind: string,
    id: string,
    before: StoredRecord | undefined,
    bytes: Uint8Array,
  ): Promise<StoredRecord | undefined> {
    const { wrapped, masterKeyId } = wrapSecret(this.#ring, kind, id, bytes)
    const values = [kind, id, wrapped, masterKeyId]
    const { rowCount } =
      before === undefined
        ? await this.#pool.query(
            `insert into vault_secrets (kind, id, wrapped, master_key_id) values ($1, $2, $3, $4) on conflict do nothing`,
            values,
          )
        : await this.#pool.query(
            `update vault_secrets set wrapped = $3, master_key_id = $4 where kind = $1 and id = $2 and wrapped = $5`,
            [...values, before.wrapped],
          )
    return rowCount === 1 ? { bytes, wrapped } : undefined
  }

  /** Destroys the secret for ever, even if it never existed. */
  async destroy(kind: string, id: string): Promise<void> {
    await this.#pool.query(
      `insert into vault_secrets (kind, id, wrapped, master_key_id, destroyed_at) values ($1, $2, null, $3, clock_timestamp())
       on conflict (kind, id) do update set wrapped = null, destroyed_at = coalesce(vault_secrets.destroyed_at, clock_timestamp())`,
      [kind, id, this.#ring.wrapWith.id],
    )
  }

  /** The ids of subject keys `…/<name>@<period>` that are not destroyed, those of the oldest periods first. */
  async periodKeysBefore(name: string, period: string, limit: number): Promise<readonly string[]> {
    const { rows } = await this.#pool.query<Pick<Row, 'id'>>(
      `select id from vault_secrets
       where kind = 'subject' and destroyed_at is null and id like '%@%' and split_part(id, '@', 2) collate "C" < $2
         and position('/' || $1 || '@' in id) > 0
       order by split_part(id, '@', 2) collate "C" limit $3`,
      [name, period, limit],
    )
    return rows.map(({ id }) => id)
  }

  /** True the first time, in any process. Forgets ids whose time ended well before `now`. */
  async useOnce(id: string, until: Date, now: Date): Promise<boolean> {
    await this.#pool.query('delete from vault_used_once where usable_until < $1', [
      new Date(now.getTime() - clockGapMs),
    ])
    const { rowCount } = await this.#pool.query(
      'insert into vault_used_once (id, usable_until) values ($1, $2) on conflict do nothing',
      [id, until],
    )
    return rowCount === 1
  }

  #opened(kind: string, row: Row): StoredSecret {
    if (row.destroyed_at !== null || row.wrapped === null) return 'destroyed'
    return unwrapSecret(this.#ring, kind, row.id, { wrapped: row.wrapped, masterKeyId: row.master_key_id })
  }
}
