import { isIP } from 'node:net'
import { readEventStoreAddress } from '../kit/event-store-address.ts'
import type { Profile } from '../kit/profiles.ts'
import { containsNearlyEverything, hasGuessableKey, isGuessableSecret } from './weak-settings.ts'
import type { EventStoreConsumer } from './event-store-consumers.ts'
import { readDatabaseAddress, type DatabaseAddress } from '../database/database.ts'

/** An environment variable is wrong. The message contains its name and its rule, never a secret's value. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  readonly isSafeToLog = true
}

export const actorContextModes = ['trust', 'signed', 'resolve'] as const
export type ActorContextMode = (typeof actorContextModes)[number]

/** The input of the rules between settings. */
export interface CheckedSettings {
  readonly profile: Profile
  readonly host: string
  readonly baseUrl: string
  readonly actorContextMode: ActorContextMode
  readonly adminApiSecret?: string | undefined
  readonly databaseUrl?: string | undefined
  readonly vaultDatabaseUrl?: string | undefined
  readonly esdbUrl?: string | undefined
  readonly eventStoreConsumers: readonly EventStoreConsumer[]
  readonly authBaseUrl: string
  readonly clinicalBaseUrl?: string | undefined
  readonly consentBaseUrl?: string | undefined
  readonly aiReviewBaseUrl: string
  readonly usersBaseUrl?: string | undefined
  /** False if Node.js is set to accept any certificate. */
  readonly isTlsVerified: boolean
  readonly s3Endpoint?: string | undefined
  readonly s3PublicEndpoint?: string | undefined
  readonly s3AccessKeyId?: string | undefined
  readonly s3SecretAccessKey?: string | undefined
  readonly backupS3Endpoint?: string | undefined
  readonly backupS3AccessKeyId?: string | undefined
  readonly backupS3SecretAccessKey?: string | undefined
  readonly serviceClientId?: string | undefined
  readonly serviceClientSecret?: string | undefined
  readonly providerBaseUrl?: string | undefined
  readonly providerLogin?: string | undefined
  readonly providerPassword?: string | undefined
  readonly idpMode: 'mock' | 'keycloak'
  readonly keycloakBaseUrl?: string | undefined
  readonly keycloakRealm?: string | undefined
  readonly keycloakClientId?: string | undefined
  readonly keycloakClientSecret?: string | undefined
  readonly mailTransport: 'smtp' | 'ses'
  readonly smtpUrl?: string | undefined
  readonly smtpFrom?: string | undefined
  readonly sesRegion?: string | undefined
  readonly sesEndpoint?: string | undefined
  readonly slackApiUrl?: string | undefined
  readonly slackBotToken?: string | undefined
  readonly otelEndpoint?: string | undefined
  readonly failpoint?: string | undefined
  readonly masterKeys?: string | undefined
  readonly masterKeyProvider?: 'env' | 'file' | 'transit' | undefined
  readonly transitUrl?: string | undefined
  readonly transitKey?: string | undefined
  readonly transitToken?: string | undefined
  readonly trustedProxies: readonly string[]
  readonly egressAllow: readonly string[]
  /** True if a debugger can connect to the process. */
  readonly isInspected: boolean
  readonly rateLimits: 'on' | 'off'
  readonly rateLimitClientPerMinute: number
  readonly rateLimitClientBurst: number
  readonly rateLimitOrganisationPerMinute: number
  readonly rateLimitCreatesPerMinute: number
  readonly rateLimitTokensPerMinute: number
  readonly rateLimitTokenFailuresPerMinute: number
  readonly stepTimeoutMs: number
  readonly stepLeaseMs: number
  readonly witnesses: readonly unknown[]
  readonly witnessQuorum?: number | undefined
}

/** Rules between settings, and rules of the profile. Returns warnings; throws `ConfigurationError`. */
export function checkProfile(settings: CheckedSettings): readonly string[] {
  checkCombinations(settings)
  const { profile } = settings
  if (profile === 'production' && settings.actorContextMode === 'trust') {
    throw new ConfigurationError('ACTOR_CONTEXT_MODE must be signed or resolve when APP_ENV is production')
  }
  if (profile === 'production' && settings.failpoint !== undefined) {
    throw new ConfigurationError('FAILPOINT must be unset when APP_ENV is production')
  }
  const databases = readDatabases(settings)
  const weaknesses = [
    ...tlsWeaknesses(settings, databases),
    ...eventStoreWeaknesses(settings),
    ...secretWeaknesses(settings),
    ...listWeaknesses(settings),
    ...(profile === 'production' ? weaknessesOfProduction(settings) : []),
  ]
  if (profile === 'production' && weaknesses.length > 0)
    throw new ConfigurationError(`${weaknesses.join('; ')} when APP_ENV is production`)
  return [...weaknesses, ...(profile === 'production' ? productionNotes(settings) : exposureNotes(settings))]
}

