import type { RuntimeTables } from '../../engine/projections/schema.ts'
import type { RelayStatus } from '../../engine/relay/relay.ts'
import type { Pool } from '../../platform/database/database.ts'
import { contractVersion } from '../../platform/http/common-headers.ts'
import { formatPosition } from '../../platform/kit/positions.ts'
import type { Health } from '../../platform/observability/health.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { repeat, type Repeating } from './repeating.ts'

/** The processes that run. */
export const processTables: RuntimeTables = {
  created: `
    create table if not exists runtime.processes (
      id uuid primary key,
      roles text[] not null,
      version text not null,
      profile text not null,
      started_at timestamptz not null,
      seen_at timestamptz not null,
      checks jsonb not null,
      relays jsonb not null default '[]'
    )
  `,
}

type CheckStatus = 'ok' | 'warning' | 'failing'

/** A check of `/health`, and since when it has this status. */
interface StoredCheck {
  readonly name: string
  readonly status: CheckStatus
  readonly detail: string | null
  readonly since: string
}

export interface ProcessLife {
  readonly id: string
  readonly roles: readonly string[]
  readonly version: string
  readonly profile: string
  readonly startedAt: Date
  readonly seenAt: Date
  readonly status: 'running' | 'silent'
  readonly checks: readonly StoredCheck[]
  /** Of its processor. */
  readonly relays: readonly StoredRelay[]
}

/** The relay of a channel in one process. */
interface StoredRelay {
  readonly channel: string
  readonly state: RelayStatus['state']
  readonly position: string | null
  /** When its state or position last changed. */
  readonly moved_at: string
}

/** In milliseconds. */
const writeEveryMs = 5_000
/** A process that has died is shown this long. Also the bound of the table, for any number of starts. */
const keptSeconds = 600
const silentAfterSeconds = 15

/**
 * Each process stores that it runs, with its checks, every five seconds. The clock is that of the database, so that the
 * clocks of machines need not agree. An orderly stop removes the process.
 */
export function showSignsOfLife(options: {
  readonly id: string
  readonly roles: readonly string[]
  readonly health: Health
  readonly relays?: readonly { status(): RelayStatus }[]
  readonly pool: Pool
  readonly logger: Logger
  readonly now: () => Date
  readonly everyMs?: number
}): Repeating {
  const { id, roles, health, relays = [], pool, logger, now, everyMs = writeEveryMs } = options
  const startedAt = now()
  let known: readonly StoredCheck[] = []
  let knownRelays: readonly StoredRelay[] = []

  async function write(): Promise<void> {
    const { checks } = await health.report('full')
    const at = now().toISOString()
    known = checks.map(({ name, status, detail }) => {
      const before = known.find((check) => check.name === name)
      return { name, status, detail: detail ?? null, since: before?.status === status ? before.since : at }
    })
    knownRelays = relays.map((relay) => {
      const { channel, state, position } = relay.status()
      const place = position === undefined ? null : formatPosition(position)
      const before = knownRelays.find((one) => one.channel === channel)
      const isSame = before?.state === state && before.position === place
      return { channel, state, position: place, moved_at: isSame ? before.moved_at : at }
    })
    await pool.query(
      `insert into runtime.processes (id, roles, version, profile, started_at, seen_at, checks, relays)
       values ($1, $2, $3, $4, $5, clock_timestamp(), $6, $7)
       on conflict (id) do update set seen_at = excluded.seen_at, checks = excluded.checks, relays = excluded.relays`,
      [id, roles, contractVersion, health.profile, startedAt, JSON.stringify(known), JSON.stringify(knownRelays)],
    )
    await pool.query(
      `delete from runtime.processes where seen_at < clock_timestamp() - make_interval(secs => ${keptSeconds})`,
    )
  }

  return repeat({
    everyMs,
    work: write,
    last: async () => void (await pool.query('delete from runtime.processes where id = $1', [id])),
    logger,
    component: 'signs of life',
  })
}

interface ProcessRow {
  id: string
  roles: string[]
  version: string
  profile: string
  started_at: Date
  seen_at: Date
  is_silent: boolean
  checks: StoredCheck[]
  relays: StoredRelay[]
}

/** The processes that run, and those that have stopped without an orderly stop, the oldest start first. */
export async function readProcesses(pool: Pool): Promise<readonly ProcessLife[]> {
  const { rows } = await pool.query<ProcessRow>(
    `select *, seen_at < clock_timestamp() - make_interval(secs => ${silentAfterSeconds}) as is_silent from runtime.processes
     where seen_at >= clock_timestamp() - make_interval(secs => ${keptSeconds}) order by started_at, id limit 1000`,
  )
  return rows.map(
    ({ id, roles, version, profile, started_at: startedAt, seen_at: seenAt, is_silent, checks, relays }) => ({
      id,
      roles,
      version,
      profile,
      startedAt,
      seenAt,
      status: is_silent ? 'silent' : 'running',
      checks,
      relays,
    }),
  )
}
