import type { Pool } from '../platform/database/database.ts'
import { pause } from '../platform/kit/backoff.ts'
import type { HealthCheck } from '../platform/observability/health.ts'
import type { Logger } from '../platform/observability/logging.ts'
import type { RuntimeTables } from '../engine/projections/schema.ts'
import type { NotificationSenders } from './notification-senders.ts'

/** The newest report on each provider. */
export const reportTables: RuntimeTables = {
  created: `
    create table if not exists runtime.reports (
      about text primary key,
      is_well boolean not null,
      reported_at timestamptz not null
    )
  `,
}

/** Between two reports. Milliseconds. */
const intervalMs = 10_000
/** For one call of a provider, in milliseconds. A login takes seconds on a busy machine, and its report counts until the next one. */
const longestCheckMs = 4_500
/** Without a newer report nobody knows whether messages would be sent. Several reports may be lost. */
const validSeconds = 60

const providers = { mails: 'mail_provider', chats: 'chat_provider' } as const
type Reported = { readonly [Sender in keyof typeof providers]: Pick<NotificationSenders[Sender], 'isReachable'> }

interface ProviderReportsOptions {
  readonly senders: Reported
  readonly pool: Pool
  readonly logger: Logger
}

export interface ProviderReports {
  /** The first report is stored, or could not be. */
  readonly first: Promise<void>
  close(): Promise<void>
}

/**
 * The process that sends messages stores whether their providers answer and accept our credentials. Other processes
 * neither know these credentials nor call the providers: their health reads the report.
 */
export function startProviderReports({ senders, pool, logger }: ProviderReportsOptions): ProviderReports {
  const closing = new AbortController()
  let isFailing = false
  const first = report()
  const running = first.then(async () => {
    while (!closing.signal.aborted) {
      await pause(intervalMs, closing.signal)
      if (!closing.signal.aborted) await report()
    }
  })

  async function report(): Promise<void> {
    try {
      await Promise.all([reportOn('mails'), reportOn('chats')])
      isFailing = false
    } catch (error) {
      if (!isFailing && !closing.signal.aborted)
        logger.warn({ component: 'provider reports', err: error }, 'whether the providers answer could not be stored')
      isFailing = true
    }
  }

  async function reportOn(sender: keyof Reported): Promise<void> {
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(longestCheckMs)])
    const isWell = await senders[sender].isReachable(signal)
    if (closing.signal.aborted) return
    await pool.query(
      `insert into runtime.reports (about, is_well, reported_at) values ($1, $2, clock_timestamp())
       on conflict (about) do update set is_well = excluded.is_well, reported_at = excluded.reported_at`,
      [providers[sender], isWell],
    )
  }

  return {
    first,
    close: async () => {
      closing.abort()
      await running
    },
  }
}

/**
 * Without a provider no notification is sent, but every other request is served. So these checks gate the readiness of
 * the service of notifications, and no other.
 */
export function providerChecks(pool: Pool): HealthCheck[] {
  return Object.values(providers).map((name) => ({
    name,
    gatesReadiness: 'of-its-services',
    services: ['notifications'],
    async run() {
      const { rows } = await pool.query<{ is_well: boolean; is_valid: boolean }>(
        `select is_well, reported_at > clock_timestamp() - make_interval(secs => $2) as is_valid
         from runtime.reports where about = $1`,
        [name, validSeconds],
      )
      const [report] = rows
      if (report?.is_valid !== true) return { status: 'failing', detail: 'no process that sends messages has reported' }
      if (report.is_well) return { status: 'ok' }
      return { status: 'failing', detail: 'the provider does not answer, or refuses our credentials' }
    },
  }))
}