function checkCombinations(settings: CheckedSettings): void {
  const together = [
    {
      names: 'S3_ENDPOINT, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY',
      values: [settings.s3Endpoint, settings.s3AccessKeyId, settings.s3SecretAccessKey],
    },
    {
      names: 'BACKUP_S3_ENDPOINT, BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY',
      values: [settings.backupS3Endpoint, settings.backupS3AccessKeyId, settings.backupS3SecretAccessKey],
    },
    {
      names: 'SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET',
      values: [settings.serviceClientId, settings.serviceClientSecret],
    },
    {
      names: 'PROVIDER_BASE_URL, PROVIDER_LOGIN and PROVIDER_PASSWORD',
      values: [settings.providerBaseUrl, settings.providerLogin, settings.providerPassword],
    },
    {
      names: 'KEYCLOAK_BASE_URL, KEYCLOAK_REALM, KEYCLOAK_CLIENT_ID and KEYCLOAK_CLIENT_SECRET',
      values: [
        settings.keycloakBaseUrl,
        settings.keycloakRealm,
        settings.keycloakClientId,
        settings.keycloakClientSecret,
      ],
    },
    {
      names: 'MASTER_KEY_PROVIDER=transit, TRANSIT_URL, TRANSIT_KEY and TRANSIT_TOKEN',
      values: [
        settings.masterKeyProvider === 'transit' ? 'transit' : undefined,
        settings.transitUrl,
        settings.transitKey,
        settings.transitToken,
      ],
    },
    { names: 'DATABASE_URL and VAULT_DATABASE_URL', values: [settings.databaseUrl, settings.vaultDatabaseUrl] },
    { names: 'SLACK_API_URL and SLACK_BOT_TOKEN', values: [settings.slackApiUrl, settings.slackBotToken] },
    settings.mailTransport === 'ses'
      ? {
          names: 'MAIL_TRANSPORT=ses, SES_REGION and SMTP_FROM',
          values: ['ses', settings.sesRegion, settings.smtpFrom],
        }
      : { names: 'SMTP_URL and SMTP_FROM', values: [settings.smtpUrl, settings.smtpFrom] },
  ]
  const incomplete = together.filter(({ values }) => new Set(values.map((value) => value !== undefined)).size > 1)
  if (incomplete.length > 0)
    throw new ConfigurationError(incomplete.map(({ names }) => `${names} must be set together`).join('; '))
  if (settings.idpMode === 'keycloak' && settings.keycloakBaseUrl === undefined) {
    throw new ConfigurationError('KEYCLOAK_BASE_URL must be set when IDP_MODE is keycloak')
  }
  if (settings.masterKeyProvider === 'env' && settings.masterKeys === undefined) {
    throw new ConfigurationError('MASTER_KEYS must be set when MASTER_KEY_PROVIDER is env')
  }
  if (settings.masterKeyProvider === 'file' && settings.masterKeys !== undefined) {
    throw new ConfigurationError('MASTER_KEYS must be unset when MASTER_KEY_PROVIDER is file')
  }
  if (settings.mailTransport === 'ses' && settings.smtpUrl !== undefined) {
    throw new ConfigurationError('SMTP_URL must be unset when MAIL_TRANSPORT is ses')
  }
  if (settings.witnessQuorum !== undefined && settings.witnessQuorum > settings.witnesses.length) {
    throw new ConfigurationError('WITNESS_QUORUM must not be more than the number of WITNESSES')
  }
  if (settings.stepTimeoutMs >= settings.stepLeaseMs) {
    throw new ConfigurationError('STEP_TIMEOUT_MS must be less than STEP_LEASE_MS')
  }
}

interface Databases {
  readonly DATABASE_URL?: DatabaseAddress
  readonly VAULT_DATABASE_URL?: DatabaseAddress
}

