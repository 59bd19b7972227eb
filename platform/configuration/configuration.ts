import { isAddressRange, isEgressEntry } from '../outbound/addresses.ts'
import {
  type ActorContextMode,
  type Profile,
  actorContextModes,
  ConfigurationError,
  checkProfile,
  deepFreeze,
  isLoopbackHost,
  profiles,
} from './profile-rules.ts'
import {
  address,
  databaseAddress,
  eventStoreAddress,
  integer,
  integers,
  oneOf,
  optional,
  organisations,
  publicKeys,
  setting,
  text,
  texts,
  type Setting,
} from './settings.ts'

const http = ['http', 'https'] as const
const daySeconds = 86_400

/** All environment variables of the platform, by their member of `Configuration`. */
const settings = {
  appEnv: optional('APP_ENV', oneOf(...profiles), {
    meaning: 'Profile: which rules for addresses, images, actor contexts and secrets apply',
    shownDefault: 'development on a loopback HOST',
  }),
  host: setting('HOST', text({ pattern: '^[A-Za-z0-9.:_-]{1,253}$' }, 'a host name or an IP address'), '127.0.0.1', {
    meaning: 'Address that the HTTP server binds to',
  }),
  port: setting('PORT', integer(0, 65_535), '8080', { meaning: 'Port of the HTTP server; 0 takes a free one' }),
  baseUrl: optional('BASE_URL', address(http), {
    meaning: 'Public address of the platform; issuer of its tokens',
    shownDefault: 'http://HOST:PORT',
  }),
  logLevel: setting('LOG_LEVEL', oneOf('debug', 'info', 'warn', 'error', 'silent'), 'info', {
    meaning: 'Least severe level that is logged',
  }),
  dataDir: setting('PLATFORM_DATA_DIR', text(), '.platform', {
    meaning: 'Folder of the embedded servers and of credentials.json',
  }),
  adminApiSecret: optional(
    'ADMIN_API_SECRET',
    text({ minLength: 32, pattern: '^[\\x21-\\x7e]+$' }, 'at least 32 visible ASCII characters'),
    { meaning: 'Admits to admin routes by X-Admin-Api-Secret; off unless set', isSecret: true },
  ),
  actorContextMode: optional('ACTOR_CONTEXT_MODE', oneOf(...actorContextModes), {
    meaning: 'How X-Actor-Context is believed',
    shownDefault: 'trust in development, resolve in production',
  }),
  actorContextKeys: optional('ACTOR_CONTEXT_JWKS', publicKeys(), {
    meaning: 'JSON Web Key Set whose keys verify X-Actor-Context in the mode signed',
  }),
  consentScopesRequired: setting('CONSENT_SCOPES_REQUIRED', organisations(), 'off', {
    meaning:
      'Organisations whose consent routes need the scopes consents:read and consents:write: off, all, or their ids, separated by commas',
  }),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    texts('addresses or address ranges, separated by commas', isAddressRange),
    '',
    { meaning: 'Proxies whose X-Forwarded-For says who calls' },
  ),
  rateLimitClientPerMinute: setting('RATE_LIMIT_CLIENT_PER_MINUTE', integer(0, 1_000_000), '600', {
    meaning: 'Requests of a client; enforced in production, as all limits of requests; 0 turns one off',
  }),
  rateLimitClientBurst: setting('RATE_LIMIT_CLIENT_BURST', integer(0, 1_000_000), '100', {
    meaning: 'Requests of a client that may come at once',
  }),
  rateLimitOrganisationPerMinute: setting('RATE_LIMIT_ORGANISATION_PER_MINUTE', integer(0, 10_000_000), '6000', {
    meaning: 'Requests of all clients of an organisation',
  }),
  rateLimitCreatesPerMinute: setting('RATE_LIMIT_CREATES_PER_MINUTE', integer(0, 1_000_000), '120', {
    meaning: 'Assessments that a client requests',
  }),
  rateLimitTokensPerMinute: setting('RATE_LIMIT_TOKENS_PER_MINUTE', integer(0, 1_000_000), '30', {
    meaning: 'Tokens of a client',
  }),
  rateLimitTokenFailuresPerMinute: setting('RATE_LIMIT_TOKEN_FAILURES_PER_MINUTE', integer(0, 1_000_000), '10', {
    meaning: 'Wrong credentials from one address before it has to wait, longer each time',
  }),
  tokenTtlSeconds: setting('TOKEN_TTL_SECONDS', integer(60, daySeconds, 's'), '3600', {
    meaning: 'Lifetime of access tokens',
  }),
  databaseUrl: optional('DATABASE_URL', databaseAddress(), {
    meaning:
      'Postgres database of the read models, as pg reads the address; in production with verified TLS, except on loopback',
    isSecret: true,
    shownDefault: 'embedded',
  }),
  vaultDatabaseUrl: optional('VAULT_DATABASE_URL', databaseAddress(), {
    meaning: 'Postgres database of the vault, best with a role of its own; never the one of the read models',
    isSecret: true,
    shownDefault: 'embedded',
  }),
  masterKeys: optional(
    'MASTER_KEYS',
    text(
      { pattern: '^[A-Za-z0-9._-]+:[A-Za-z0-9+/=_-]+(,[A-Za-z0-9._-]+:[A-Za-z0-9+/=_-]+)*$' },
      'id:base64key pairs, separated by commas',
    ),
    {
      meaning: 'Key ring that wraps the keys of the vault; the first one wraps',
      isSecret: true,
      shownDefault: 'a file in the data folder',
    },
  ),
  esdbUrl: optional('ESDB_URL', eventStoreAddress(), {
    meaning:
      'Connection string of the event store, which belongs to this installation alone; in production with TLS and a user',
    isSecret: true,
    shownDefault: 'embedded',
  }),
  s3Endpoint: optional('S3_ENDPOINT', address(http), {
    meaning: 'Object store; in production by https, except on loopback',
    shownDefault: 'embedded',
  }),
  s3PublicEndpoint: optional('S3_PUBLIC_ENDPOINT', address(http), {
    meaning:
      'Object store as clients reach it: in upload_url and download_url; the platform reads such addresses at S3_ENDPOINT',
    shownDefault: 'S3_ENDPOINT',
  }),
  s3Region: setting('S3_REGION', text({ maxLength: 64 }), 'us-east-1', { meaning: 'Region of the object store' }),
  s3Bucket: setting(
    'S3_BUCKET',
    text({ pattern: '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$' }, 'a bucket name'),
    'clinical-assessments',
    { meaning: 'Bucket of image bytes and raw provider responses' },
  ),
  s3AccessKeyId: optional('S3_ACCESS_KEY_ID', text(), {
    meaning: 'Credential of the object store',
    shownDefault: 'embedded',
  }),
  s3SecretAccessKey: optional('S3_SECRET_ACCESS_KEY', text(), {
    meaning: 'Credential of the object store',
    isSecret: true,
    shownDefault: 'embedded',
  }),
  egressAllow: setting(
    'EGRESS_ALLOW',
    texts('hosts, host:port pairs, addresses or address ranges, separated by commas', isEgressEntry),
    '',
    { meaning: 'Outbound addresses allowed although they are not public; never servers of the platform' },
  ),
  authBaseUrl: optional('AUTH_BASE_URL', address(http), {
    meaning: 'Where the auth service answers',
    shownDefault: 'BASE_URL',
  }),
  clinicalBaseUrl: optional('CLINICAL_BASE_URL', address(http), {
    meaning: 'Where clinical-api answers',
    shownDefault: 'BASE_URL',
  }),
  consentBaseUrl: optional('CONSENT_BASE_URL', address(http), {
    meaning: 'Where the consent service answers',
    shownDefault: 'BASE_URL',
  }),
  aiReviewBaseUrl: optional('AI_REVIEW_BASE_URL', address(http), {
    meaning: 'Where the AI-review service answers',
    shownDefault: 'BASE_URL',
  }),
  serviceClientId: optional('SERVICE_CLIENT_ID', text({ maxLength: 255 }), {
    meaning: 'Platform client with which services call each other',
    shownDefault: 'embedded',
  }),
  serviceClientSecret: optional('SERVICE_CLIENT_SECRET', text(), {
    meaning: 'Its secret',
    isSecret: true,
    shownDefault: 'embedded',
  }),
  idpMode: setting('IDP_MODE', oneOf('mock', 'keycloak'), 'mock', {
    meaning: 'Identity provider of the users: a mock that creates no accounts, or Keycloak; production needs keycloak',
  }),
  keycloakBaseUrl: optional('KEYCLOAK_BASE_URL', address(http), {
    meaning: 'Keycloak, with its path if it has one; in production by https, except on loopback',
  }),
  keycloakRealm: optional('KEYCLOAK_REALM', text({ maxLength: 255 }), { meaning: 'Realm of the accounts' }),
  keycloakClientId: optional('KEYCLOAK_CLIENT_ID', text({ maxLength: 255 }), {
    meaning: 'Client of the realm whose service account manages users',
  }),
  keycloakClientSecret: optional('KEYCLOAK_CLIENT_SECRET', text(), { meaning: 'Its secret', isSecret: true }),
  providerBaseUrl: optional('PROVIDER_BASE_URL', address(http), {
    meaning: 'Inference provider; must be set in production, and never to the simulator',
    shownDefault: 'embedded simulator',
  }),
  providerName: setting('PROVIDER_NAME', text({ maxLength: 255 }), 'inference-provider', {
    meaning: 'Name of the provider in `result.ai_provider`; results of the simulator have `simulator` there',
  }),
  providerLogin: optional('PROVIDER_LOGIN', text(), {
    meaning: 'Login at the inference provider',
    shownDefault: 'embedded simulator',
  }),
  providerPassword: optional('PROVIDER_PASSWORD', text(), {
    meaning: 'Password at the inference provider',
    isSecret: true,
    shownDefault: 'embedded simulator',
  }),
  providerSessionTtlSeconds: setting('PROVIDER_SESSION_TTL_SECONDS', integer(1, daySeconds, 's'), '1800', {
    meaning: 'How long a provider session is used before a new login',
  }),
  providerResultInitialDelayMs: setting('PROVIDER_RESULT_INITIAL_DELAY_MS', integer(0, 3_600_000, 'ms'), '5000', {
    meaning: 'Delay before the first result poll',
  }),
  providerResultMaxAttempts: setting('PROVIDER_RESULT_MAX_ATTEMPTS', integer(1, 1000), '20', {
    meaning: 'Result polls at most',
  }),
  providerResultTimeoutMs: setting('PROVIDER_RESULT_TIMEOUT_MS', integer(1, 604_800_000, 'ms'), '600000', {
    meaning: 'Time budget of a result',
  }),
  providerResultBackoffScheduleMs: setting(
    'PROVIDER_RESULT_BACKOFF_SCHEDULE_MS',
    integers('ms'),
    '5000,15000,30000,60000,120000,300000',
    { meaning: 'Delays between result polls; the last one repeats' },
  ),
  providerStartRetryScheduleMs: setting('PROVIDER_START_RETRY_SCHEDULE_MS', integers('ms'), '2000,4000,8000', {
    meaning: 'Delays before the retries of a start job',
  }),
  providerRequestingSystem: setting(
    'PROVIDER_REQUESTING_SYSTEM',
    text({ maxLength: 255 }),
    'clinical-assessment-platform',
    { meaning: 'Name of this system in provider cases' },
  ),
  providerSuccessResult: setting('PROVIDER_SUCCESS_RESULT', text({ maxLength: 255 }), 'SUCCESSFUL_PROCESSING', {
    meaning: 'The analysisResult that means success',
  }),
  webhookRetryScheduleMs: setting(
    'WEBHOOK_RETRY_SCHEDULE_MS',
    integers('ms'),
    '0,5000,300000,1800000,7200000,18000000,36000000,50400000,72000000,86400000',
    { meaning: 'Delay before each delivery attempt, +/- 20 %' },
  ),
  webhookTimeoutMs: setting('WEBHOOK_TIMEOUT_MS', integer(100, 50_000, 'ms'), '15000', {
    meaning: 'Time limit of one delivery attempt',
  }),
  webhookDisableAfterSeconds: setting('WEBHOOK_DISABLE_AFTER_SECONDS', integer(1, 31_536_000, 's'), '432000', {
    meaning: 'Time without a successful delivery after which a webhook subscription is disabled',
  }),
  webhookWorkers: setting('WEBHOOK_WORKERS', integer(1, 1000), '64', {
    meaning: 'Webhook deliveries at a time of one instance, beside PROCESS_WORKERS',
  }),
  webhookWorkersPerEndpoint: setting('WEBHOOK_WORKERS_PER_ENDPOINT', integer(1, 1000), '8', {
    meaning: 'Of these, deliveries to one subscription; one while it does not take them',
  }),
  readUrlTtlSeconds: setting('READ_URL_TTL_SECONDS', integer(1, 604_800, 's'), '3600', {
    meaning: 'Lifetime of the read addresses that the AI review signs when it fetches an image',
  }),
  downloadUrlTtlSeconds: setting('DOWNLOAD_URL_TTL_SECONDS', integer(1, 604_800, 's'), '900', {
    meaning: 'Lifetime of download_url',
  }),
  uploadUrlTtlSeconds: setting('UPLOAD_URL_TTL_SECONDS', integer(1, 604_800, 's'), '300', {
    meaning: 'Lifetime of upload_url',
  }),
  uploadWindowSeconds: setting('UPLOAD_WINDOW_SECONDS', integer(1, 2_592_000, 's'), '86400', {
    meaning:
      'Time after which an assessment whose images were not submitted fails with UPLOAD_WINDOW_EXPIRED, and an image of its own takes no upload',
  }),
  stagingTtlSeconds: setting('STAGING_TTL_SECONDS', integer(1, 604_800, 's'), '3600', {
    meaning: 'Age at which image bytes of requests that never ended are removed; longer than any request takes',
  }),
  assessmentDeadlineSeconds: setting('ASSESSMENT_DEADLINE_SECONDS', integer(1, 604_800, 's'), '3600', {
    meaning: 'Time after which an unfinished analysis fails with ANALYSIS_TIMEOUT',
  }),
  processWorkers: setting('PROCESS_WORKERS', integer(1, 1000), '10', { meaning: 'Workers of one instance' }),
  stepTimeoutMs: setting('STEP_TIMEOUT_MS', integer(1, 59_000, 'ms'), '15000', {
    meaning: 'Time limit of one process step; below STEP_LEASE_MS',
  }),
  stepLeaseMs: setting('STEP_LEASE_MS', integer(2, 60_000, 'ms'), '20000', {
    meaning: 'How long a step belongs to its worker',
  }),
  readYourWritesMs: setting('READ_YOUR_WRITES_MS', integer(0, 10_000, 'ms'), '500', {
    meaning: 'How long a write waits for the read models that serve it',
  }),
  failpoint: optional('FAILPOINT', text({ pattern: '^[a-z][a-z0-9-]{0,63}$' }, 'the name of a failpoint'), {
    meaning: 'Kills the process at this place (crash tests); development only',
  }),
} as const satisfies Record<string, Setting>

