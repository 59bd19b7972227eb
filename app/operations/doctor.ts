import { statfs } from 'node:fs/promises'
import type { Overview } from '../../contracts/operations/record.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { Configuration, Environment } from '../../platform/configuration/configuration.ts'
import { isTableMissing, type Pool } from '../../platform/database/database.ts'
import { contractVersion } from '../../platform/http/common-headers.ts'
import { backupStream } from '../../streams/backups/aggregate.ts'
import { backupAgeCheck } from '../backup/schedule.ts'
import { tableText } from '../projections/list.ts'
import { findServers, openServers } from '../projections/servers.ts'
import { serverNeeds } from '../roles.ts'
import { endOfCertificate } from './certificates.ts'
import { createOperations } from './operations.ts'
import { errorText } from './work-command.ts'

export interface DoctorOrder {
  readonly isJson: boolean
}

type Status = 'ok' | 'warning' | 'failing' | 'skipped'

interface Result {
  readonly status: Status
  /** Null if there is nothing to say. */
  readonly detail: string | null
}

type Check = Result & { readonly name: string }

/** In the order in which they are printed. */
export const doctorChecks = [
  'settings',
  'database',
  'event_store',
  'vault',
  'object_store',
  'provider',
  'mail',
  'chat',
  'identity_provider',
  'certificates',
  'clock',
  'versions',
  'processes',
  'lag',
  'space',
  'backup',
  'seal',
] as const
type Name = (typeof doctorChecks)[number]

const ok: Result = { status: 'ok', detail: null }
const skipped = (detail: string): Result => ({ status: 'skipped', detail })
const failing = (detail: string): Result => ({ status: 'failing', detail })
const warning = (detail: string): Result => ({ status: 'warning', detail })
const failed = (error: unknown): Result => failing(error instanceof Error ? error.message : String(error))

/** The clock of this machine and that of the database differ by less. In milliseconds. */
const clockToleranceMs = 2_000
/** Less free space of the data folder is a warning. A part of the whole. */
const leastFree = 0.1

/**
 * Looks at everything that the platform needs, one thing after another, and goes on after a failure. It uses the servers, not
 * the API. Exit code 1 if something fails.
 */
export async function runDoctor(
  { isJson }: DoctorOrder,
  env: Environment,
): Promise<{ readonly text: string; readonly code: number }> {
  const results = await examined(env)
  const checks = doctorChecks.map((name): Check => ({ name, ...(results.get(name) ?? skipped('not reached')) }))
  const status = (['failing', 'warning'] as const).find((one) => checks.some((check) => check.status === one)) ?? 'ok'
  return {
    text: isJson ? JSON.stringify({ status, checks }, null, 2) : doctorText(status, checks),
    code: status === 'failing' ? 1 : 0,
  }
}

function doctorText(status: string, checks: readonly Check[]): string {
  const rows = checks.map((check) => [check.name, check.status, check.detail ?? '-'])
  return [`status: ${status}`, '', tableText([['CHECK', 'STATUS', 'DETAIL'], ...rows])].join('\n')
}

async function examined(env: Environment): Promise<ReadonlyMap<Name, Result>> {
  const results = new Map<Name, Result>()
  /** Undefined if it failed. Everything after it that needs it is then not reached. */
  const reach = async <Found>(name: Name, work: () => Promise<Found>): Promise<Found | undefined> => {
    try {
      const found = await work()
      results.set(name, ok)
      return found
    } catch (error) {
      results.set(name, failed(error))
      return undefined
    }
  }
  const found = await reach('settings', () => findServers(env, serverNeeds, 'doctor'))
  if (found === undefined) return results
  results.set('space', await space(found.configuration))
  results.set('certificates', await certificates(found.configuration, new Date()))
  const servers = await reach('database', () => openServers(env, 'doctor'))
  if (servers === undefined) return results
  try {
    const store = await reach('event_store', () => servers.eventStore())
    // Opening the event store opens the vault first: its keys sign the events.
    const atVault = results.get('event_store')
    if (store !== undefined) results.set('vault', ok)
    else if (/VAULT_DATABASE_URL|MASTER_KEYS|master key/.test(atVault?.detail ?? '')) {
      results.set('vault', atVault ?? ok)
      results.set('event_store', skipped('not reached'))
    }
    const { pool } = servers
    results.set('clock', await clock(pool).catch(failed))
    const away = (): Promise<EventStore> => Promise.reject(new Error('the event store is away'))
    const overview = await createOperations({
      pool,
      failedRetentionSeconds: found.configuration.failedRetentionSeconds,
      store: () => (store === undefined ? away() : Promise.resolve(store)),
      now: () => new Date(),
    })
      .overview()
      .then(ofOverview, withoutOverview)
    for (const [name, result] of Object.entries(overview)) if (isName(name)) results.set(name, result)
    if (store !== undefined) results.set('backup', await backup(store, found.configuration).catch(failed))
  } finally {
    await servers.close()
  }
  return results
}

function isName(name: string): name is Name {
  return doctorChecks.some((one) => one === name)
}