/** Two names of one database that differ only in DNS are found at the start, when both servers are asked. */
function readDatabases({ databaseUrl, vaultDatabaseUrl }: CheckedSettings): Databases {
  if (databaseUrl === undefined || vaultDatabaseUrl === undefined) return {}
  const databases = {
    DATABASE_URL: readDatabase('DATABASE_URL', databaseUrl),
    VAULT_DATABASE_URL: readDatabase('VAULT_DATABASE_URL', vaultDatabaseUrl),
  }
  if (identityOf(databases.DATABASE_URL) === identityOf(databases.VAULT_DATABASE_URL)) {
    throw new ConfigurationError('VAULT_DATABASE_URL must be another database than DATABASE_URL')
  }
  return databases
}

function readDatabase(name: string, url: string): DatabaseAddress {
  try {
    return readDatabaseAddress(url)
  } catch (error) {
    // The message of the error may quote the address.
    const isOfFile = error instanceof Error && 'syscall' in error && 'code' in error
    throw new ConfigurationError(
      isOfFile
        ? `${name} names a file that cannot be read (${String(error.code)})`
        : `${name} must be an address that pg reads`,
    )
  }
}

function identityOf({ host, port, database }: DatabaseAddress): string {
  const bare = host.toLowerCase().replace(/\.$/, '')
  return JSON.stringify([isLoopbackHost(bare) ? 'loopback' : bare, port, database])
}

/** Production refuses each of these; development warns about it. Servers on loopback are exempt from TLS. */
function tlsWeaknesses(settings: CheckedSettings, databases: Databases): string[] {
  const weaknesses = settings.isTlsVerified
    ? []
    : ['NODE_TLS_REJECT_UNAUTHORIZED must not turn the check of certificates off']
  for (const [name, { host, encryption }] of Object.entries<DatabaseAddress>({ ...databases })) {
    const isOfThisMachine = isLoopbackHost(host) || host.startsWith('/')
    if (encryption !== 'verified' && !isOfThisMachine) weaknesses.push(`${name} must ask for TLS (sslmode=verify-full)`)
  }
  for (const [name, url] of httpAddresses(settings)) {
    const { protocol, hostname } = new URL(url)
    if (protocol !== 'https:' && !isLoopbackHost(hostname)) weaknesses.push(`${name} must be https, except on loopback`)
  }
  return weaknesses
}

/** A service address equal to BASE_URL is reported under that name only. */
function httpAddresses(settings: CheckedSettings): (readonly [name: string, url: string])[] {
  const { baseUrl } = settings
  const services = [
    ['AUTH_BASE_URL', settings.authBaseUrl],
    ['AI_REVIEW_BASE_URL', settings.aiReviewBaseUrl],
  ] as const
  const outside = [
    ['CLINICAL_BASE_URL', settings.clinicalBaseUrl],
    ['CONSENT_BASE_URL', settings.consentBaseUrl],
    ['USERS_BASE_URL', settings.usersBaseUrl],
    ['S3_ENDPOINT', settings.s3Endpoint],
    ['S3_PUBLIC_ENDPOINT', settings.s3PublicEndpoint],
    ['BACKUP_S3_ENDPOINT', settings.backupS3Endpoint],
    ['PROVIDER_BASE_URL', settings.providerBaseUrl],
    ['KEYCLOAK_BASE_URL', settings.keycloakBaseUrl],
    ['TRANSIT_URL', settings.transitUrl],
    ['SES_ENDPOINT', settings.sesEndpoint],
    ['SLACK_API_URL', settings.slackApiUrl],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', settings.otelEndpoint],
  ] as const
  return [
    ['BASE_URL', baseUrl],
    ...services.filter(([, url]) => url !== baseUrl),
    ...outside.flatMap(([name, url]) => (url === undefined ? [] : [[name, url] as const])),
  ]
}

/** Default password of the administrators of a new EventStoreDB. */
const defaultPassword = 'changeit'