type Parsed = { [Key in keyof typeof settings]: (typeof settings)[Key] extends Setting<infer Value> ? Value : never }

/** The platform's configuration: frozen, checked, with all defaults. Names contain the units. */
export type Configuration = Readonly<
  Omit<
    Parsed,
    'appEnv' | 'baseUrl' | 'actorContextMode' | 'authBaseUrl' | 'clinicalBaseUrl' | 'consentBaseUrl' | 'aiReviewBaseUrl'
  > & {
    /** The active profile (contract section 4). */
    profile: Profile
    actorContextMode: ActorContextMode
    baseUrl: string
    authBaseUrl: string
    clinicalBaseUrl: string
    consentBaseUrl: string
    aiReviewBaseUrl: string
    /** Weak settings that the profile allows, for operators. Logged at start. `/health` is public and omits them. */
    warnings: readonly string[]
  }
>

export type Environment = Readonly<Record<string, string | undefined>>

/** Reads the environment once. An empty variable counts as unset. Throws `ConfigurationError`. */
export function loadConfiguration(env: Environment): Configuration {
  const parsed = parseAll(env)
  if (parsed.appEnv === undefined && !isLoopbackHost(parsed.host)) {
    throw new ConfigurationError('APP_ENV must be development or production when HOST is not a loopback address')
  }
  const profile = parsed.appEnv ?? 'development'
  const baseUrl =
    parsed.baseUrl ?? `http://${parsed.host.includes(':') ? `[${parsed.host}]` : parsed.host}:${parsed.port}`
  const { appEnv: _appEnv, ...rest } = parsed
  const configuration = {
    ...rest,
    profile,
    baseUrl,
    actorContextMode: parsed.actorContextMode ?? (profile === 'production' ? ('resolve' as const) : ('trust' as const)),
    authBaseUrl: parsed.authBaseUrl ?? baseUrl,
    clinicalBaseUrl: parsed.clinicalBaseUrl ?? baseUrl,
    consentBaseUrl: parsed.consentBaseUrl ?? baseUrl,
    aiReviewBaseUrl: parsed.aiReviewBaseUrl ?? baseUrl,
  }
  const warnings = checkProfile({ ...configuration, isTlsVerified: env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0' })
  return deepFreeze({ ...configuration, warnings })
}

function parseAll(env: Environment): Parsed {
  const values = Object.entries<Setting>(settings).map(([member, { name, initial, mustBe, parse }]) => {
    const given = env[name] === undefined || env[name] === '' ? initial : env[name]
    if (given === undefined) return [member, undefined]
    const result = parse(given)
    if (result === undefined) throw new ConfigurationError(`${name} must be ${mustBe}`)
    return [member, result.value]
  })
  return Object.fromEntries(values) as Parsed
}

export interface ConfigurationRow {
  readonly name: string
  /** Empty if the variable is unset by default. */
  readonly default: string
  readonly meaning: string
  readonly unit: string
  readonly isSecret: boolean
}

/** The configuration table of the README, in its order. */
export function configurationTable(): readonly ConfigurationRow[] {
  return Object.values(settings).map(({ name, defaultText, meaning, unit, isSecret }) => ({
    name,
    default: defaultText,
    meaning,
    unit,
    isSecret,
  }))
}
