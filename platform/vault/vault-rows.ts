import type { Pool } from 'pg'
import { queryPrepared } from '../database/prepared.ts'
import { inTransaction } from '../database/transaction.ts'
import { errorCode } from '../kit/error-codes.ts'
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

/** An entry of the ledger of erasures: ids and the time, signed by the vault. */
export interface SignedErasure {
  readonly orgId: string
  readonly subjectId: string
  /** RFC 3339, UTC, milliseconds. */
  readonly erasedAt: string
  /** Hex. */
  readonly signature: string
}

/** How many secrets of a kind a master key wraps. */
export interface WrappedCount {
  readonly kind: string
  readonly masterKeyId: string
  readonly count: number
  readonly oldest: Date
  readonly newest: Date
}

export interface StoredKey {
  readonly id: string
  readonly masterKeyId: string
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

const destroying = `insert into vault_secrets (kind, id, wrapped, master_key_id, destroyed_at)
  values ($1, $2, null, $3, clock_timestamp())
  on conflict (kind, id) do update set wrapped = null, destroyed_at = coalesce(vault_secrets.destroyed_at, clock_timestamp())`

interface ErasureRow {
  readonly org_id: string
  readonly subject_id: string
  readonly erased_at: Date
  readonly signature: string
}

const erasureColumns = 'org_id, subject_id, erased_at, signature'

function erasureOf({ org_id, subject_id, erased_at, signature }: ErasureRow): SignedErasure {
  return { orgId: org_id, subjectId: subject_id, erasedAt: erased_at.toISOString(), signature }
}

/** Lock for the creation of the tables. The number was chosen at random once. */
const migrationLock = 4_127_093_311

/** SQLSTATE */
const insufficientPrivilege = '42501'

/** How long a rewriting waits for a copy of the table or a statement, in milliseconds. */
const rewriteLockMs = 1_000

/** A rewriting takes half a minute for a million rows on a busy machine. Other statements end sooner. In milliseconds. */
const rewriteTimeoutMs = 1_800_000

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
        create table if not exists vault_rewrites (
          only_row boolean primary key default true check (only_row),
          begun_at timestamptz not null
        )`)
      await client.query(`
        create table if not exists vault_erasures (
          org_id text not null,
          subject_id text not null,
          erased_at timestamptz not null,
          signature text not null,
          primary key (org_id, subject_id)
        )`)
      await client.query(`
        create index if not exists vault_period_keys on vault_secrets ((split_part(id, '@', 2) collate "C"))
        where kind = 'subject' and destroyed_at is null and id like '%@%'`)
      await client.query(`
        create index if not exists vault_master_keys on vault_secrets (master_key_id collate "C", kind, id)
        where wrapped is not null`)
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

  /**
   * Adds a secret that is newer than all of its kind. The clock of the database may have been ahead when one of them was
   * made: it must not count as newer than this one.
   */
  async addNewest(kind: string, id: string, secret: Uint8Array): Promise<void> {
    const { wrapped, masterKeyId } = wrapSecret(this.#ring, kind, id, secret)
    await this.#pool.query(
      `insert into vault_secrets (kind, id, wrapped, master_key_id, created_at)
       select $1::text, $2::text, $3::bytea, $4::text,
         greatest(clock_timestamp(), max(created_at) + interval '1 microsecond')
       from vault_secrets where kind = $1 and destroyed_at is null`,
      [kind, id, wrapped, masterKeyId],
    )
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
    await this.#pool.query(destroying, [kind, id, this.#ring.wrapWith.id])
  }

  /** Destroys the key of a subject and enters its erasure, both or neither. An entry that exists stays. */
  async destroyAndEnter({ orgId, subjectId, erasedAt, signature }: SignedErasure): Promise<SignedErasure> {
    return inTransaction(this.#pool, async (client) => {
      await client.query(destroying, ['subject', `${orgId}/${subjectId}`, this.#ring.wrapWith.id])
      const { rows } = await client.query<ErasureRow>(
        `insert into vault_erasures (org_id, subject_id, erased_at, signature) values ($1, $2, $3, $4)
         on conflict (org_id, subject_id) do update set signature = vault_erasures.signature
         returning ${erasureColumns}`,
        [orgId, subjectId, erasedAt, signature],
      )
      return rows.map(erasureOf)[0] ?? { orgId, subjectId, erasedAt, signature }
    })
  }

  /** Entries in the order of their ids, behind the given one. */
  async erasuresAfter(orgId: string, subjectId: string, limit: number): Promise<readonly SignedErasure[]> {
    const { rows } = await this.#pool.query<ErasureRow>(
      `select ${erasureColumns} from vault_erasures where (org_id, subject_id) > ($1, $2)
       order by org_id, subject_id limit $3`,
      [orgId, subjectId, limit],
    )
    return rows.map(erasureOf)
  }

  /** Those of the subjects whose key exists or was destroyed. */
  async presentOf(ids: readonly string[]): Promise<readonly string[]> {
    const { rows } = await this.#pool.query<Pick<Row, 'id'>>(
      `select id from vault_secrets where kind = 'subject' and id = any($1)`,
      [ids],
    )
    return rows.map(({ id }) => id)
  }

  /** Those of the subjects whose key exists. */
  async livingOf(ids: readonly string[]): Promise<readonly string[]> {
    const { rows } = await this.#pool.query<Pick<Row, 'id'>>(
      `select id from vault_secrets where kind = 'subject' and id = any($1) and destroyed_at is null`,
      [ids],
    )
    return rows.map(({ id }) => id)
  }

  /**
   * Checks that the ring opens the newest secret of each master key. Jumps through an index from key to key.
   * @throws MasterKeyError that names the key which is missing or wrong
   */
  async requireMasterKeys(): Promise<void> {
    const { rows } = await this.#pool.query<Row & { kind: string }>(
      `with recursive used (id) as (
         (select master_key_id collate "C" from vault_secrets where wrapped is not null order by 1 limit 1)
         union all
         select (select master_key_id collate "C" from vault_secrets
           where wrapped is not null and master_key_id collate "C" > used.id order by 1 limit 1) from used where used.id is not null
       )
       select one.* from used cross join lateral (
         select kind, ${columns} from vault_secrets
         where wrapped is not null and master_key_id collate "C" = used.id order by kind, id limit 1
       ) one`,
    )
    for (const { kind, ...row } of rows) this.#opened(kind, row)
  }

  /** All secrets that exist, by kind and master key. Reads every row. */
  async counts(): Promise<readonly WrappedCount[]> {
    const { rows } = await this.#pool.query<{
      kind: string
      master_key_id: string
      count: number
      oldest: Date
      newest: Date
    }>(
      `select kind, master_key_id, count(*)::integer as count, min(created_at) as oldest, max(created_at) as newest
       from vault_secrets where wrapped is not null group by kind, master_key_id order by kind, min(created_at)`,
    )
    return rows.map(({ master_key_id: masterKeyId, ...row }) => ({ ...row, masterKeyId }))
  }

  /** The keys of a kind that exist, newest first, without their secrets. */
  async storedKeys(kind: string): Promise<readonly StoredKey[]> {
    const { rows } = await this.#pool.query<Row>(
      `select ${columns} from vault_secrets where kind = $1 and wrapped is not null order by created_at desc, id`,
      [kind],
    )
    return rows.map((row) => ({ id: row.id, masterKeyId: row.master_key_id, createdAt: row.created_at }))
  }

  /** The number of secrets that another master key than the newest one wraps. */
  async countOfOlder(): Promise<number> {
    const { rows } = await this.#pool.query<{ count: number }>(
      `select count(*)::integer as count from vault_secrets where wrapped is not null and master_key_id collate "C" <> $1`,
      [this.#ring.wrapWith.id],
    )
    return rows[0]?.count ?? 0
  }

  /**
   * Wraps up to `limit` secrets with the newest master key. A secret that is replaced or destroyed meanwhile stays as it
   * then is.
   * @returns how many it has read; 0 if none was left
   * @throws MasterKeyError if one of them does not open; then none of them is changed
   */
  async rewrapSome(limit: number): Promise<number> {
    const { wrapWith } = this.#ring
    const { rows } = await this.#pool.query<{ kind: string; id: string; wrapped: Buffer; master_key_id: string }>(
      `select kind, id, wrapped, master_key_id from vault_secrets
       where wrapped is not null and master_key_id collate "C" <> $1 limit $2`,
      [wrapWith.id, limit],
    )
    const renewed = rows.map(({ kind, id, wrapped, master_key_id: masterKeyId }) => {
      const secret = unwrapSecret(this.#ring, kind, id, { wrapped, masterKeyId })
      return wrapSecret(this.#ring, kind, id, secret).wrapped
    })
    await this.#pool.query(
      `update vault_secrets v set wrapped = x.after, master_key_id = $5
       from unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[]) as x (kind, id, before, after)
       where v.kind = x.kind and v.id = x.id and v.wrapped = x.before`,
      [
        rows.map(({ kind }) => kind),
        rows.map(({ id }) => id),
        rows.map(({ wrapped }) => wrapped),
        renewed,
        wrapWith.id,
      ],
    )
    return rows.length
  }

  /**
   * Writes the table anew, so that its file has no older versions of rows. Locks it meanwhile, for as long as its rows
   * need. All others queue behind it while it waits for the lock, so it gives up soon. Then a later try follows.
   * @returns when it began, by the clock of the database
   */
  async rewriteFile(): Promise<Date> {
    const { rows } = await this.#pool.query<{ begun_at: Date }>('select clock_timestamp() as begun_at')
    const [begun] = rows
    if (begun === undefined) throw new Error('the database has no clock')
    await this.#unhurried('vacuum (full) vault_secrets')
    return begun.begun_at
  }

  /** Runs statements that take as long as the table needs, one after another. In no transaction. */
  async #unhurried(...statements: readonly string[]): Promise<void> {
    const client = await this.#pool.connect()
    let isUsable = false
    try {
      // The limits are those of the connection, so they are reset.
      await client.query(`set lock_timeout = ${rewriteLockMs}`)
      await client.query(`set statement_timeout = ${rewriteTimeoutMs}`)
      for (const text of statements) {
        const unhurried = { text, query_timeout: rewriteTimeoutMs * 1.2 }
        await client.query(unhurried)
      }
      await client.query('reset lock_timeout')
      await client.query('reset statement_timeout')
      isUsable = true
    } finally {
      client.release(!isUsable)
    }
  }

  /** A rewriting that began then is complete. One of the future, by a clock that was ahead, is forgotten. */
  async enterRewrite(begunAt: Date): Promise<void> {
    await this.#pool.query(
      `insert into vault_rewrites (begun_at) values ($1)
       on conflict (only_row) do update set begun_at = excluded.begun_at
       where vault_rewrites.begun_at < excluded.begun_at or vault_rewrites.begun_at > clock_timestamp()`,
      [begunAt],
    )
  }

  /**
   * Whether the newest rewriting began after the key was destroyed, and how long ago it began, in milliseconds. All by
   * the clock of the database. If it was ahead then, nobody knows, so the rewriting does not count.
   */
  async lastRewrite(id: string): Promise<{ readonly isAfterErasure: boolean; readonly ageMs: number }> {
    const { rows } = await this.#pool.query<{ after: boolean | null; age_ms: number }>(
      `select begun_at > (select destroyed_at from vault_secrets where kind = 'subject' and id = $1) as after,
         (extract(epoch from clock_timestamp() - begun_at) * 1000)::float8 as age_ms
       from vault_rewrites where begun_at <= clock_timestamp()`,
      [id],
    )
    const [row] = rows
    return row === undefined
      ? { isAfterErasure: false, ageMs: Infinity }
      : { isAfterErasure: row.after === true, ageMs: row.age_ms }
  }

  /**
   * Begins another file of the write-ahead log and ends the use of the ones before. False if the role of the vault has
   * no right to it.
   */
  async switchLog(): Promise<boolean> {
    try {
      await this.#unhurried('select pg_switch_wal()', 'checkpoint')
      return true
    } catch (error) {
      if (errorCode(error) === insufficientPrivilege) return false
      throw error
    }
  }

  /** Newest master keys of the processes that are connected, by the names of their connections. */
  async wrappingElsewhere(name: string): Promise<readonly string[]> {
    const { rows } = await this.#pool.query<{ name: string }>(
      `select distinct application_name as name from pg_stat_activity
       where datname = current_database() and starts_with(application_name, $1)`,
      [name],
    )
    return rows.map((row) => row.name.slice(name.length))
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