/** A database that no process has used has none of their tables. */
function withoutOverview(error: unknown): Partial<Record<Name, Result>> {
  return { processes: isTableMissing(error) ? failing('no process has run on this database yet') : failed(error) }
}

/** What the processes have seen. */
function ofOverview({ systems, problems, processes, seal }: Overview): Partial<Record<Name, Result>> {
  const ofSystem = (name: string): Result => {
    const system = systems.find((one) => one.name === name)
    if (system === undefined || system.status === 'unused') return skipped('no process has called it')
    return system.status === 'ok' ? ok : failing(errorText(system.error))
  }
  const ofProblems = (...codes: readonly string[]): Result => {
    const own = problems.filter(({ code }) => codes.includes(code))
    const detail = own.map(({ code, subject }) => `${code} ${subject}`).join(', ')
    if (own.some(({ severity }) => severity === 'failing')) return failing(detail)
    return own.length > 0 ? warning(detail) : ok
  }
  const others = [...new Set(processes.map(({ version }) => version))].filter((version) => version !== contractVersion)
  return {
    object_store: ofSystem('object_store'),
    provider: ofSystem('provider'),
    mail: ofSystem('mail'),
    chat: ofSystem('chat'),
    identity_provider: ofSystem('identity_provider'),
    versions:
      processes.length === 0
        ? skipped('no process runs')
        : others.length > 0
          ? warning(`this program is ${contractVersion}, processes are ${others.join(', ')}`)
          : ok,
    processes: ofProblems('role-missing', 'process-silent', 'check-failing'),
    lag: ofProblems('projection-failed', 'projection-behind', 'relay-blocked', 'work-late'),
    seal: seal === null ? skipped('the log has no seal, or the event store is away') : ofProblems('seal-late'),
  }
}

/** A certificate that ends sooner is a warning. In milliseconds. */
const soonMs = 14 * 86_400_000

/** Of the servers that are called by https. A server that does not answer has a check of its own. */
export async function certificates(
  { baseUrl, providerBaseUrl, s3Endpoint, keycloakBaseUrl, sesEndpoint }: CalledServers,
  now: Date,
): Promise<Result> {
  const given = [baseUrl, providerBaseUrl, s3Endpoint, keycloakBaseUrl, sesEndpoint]
  const origins = given.flatMap((address) => (address?.startsWith('https:') === true ? [new URL(address).origin] : []))
  if (origins.length === 0) return skipped('no server is called by https')
  const ends = await Promise.all(
    [...new Set(origins)].map(async (origin) => ({ origin, at: await endOfCertificate(origin) })),
  )
  const seen = ends.flatMap(({ origin, at }) =>
    at === undefined ? [] : [{ origin, at, leftMs: at.getTime() - now.getTime() }],
  )
  if (seen.length === 0) return skipped('no server answers')
  const [first] = seen.toSorted((one, other) => one.leftMs - other.leftMs)
  if (first === undefined || first.leftMs >= soonMs) return ok
  const detail = `that of ${new URL(first.origin).host} ends at ${first.at.toISOString()}`
  return first.leftMs <= 0 ? failing(detail) : warning(detail)
}

type CalledServers = Partial<
  Pick<Configuration, 'baseUrl' | 'providerBaseUrl' | 's3Endpoint' | 'keycloakBaseUrl' | 'sesEndpoint'>
>

/** A lease ends by the clock of a machine, so the clocks must agree. */
async function clock(pool: Pool): Promise<Result> {
  const beforeMs = Date.now()
  const { rows } = await pool.query<{ at: Date }>('select clock_timestamp() as at')
  const afterMs = Date.now()
  const at = rows[0]?.at.getTime() ?? afterMs
  const differsMs = Math.max(0, beforeMs - at, at - afterMs)
  if (differsMs < clockToleranceMs) return ok
  return warning(`this machine and the database differ by ${Math.round(differsMs / 1_000)} s`)
}

/** Of the data folder, which has the embedded servers. */
async function space({ dataDir, esdbUrl }: Configuration): Promise<Result> {
  if (esdbUrl !== undefined && !/^esdb:\/\/[^/]*(?:127\.0\.0\.1|localhost)/.test(esdbUrl))
    return skipped('the servers are elsewhere')
  const { bavail, blocks, bsize } = await statfs(dataDir).catch(() => ({ bavail: 0, blocks: 0, bsize: 0 }))
  if (blocks === 0) return skipped(`${dataDir} is not on this machine`)
  const free = `${Math.round((bavail * bsize) / 2 ** 20)} MiB are free`
  return bavail / blocks < leastFree ? warning(free) : { status: 'ok', detail: free }
}

async function backup(store: EventStore, configuration: Configuration): Promise<Result> {
  const { newestAt, held } = (await store.load(backupStream)).state
  if (held !== null) return warning(`calls to other systems are held since the restore at ${held.since}`)
  if (newestAt === null) return skipped('no backup is recorded')
  const detail = `the newest one is of ${newestAt}`
  const check = await backupAgeCheck(configuration, store, () => new Date())?.run()
  return check?.status === 'warning' ? warning(detail) : { status: 'ok', detail }
}
