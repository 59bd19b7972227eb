import { isIP } from 'node:net'

/** A variable of the environment is wrong. The message names it and what it must be, never a secret's value. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  readonly isSafeToLog = true
}

/** What the rules between settings need to see. */
export interface CheckedSettings {
  readonly profile: 'development' | 'production'
  readonly host: string
  readonly baseUrl: string
  readonly actorContextMode: 'trust' | 'signed' | 'resolve'
  readonly adminApiSecret?: string | undefined
  readonly databaseUrl?: string | undefined
  readonly vaultDatabaseUrl?: string | undefined
  readonly esdbUrl?: string | undefined
  readonly s3Endpoint?: string | undefined
  readonly s3AccessKeyId?: string | undefined
  readonly s3SecretAccessKey?: string | undefined
  readonly serviceClientId?: string | undefined
  readonly serviceClientSecret?: string | undefined
  readonly providerBaseUrl?: string | undefined
  readonly providerLogin?: string | undefined
  readonly providerPassword?: string | undefined
  readonly failpoint?: string | undefined
  readonly stepTimeoutMs: number
  readonly stepLeaseMs: number
}

/** Rules between settings and of the profile (contract section 4). Returns warnings; throws `ConfigurationError`. */
export function checkProfile(settings: CheckedSettings): readonly string[] {
  checkCombinations(settings)
  const { profile } = settings
  if (profile === 'production' && settings.actorContextMode === 'trust') {
    throw new ConfigurationError('ACTOR_CONTEXT_MODE must be signed or resolve when APP_ENV is production')
  }
  if (profile === 'production' && settings.failpoint !== undefined) {
    throw new ConfigurationError('FAILPOINT must be unset when APP_ENV is production')
  }
  const weaknesses = findWeaknesses(settings)
  const [first] = weaknesses
  if (profile === 'production' && first !== undefined) throw new ConfigurationError(`${first} when APP_ENV is production`)
  return [...weaknesses, ...(profile === 'production' ? productionNotes(settings) : [])]
}

function checkCombinations(settings: CheckedSettings): void {
  const together = [
    { names: 'S3_ENDPOINT, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY', values: [settings.s3Endpoint, settings.s3AccessKeyId, settings.s3SecretAccessKey] },
    { names: 'SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET', values: [settings.serviceClientId, settings.serviceClientSecret] },
    { names: 'PROVIDER_BASE_URL, PROVIDER_LOGIN and PROVIDER_PASSWORD', values: [settings.providerBaseUrl, settings.providerLogin, settings.providerPassword] },
    { names: 'DATABASE_URL and VAULT_DATABASE_URL', values: [settings.databaseUrl, settings.vaultDatabaseUrl] },
  ]
  for (const { names, values } of together) {
    const given = values.filter((value) => value !== undefined).length
    if (given !== 0 && given !== values.length) throw new ConfigurationError(`${names} must be set together`)
  }
  if (settings.databaseUrl !== undefined && settings.vaultDatabaseUrl !== undefined
    && databaseIdentity(settings.databaseUrl) === databaseIdentity(settings.vaultDatabaseUrl)) {
    throw new ConfigurationError('VAULT_DATABASE_URL must be another database than DATABASE_URL')
  }
  if (settings.stepTimeoutMs >= settings.stepLeaseMs) {
    throw new ConfigurationError('STEP_TIMEOUT_MS must be less than STEP_LEASE_MS')
  }
}

/** Refused in production, warned about in development. Servers on loopback are exempt from TLS. */
function findWeaknesses(settings: CheckedSettings): string[] {
  const weaknesses: string[] = []
  for (const [name, value] of [['DATABASE_URL', settings.databaseUrl], ['VAULT_DATABASE_URL', settings.vaultDatabaseUrl]] as const) {
    if (value !== undefined && !isPostgresEncrypted(value)) weaknesses.push(`${name} must ask for TLS (sslmode=verify-full)`)
  }
  if (settings.esdbUrl !== undefined && !isEventStoreEncrypted(settings.esdbUrl)) weaknesses.push('ESDB_URL must not turn TLS off')
  for (const [name, secret] of [['SERVICE_CLIENT_SECRET', settings.serviceClientSecret], ['S3_SECRET_ACCESS_KEY', settings.s3SecretAccessKey]] as const) {
    if (secret !== undefined && secret.length < 32) weaknesses.push(`${name} must have at least 32 characters`)
  }
  return weaknesses
}

function productionNotes(settings: CheckedSettings): string[] {
  const notes: string[] = []
  if (settings.adminApiSecret !== undefined) notes.push('ADMIN_API_SECRET is set: it admits to admin routes without a user')
  const base = new URL(settings.baseUrl)
  if (base.protocol === 'http:' && !isLoopbackHost(base.hostname)) notes.push('BASE_URL is not https')
  return notes
}

export function isLoopbackHost(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase()
  if (bare === 'localhost' || bare === '::1') return true
  return isIP(bare) === 4 && bare.startsWith('127.')
}

function isPostgresEncrypted(url: string): boolean {
  const parsed = new URL(url)
  if (isLoopbackHost(parsed.hostname)) return true
  return ['require', 'verify-ca', 'verify-full'].includes(parsed.searchParams.get('sslmode') ?? '')
}

function isEventStoreEncrypted(url: string): boolean {
  const isTlsOff = /[?&]tls=false(?:&|$)/i.test(url)
  return !isTlsOff || eventStoreHosts(url).every(isLoopbackHost)
}

/** A cluster's connection string names several hosts, which `URL` does not parse. */
function eventStoreHosts(url: string): string[] {
  const authority = /^[^:]+:\/\/(?:[^@/?]*@)?([^/?]*)/.exec(url)?.[1] ?? ''
  return authority.split(',').map((host) => host.replace(/:\d+$/, ''))
}

function databaseIdentity(url: string): string {
  const { hostname, port, pathname } = new URL(url)
  return `${isLoopbackHost(hostname) ? 'loopback' : hostname.toLowerCase()}:${port === '' ? '5432' : port}${pathname}`
}

export function deepFreeze<Value extends object>(value: Value): Value {
  for (const member of Object.values(value)) {
    if (typeof member === 'object' && member !== null) deepFreeze(member)
  }
  return Object.freeze(value)
}