function eventStoreWeaknesses({ esdbUrl, profile }: CheckedSettings): string[] {
  const store = esdbUrl === undefined ? undefined : readEventStoreAddress(esdbUrl)
  if (store === undefined) return []
  const isOfThisMachine = store.hosts.every(({ host }) => isLoopbackHost(host))
  const weaknesses: string[] = []
  if (!store.isEncrypted && !isOfThisMachine) weaknesses.push('ESDB_URL must not turn TLS off')
  // A store on a developer's own machine may work without credentials.
  if (!store.hasCredentials && (profile === 'production' || !isOfThisMachine))
    weaknesses.push('ESDB_URL must name a user and a password, which the client sends by TLS only')
  if (store.password === defaultPassword) weaknesses.push('ESDB_URL must not have the default password of EventStoreDB')
  return weaknesses
}

function secretWeaknesses(settings: CheckedSettings): string[] {
  const secrets = [
    ['SERVICE_CLIENT_SECRET', settings.serviceClientSecret],
    ['S3_SECRET_ACCESS_KEY', settings.s3SecretAccessKey],
    ['BACKUP_S3_SECRET_ACCESS_KEY', settings.backupS3SecretAccessKey],
    ['KEYCLOAK_CLIENT_SECRET', settings.keycloakClientSecret],
    ['ADMIN_API_SECRET', settings.adminApiSecret],
  ] as const
  const weak = secrets.flatMap(([name, secret]) => {
    if (secret === undefined) return []
    if (secret.length < 32) return [`${name} must have at least 32 characters`]
    return isGuessableSecret(secret) ? [`${name} must be random (openssl rand -hex 32)`] : []
  })
  const { masterKeys, eventStoreConsumers } = settings
  if (masterKeys !== undefined && hasGuessableKey(masterKeys))
    weak.push('MASTER_KEYS must be random (openssl rand -base64 32)')
  if (eventStoreConsumers.some(({ password }) => isGuessableSecret(password)))
    weak.push('EVENTSTORE_CONSUMERS must have random passwords (openssl rand -hex 32)')
  return weak
}

function listWeaknesses({ trustedProxies, egressAllow }: CheckedSettings): string[] {
  const lists = [
    ['TRUSTED_PROXIES', trustedProxies],
    ['EGRESS_ALLOW', egressAllow],
  ] as const
  return lists.flatMap(([name, entries]) =>
    containsNearlyEverything(entries) ? [`${name} must not contain nearly all addresses`] : [],
  )
}

/** Development may debug, and only reports its rate limits. */
function weaknessesOfProduction(settings: CheckedSettings): string[] {
  const limits = [
    ['RATE_LIMIT_CLIENT_PER_MINUTE', settings.rateLimitClientPerMinute],
    ['RATE_LIMIT_CLIENT_BURST', settings.rateLimitClientBurst],
    ['RATE_LIMIT_ORGANISATION_PER_MINUTE', settings.rateLimitOrganisationPerMinute],
    ['RATE_LIMIT_CREATES_PER_MINUTE', settings.rateLimitCreatesPerMinute],
    ['RATE_LIMIT_TOKENS_PER_MINUTE', settings.rateLimitTokensPerMinute],
    ['RATE_LIMIT_TOKEN_FAILURES_PER_MINUTE', settings.rateLimitTokenFailuresPerMinute],
  ] as const
  const zero = settings.rateLimits === 'off' ? [] : limits.filter(([, limit]) => limit === 0).map(([name]) => name)
  return [
    ...(settings.isInspected
      ? ['NODE_OPTIONS and the command line must not contain --inspect: it shows all keys']
      : []),
    ...(zero.length === 0 ? [] : [`${zero.join(', ')} must be above 0, unless RATE_LIMITS is off,`]),
  ]
}

function productionNotes({ adminApiSecret, rateLimits }: CheckedSettings): string[] {
  return [
    ...(adminApiSecret === undefined ? [] : ['ADMIN_API_SECRET is set: it admits to admin routes without a user']),
    ...(rateLimits === 'on' ? [] : ['RATE_LIMITS is off: something in front must limit callers']),
  ]
}

function exposureNotes({ host }: CheckedSettings): string[] {
  return isLoopbackHost(host)
    ? []
    : ['APP_ENV is development, and HOST is no loopback address: others reach a platform with the weak rules']
}

export function isLoopbackHost(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase()
  if (bare === 'localhost' || bare === '::1') return true
  return isIP(bare) === 4 && bare.startsWith('127.')
}

export function deepFreeze<Value extends object>(value: Value): Value {
  for (const member of Object.values(value)) {
    if (typeof member === 'object' && member !== null) deepFreeze(member)
  }
  return Object.freeze(value)
}
