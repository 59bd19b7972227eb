import { url as inspectorUrl } from 'node:inspector'
import { isAddressRange, isEgressEntry } from '../outbound/addresses.ts'
import {
  type ActorContextMode,
  actorContextModes,
  ConfigurationError,
  checkProfile,
  deepFreeze,
  isLoopbackHost,
} from './profile-rules.ts'
import { profiles, type Profile } from '../kit/profiles.ts'
import { eventStoreConsumers } from './event-store-consumers.ts'
import {
  address,
  addressOfMethods,
  databaseAddress,
  eventStoreAddress,
  foreignChannels,
  fraction,
  headerList,
  integer,
  integers,
  isOrigin,
  oneOf,
  optional,
  organisations,
  publicKeys,
  senderAddress,
  setting,
  smtpAddress,
  someOf,
  text,
  texts,
  type Setting,
} from './settings.ts'
import { witnesses } from './witness-addresses.ts'

const http = ['http', 'https'] as const
const traceSamplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const
const daySeconds = 86_400

/** All environment variables of the platform, by their member of `Configuration`. */
const settings = {
  appEnv: optional('APP_ENV', oneOf(...profiles), {
    meaning: 'Profile. It selects the rules for addresses, images, actor contexts and secrets',
    shownDefault: 'development on a loopback HOST',
  }),
  host: setting('HOST', text({ pattern: '^[A-Za-z0-9.:_-]{1,253}$' }, 'a host name or an IP address'), '127.0.0.1', {
    meaning: 'Address that the HTTP server binds to',
  }),
  port: setting('PORT', integer(0, 65_535), '8080', { meaning: 'Port of the HTTP server; 0 takes a free one' }),
  metricsPort: optional('METRICS_PORT', integer(0, 65_535), {
    meaning: 'Port of a listener of its own for `/metrics`, on HOST; 0 takes a free one. Without it PORT serves them',
  }),
  maxConnections: setting('MAX_CONNECTIONS', integer(1, 1_000_000), '4000', {
    meaning: 'Connections to the HTTP server at the same time. Further ones are closed',
  }),
  maxConnectionsPerAddress: setting('MAX_CONNECTIONS_PER_ADDRESS', integer(1, 1_000_000), '1000', {
    meaning:
      'Connections of one address, or of one IPv6 network (/64), at the same time. Those of TRUSTED_PROXIES do not count',
  }),
  baseUrl: optional('BASE_URL', address(http), {
    meaning: 'Public address of the platform, and the issuer of its tokens',
    shownDefault: 'http://HOST:PORT',
  }),
  logLevel: setting('LOG_LEVEL', oneOf('debug', 'info', 'warn', 'error', 'silent'), 'info', {
    meaning: 'Lowest level of the lines that are logged',
  }),
  dataDir: setting('PLATFORM_DATA_DIR', text(), '.platform', {
    meaning: 'Folder of the embedded servers and of credentials.json',
  }),
  adminApiSecret: optional(
    'ADMIN_API_SECRET',
    text({ minLength: 32, pattern: '^[\\x21-\\x7e]+$' }, 'at least 32 visible ASCII characters'),
    {
      meaning: 'Secret for admin routes, sent in X-Admin-Api-Secret. Without it this header gives no access',
      isSecret: true,
    },
  ),
  actorContextMode: optional('ACTOR_CONTEXT_MODE', oneOf(...actorContextModes), {
    meaning:
      'Check of X-Actor-Context: `trust` accepts any, `signed` verifies the signature, `resolve` takes only the user and the organisation from it',
    shownDefault: 'trust in development, resolve in production',
  }),
  actorContextKeys: optional('ACTOR_CONTEXT_JWKS', publicKeys(), {
    meaning: 'JSON Web Key Set. In the mode `signed` its keys verify X-Actor-Context',
    shownDefault: 'the keys of the platform',
  }),
  actorContextTtlSeconds: setting('ACTOR_CONTEXT_TTL_SECONDS', integer(10, 300, 's'), '300', {
    meaning: 'Lifetime of the actor contexts that the platform signs',
  }),
  consentScopesRequired: setting('CONSENT_SCOPES_REQUIRED', organisations(), 'off', {
    meaning:
      'Organisations whose consent routes need the scopes consents:read and consents:write: `off`, `all`, or ids with commas between',
  }),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    texts('addresses or address ranges, separated by commas', isAddressRange),
    '',
    { meaning: 'Proxies that the platform trusts. It takes the address of the caller from their X-Forwarded-For' },
  ),
  corsOrigins: setting(
    'CORS_ORIGINS',
    texts('origins like https://app.example.org, separated by commas', isOrigin),
    '',
    {
      meaning: 'Origins whose pages may call the API and upload to the embedded object store from a browser',
    },
  ),
  rateLimits: setting('RATE_LIMITS', oneOf('on', 'off'), 'on', {
    meaning: 'Whether production enforces the rate limits. With `off` there are none, not even for wrong credentials',
  }),
  rateLimitClientPerMinute: setting('RATE_LIMIT_CLIENT_PER_MINUTE', integer(0, 1_000_000), '600', {
    meaning:
      'Requests per minute of one client. Only production enforces this and the other rate limits. 0 turns a limit off; production accepts it with RATE_LIMITS=off only',
  }),
  rateLimitClientBurst: setting('RATE_LIMIT_CLIENT_BURST', integer(0, 1_000_000), '100', {
    meaning: 'Requests that one client may send at once',
  }),
  rateLimitOrganisationPerMinute: setting('RATE_LIMIT_ORGANISATION_PER_MINUTE', integer(0, 10_000_000), '6000', {
    meaning: 'Requests per minute of all clients of one organisation together',
  }),
  rateLimitCreatesPerMinute: setting('RATE_LIMIT_CREATES_PER_MINUTE', integer(0, 1_000_000), '120', {
    meaning: 'New assessments per minute of one client',
  }),
  rateLimitTokensPerMinute: setting('RATE_LIMIT_TOKENS_PER_MINUTE', integer(0, 1_000_000), '30', {
    meaning: 'New tokens per minute of one client',
  }),
  rateLimitTokenFailuresPerMinute: setting('RATE_LIMIT_TOKEN_FAILURES_PER_MINUTE', integer(0, 1_000_000), '10', {
    meaning: 'Wrong credentials per minute that one address may send. After that it waits, longer each time',
  }),
  tokenTtlSeconds: setting('TOKEN_TTL_SECONDS', integer(60, daySeconds, 's'), '3600', {
    meaning: 'Lifetime of access tokens',
  }),
  accessLogRetentionDays: setting('ACCESS_LOG_RETENTION_DAYS', integer(1, 36_500), '1825', {
    meaning: 'Days for which the access log contains who saw personal content. Then also the source addresses end',
  }),
  accessLogWindowSeconds: setting('ACCESS_LOG_WINDOW_SECONDS', integer(0, 3600, 's'), '60', {
    meaning:
      'Time within which the same caller who sees the same again is one access with a count. With 0 each answer is an access',
  }),
  databaseUrl: optional('DATABASE_URL', databaseAddress(), {
    meaning:
      'Postgres database of the read models, as an address for node-postgres. In production with verified TLS, except on loopback',
    isSecret: true,
    shownDefault: 'embedded',
  }),
  vaultDatabaseUrl: optional('VAULT_DATABASE_URL', databaseAddress(), {
    meaning: 'Postgres database of the vault. It must not be the one of the read models. Give it a role of its own',
    isSecret: true,
    shownDefault: 'embedded',
  }),
  masterKeys: optional(
    'MASTER_KEYS',
    text(
      {
        pattern:
          '^[A-Za-z0-9._-]+:(vault:v\\d{1,9}:)?[A-Za-z0-9+/=_-]+(,[A-Za-z0-9._-]+:(vault:v\\d{1,9}:)?[A-Za-z0-9+/=_-]+)*$',
      },
      'id:base64key pairs, separated by commas',
    ),
    {
      meaning: 'Master keys, which encrypt the keys of the vault. New keys are encrypted with the first one',
      isSecret: true,
      shownDefault: 'a file in the data folder',
    },
  ),
  masterKeyProvider: optional('MASTER_KEY_PROVIDER', oneOf('env', 'file', 'transit'), {
    meaning:
      'Where the master keys are: `env` in MASTER_KEYS, `file` in the data folder, or `transit` in either of them, wrapped by HashiCorp Vault or OpenBao',
    shownDefault: 'env if MASTER_KEYS is set, else file',
  }),
  transitUrl: optional('TRANSIT_URL', address(http), {
    meaning:
      'The transit engine that unwraps the master keys, such as `https://vault.example:8200/v1/transit`. Each start calls it once; in production by https, except on loopback',
  }),
  transitKey: optional('TRANSIT_KEY', text({ pattern: '^[A-Za-z0-9._-]{1,128}$' }, 'the name of a key'), {
    meaning: 'Name of the key of the transit engine that wraps the master keys',
  }),
  transitToken: optional('TRANSIT_TOKEN', text(), {
    meaning: 'Token for the transit engine, with the right to decrypt with that key',
    isSecret: true,
  }),
  backupKeys: optional(
    'BACKUP_KEYS',
    text(
      { pattern: '^[A-Za-z0-9._-]+:[A-Za-z0-9+/=_-]+(,[A-Za-z0-9._-]+:[A-Za-z0-9+/=_-]+)*$' },
      'id:base64key pairs, separated by commas',
    ),
    {
      meaning:
        'Keys of backups, in the form of MASTER_KEYS. New backups are encrypted with the first one. Without them no backup is made or read',
      isSecret: true,
    },
  ),
  backupTo: optional('BACKUP_TO', text(), {
    meaning: 'Place of the backups that BACKUP_SCHEDULE makes: a folder, or s3:// with bucket and prefix',
  }),
  eventstoreBackupCommand: optional('EVENTSTORE_BACKUP_COMMAND', text(), {
    meaning:
      'Shell command that copies an event store that is not the embedded one. `backup create` runs it with BACKUP_ID and BACKUP_POSITION and goes on when it has ended',
  }),
  backupS3Endpoint: optional('BACKUP_S3_ENDPOINT', address(http), {
    meaning:
      'Address of the object store of backups whose place begins with s3://. In production by https, except on loopback',
  }),
  backupS3Region: setting('BACKUP_S3_REGION', text({ maxLength: 64 }), 'us-east-1', {
    meaning: 'Region of the object store of backups',
  }),
  backupS3AccessKeyId: optional('BACKUP_S3_ACCESS_KEY_ID', text(), {
    meaning: 'Credential of the object store of backups',
  }),
  backupS3SecretAccessKey: optional('BACKUP_S3_SECRET_ACCESS_KEY', text(), {
    meaning: 'Credential of the object store of backups',
    isSecret: true,
  }),
  backupSchedule: optional('BACKUP_SCHEDULE', text({ maxLength: 255 }, 'a cron expression'), {
    meaning: 'Cron expression, in UTC, by which `npm start` makes a backup of its embedded event store in BACKUP_TO',
  }),
  backupMaxAgeHours: optional('BACKUP_MAX_AGE_HOURS', integer(1, 8_760), {
    meaning: 'Age of the newest verified backup after which `/health` warns',
    shownDefault: '26 with BACKUP_SCHEDULE, else no warning',
  }),
  backupRetentionDays: setting('BACKUP_RETENTION_DAYS', integer(1, 36_500), '35', {
    meaning:
      'How long backups are kept. The answer about an erasure names the day after which no backup can read the person',
  }),
  erasureVaultHours: setting('ERASURE_VAULT_HOURS', integer(0, 24), '1', {
    meaning:
      'Hours within which the files of the vault are written anew after a key was destroyed. 0: for each erasure',
  }),
  erasureApprovals: setting('ERASURE_APPROVALS', integer(1, 2), '1', {
    meaning: 'How many users must agree to the erasure of a patient: 1, or 2 different ones',
  }),
  esdbUrl: optional('ESDB_URL', eventStoreAddress(), {
    meaning:
      'Connection string of the event store. No other installation may use it. In production with TLS and a user',
    isSecret: true,
    shownDefault: 'embedded',
  }),
  foreignChannels: setting('FOREIGN_CHANNELS', foreignChannels(), '', {
    meaning:
      'Streams of other services in the same event store from which the platform takes events: `name` is trusted for every organisation, `name:<orgId>` for one. A newly named stream is read from its end',
  }),
  eventStoreConsumers: setting('EVENTSTORE_CONSUMERS', eventStoreConsumers(), '', {
    meaning:
      'Accounts of the embedded event store for services that read the public channels: `login:password` pairs, both percent-encoded. An account that is no longer named is gone after the next start',
    isSecret: true,
  }),
  s3Endpoint: optional('S3_ENDPOINT', address(http), {
    meaning: 'Address of the object store. In production by https, except on loopback',
    shownDefault: 'embedded',
  }),
  s3PublicEndpoint: optional('S3_PUBLIC_ENDPOINT', address(http), {
    meaning:
      'Address of the object store for clients, used in upload_url and download_url. The platform reads such addresses at S3_ENDPOINT',
    shownDefault: 'S3_ENDPOINT',
  }),
  s3Region: setting('S3_REGION', text({ maxLength: 64 }), 'us-east-1', { meaning: 'Region of the object store' }),
  s3Bucket: setting(
    'S3_BUCKET',
    text({ pattern: '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$' }, 'a bucket name'),
    'clinical-assessments',
    { meaning: 'Bucket for image bytes and raw provider responses' },
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
    {
      meaning:
        "Addresses that outbound calls may reach although they are not public. The platform's own servers stay blocked",
    },
  ),
  authBaseUrl: optional('AUTH_BASE_URL', address(http), {
    meaning: 'Address of the auth service',
    shownDefault: 'BASE_URL',
  }),
  clinicalBaseUrl: optional('CLINICAL_BASE_URL', address(http), {
    meaning: 'Address of clinical-api, if it runs elsewhere. AI reviews ask it for the patient of a case',
    shownDefault: 'this process',
  }),
  consentBaseUrl: optional('CONSENT_BASE_URL', address(http), {
    meaning: 'Address of the consent service, if it runs elsewhere. AI reviews ask it before their calls',
    shownDefault: 'this process',
  }),
  aiReviewBaseUrl: optional('AI_REVIEW_BASE_URL', address(http), {
    meaning: 'Address of the AI-review service',
    shownDefault: 'BASE_URL',
  }),
  usersBaseUrl: optional('USERS_BASE_URL', address(http), {
    meaning: 'Address of the users service, if it runs elsewhere. The mode `resolve` and notifications ask it',
    shownDefault: 'this process, for notifications BASE_URL',
  }),
  serviceClientId: optional('SERVICE_CLIENT_ID', text({ maxLength: 255 }), {
    meaning: 'Client that the services use to call each other',
    shownDefault: 'embedded',
  }),
  serviceClientSecret: optional('SERVICE_CLIENT_SECRET', text(), {
    meaning: 'Secret of that client',
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
  console: setting('CONSOLE', oneOf('on', 'off'), 'on', {
    meaning: 'Whether the API role serves the console for operators at /console',
  }),
  consolePassword: optional('CONSOLE_PASSWORD', text({ minLength: 8, maxLength: 255 }, '8 to 255 characters'), {
    meaning:
      'Password of the development sign-in at the console, the same for every user. It counts with IDP_MODE=mock only; `serve` has no sign-in there without it',
    isSecret: true,
    shownDefault: 'for `npm start` in credentials.json',
  }),
  consoleSessionSeconds: setting('CONSOLE_SESSION_SECONDS', integer(1, daySeconds, 's'), '28800', {
    meaning: 'Longest life of a session at the console',
  }),
  consoleIdleSeconds: setting('CONSOLE_IDLE_SECONDS', integer(1, daySeconds, 's'), '1800', {
    meaning: 'A session at the console ends after this time without a request of its person',
  }),
  providerBaseUrl: optional('PROVIDER_BASE_URL', address(http), {
    meaning: 'Address of the inference provider. Required in production, where the simulator is refused',
    shownDefault: 'embedded simulator',
  }),
  providerName: setting('PROVIDER_NAME', text({ maxLength: 255 }), 'inference-provider', {
    meaning: 'Name of the provider in `result.ai_provider`. Results of the simulator have `simulator` there',
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
    meaning: 'Time after which the platform logs in at the provider again',
  }),
  providerResultInitialDelayMs: setting('PROVIDER_RESULT_INITIAL_DELAY_MS', integer(0, 3_600_000, 'ms'), '5000', {
    meaning: 'Delay before the first poll for a result',
  }),
  providerResultMaxAttempts: setting('PROVIDER_RESULT_MAX_ATTEMPTS', integer(1, 1000), '20', {
    meaning: 'Maximum number of polls for a result',
  }),
  providerResultTimeoutMs: setting('PROVIDER_RESULT_TIMEOUT_MS', integer(1, 604_800_000, 'ms'), '600000', {
    meaning: 'Time limit for a result, over all polls',
  }),
  providerResultBackoffScheduleMs: setting(
    'PROVIDER_RESULT_BACKOFF_SCHEDULE_MS',
    integers('ms'),
    '5000,15000,30000,60000,120000,300000',
    { meaning: 'Delays between polls for a result. The last one repeats' },
  ),
  providerStartRetryScheduleMs: setting('PROVIDER_START_RETRY_SCHEDULE_MS', integers('ms'), '2000,4000,8000', {
    meaning: 'Delays before the retries of a call that starts a job',
  }),
  providerRequestingSystem: setting(
    'PROVIDER_REQUESTING_SYSTEM',
    text({ maxLength: 255 }),
    'clinical-assessment-platform',
    { meaning: 'Name of this system in provider cases' },
  ),
  providerSuccessResult: setting('PROVIDER_SUCCESS_RESULT', text({ maxLength: 255 }), 'SUCCESSFUL_PROCESSING', {
    meaning: "Value of the provider's analysisResult that means success",
  }),
  aiReviewMaxConcurrentPerOrg: optional('AI_REVIEW_MAX_CONCURRENT_PER_ORG', integer(1, 1000), {
    meaning: 'AI reviews of one organisation that run at the same time. Others wait, the oldest first. Unset: no limit',
  }),
  aiReviewDailyBudgetPerOrg: optional('AI_REVIEW_DAILY_BUDGET_PER_ORG', integer(1, 100_000), {
    meaning: 'AI reviews that one organisation may start in one UTC day. Unset: no limit',
  }),
  webhookRetryScheduleMs: setting(
    'WEBHOOK_RETRY_SCHEDULE_MS',
    integers('ms'),
    '0,5000,300000,1800000,7200000,18000000,36000000,50400000,72000000,86400000',
    { meaning: 'Delay before each delivery attempt, varied by 20 % up or down' },
  ),
  webhookTimeoutMs: setting('WEBHOOK_TIMEOUT_MS', integer(100, 50_000, 'ms'), '15000', {
    meaning: 'Time limit of one delivery attempt',
  }),
  webhookDisableAfterSeconds: setting('WEBHOOK_DISABLE_AFTER_SECONDS', integer(1, 31_536_000, 's'), '432000', {
    meaning: 'A webhook subscription is disabled after this time without a successful delivery',
  }),
  webhookWorkers: setting('WEBHOOK_WORKERS', integer(1, 1000), '64', {
    meaning: 'Webhook deliveries that one instance makes at the same time. They do not count against PROCESS_WORKERS',
  }),
  webhookWorkersPerEndpoint: setting('WEBHOOK_WORKERS_PER_ENDPOINT', integer(1, 1000), '8', {
    meaning: 'Deliveries to one subscription at the same time. Only one while its endpoint fails',
  }),
  mailTransport: setting('MAIL_TRANSPORT', oneOf('smtp', 'ses'), 'smtp', {
    meaning: 'How mails are sent: by a mail server, or by the API of Amazon SES',
  }),
  smtpUrl: optional('SMTP_URL', smtpAddress(), {
    meaning:
      'Mail server, `smtp://` (STARTTLS) or `smtps://`, with user and password. Without TLS only on loopback, and in development if it has no user',
    isSecret: true,
    shownDefault: 'embedded mail box',
  }),
  smtpFrom: optional('SMTP_FROM', senderAddress(), {
    meaning: 'Sender of all mails, `address` or `Name <address>`. Its domain is in the Message-ID',
    shownDefault: 'embedded mail box',
  }),
  sesRegion: optional('SES_REGION', text({ pattern: '^[a-z0-9-]{1,64}$' }, 'the name of a region'), {
    meaning: 'Region of Amazon SES. The credentials are those that the AWS SDK finds',
  }),
  sesEndpoint: optional('SES_ENDPOINT', address(http), {
    meaning: 'Address of the SES API, for example of a VPC endpoint; in production by https, except on loopback',
    shownDefault: 'that of the region',
  }),
  slackApiUrl: optional('SLACK_API_URL', addressOfMethods(http), {
    meaning:
      'Slack Web API, `https://slack.com/api/`. In production by https, except on loopback; unset there, chat messages fail',
    shownDefault: 'embedded chat receiver',
  }),
  slackBotToken: optional('SLACK_BOT_TOKEN', text({ pattern: '^[\\x21-\\x7e]+$' }, 'visible ASCII characters'), {
    meaning: 'Token of the bot that posts chat messages',
    isSecret: true,
    shownDefault: 'embedded chat receiver',
  }),
  notificationWorkers: setting('NOTIFICATION_WORKERS', integer(1, 1000), '10', {
    meaning: 'Notifications that one instance sends at the same time',
  }),
  notificationRetryScheduleMs: setting('NOTIFICATION_RETRY_SCHEDULE_MS', integers('ms'), '2000,4000,8000,16000', {
    meaning: 'Delays between the attempts of one notification; one more attempt than delays',
  }),
  notificationAtLeastOnceCategories: setting(
    'NOTIFICATION_AT_LEAST_ONCE_CATEGORIES',
    someOf('transactional', 'clinical', 'marketing', 'operational'),
    'transactional',
    {
      meaning:
        'Categories whose notifications are sent again after an attempt without an answer, so that they may arrive twice; `none` for none',
    },
  ),
  failedRetentionSeconds: setting('FAILED_RETENTION_SECONDS', integer(1, 315_360_000, 's'), '604800', {
    meaning:
      'How long the list of failed notifications shows them, and operators see failed deliveries, notifications and AI reviews',
  }),
  notificationEventMaxAgeSeconds: setting('NOTIFICATION_EVENT_MAX_AGE_SECONDS', integer(1, 31_536_000, 's'), '86400', {
    meaning: 'Events recorded longer ago than this make no notification',
  }),
  readUrlTtlSeconds: setting('READ_URL_TTL_SECONDS', integer(1, 604_800, 's'), '3600', {
    meaning: 'Lifetime of the addresses from which the AI review reads images',
  }),
  downloadUrlTtlSeconds: setting('DOWNLOAD_URL_TTL_SECONDS', integer(1, 604_800, 's'), '900', {
    meaning: 'Lifetime of download_url',
  }),
  uploadUrlTtlSeconds: setting('UPLOAD_URL_TTL_SECONDS', integer(1, 604_800, 's'), '300', {
    meaning: 'Lifetime of upload_url',
  }),
  uploadWindowSeconds: setting('UPLOAD_WINDOW_SECONDS', integer(1, 2_592_000, 's'), '86400', {
    meaning:
      'Time for uploads. After it, an assessment without its images fails with UPLOAD_WINDOW_EXPIRED, and a single image accepts no upload',
  }),
  stagingTtlSeconds: setting('STAGING_TTL_SECONDS', integer(1, 604_800, 's'), '3600', {
    meaning: 'Age at which image bytes of unfinished requests are removed. Must be longer than any request takes',
  }),
  assessmentDeadlineSeconds: setting('ASSESSMENT_DEADLINE_SECONDS', integer(1, 604_800, 's'), '3600', {
    meaning: 'An unfinished analysis fails with ANALYSIS_TIMEOUT after this time',
  }),
  sealIntervalSeconds: setting('SEAL_INTERVAL_SECONDS', integer(1, daySeconds, 's'), '60', {
    meaning: 'How often the log is sealed if there are new events. 10,000 new events are sealed at once',
  }),
  sealOrigin: optional('SEAL_ORIGIN', text({ pattern: '^[^\\s+\\p{Cc}]{1,200}$' }, 'a name without blanks and +'), {
    meaning: 'Name of the sealed log, for example `audit.clinic.example/log`. It is fixed at the first seal',
    shownDefault: 'host of BASE_URL, `/log/`, and eight hex digits of the installation',
  }),
  witnesses: setting('WITNESSES', witnesses(), '', {
    meaning:
      'Witnesses that sign each seal: `<address> <vkey>` pairs, separated by commas. They may have private addresses, and http: all that they say is signed',
  }),
  witnessQuorum: optional('WITNESS_QUORUM', integer(1, 100), {
    meaning: 'How many witnesses must have signed the checkpoint of a proof. Later than ten minutes, `/health` warns',
    shownDefault: 'all',
  }),
  otelEndpoint: optional('OTEL_EXPORTER_OTLP_ENDPOINT', address(http), {
    meaning:
      'Collector of traces (OTLP over HTTP), without `/v1/traces`. In production by https, except on loopback. Without it there are no spans, and the SDK of OpenTelemetry is not loaded',
  }),
  otelHeaders: setting('OTEL_EXPORTER_OTLP_HEADERS', headerList(), '', {
    meaning: 'Headers for the collector: `name=value` pairs, separated by commas, with percent-encoded values',
    isSecret: true,
  }),
  otelServiceName: setting('OTEL_SERVICE_NAME', text({ maxLength: 255 }), 'clinical-assessment-platform', {
    meaning: 'Name of the platform in traces',
  }),
  otelTracesSampler: setting('OTEL_TRACES_SAMPLER', oneOf(...traceSamplers), 'parentbased_always_on', {
    meaning:
      'Which traces are exported. `parentbased_`: a caller that sends `traceparent` has decided, and the rest of the name is for other requests',
  }),
  otelTracesSamplerArg: setting('OTEL_TRACES_SAMPLER_ARG', fraction(), '1', {
    meaning: 'The part of traces that `traceidratio` exports, from 0 to 1',
  }),
  processWorkers: setting('PROCESS_WORKERS', integer(1, 1000), '10', { meaning: 'Process workers of one instance' }),
  instanceId: optional('INSTANCE_ID', text(), {
    meaning:
      'Name of a processor that stays the same over its restarts, and that no other processor has. After a crash it continues its cut-off steps at once; without it they wait for their lease',
  }),
  stepTimeoutMs: setting('STEP_TIMEOUT_MS', integer(1, 59_000, 'ms'), '15000', {
    meaning: 'Time limit of one process step. Must be below STEP_LEASE_MS',
  }),
  stepLeaseMs: setting('STEP_LEASE_MS', integer(2, 60_000, 'ms'), '20000', {
    meaning: 'Lease of a step: the time for which it belongs to one worker',
  }),
  stepParkAfter: setting('STEP_PARK_AFTER', integer(1, 1_000), '20', {
    meaning: 'After so many runs in a row that threw, a step is parked: it is tried seldom, and at once by a retry',
  }),
  stepParkedRetrySeconds: setting('STEP_PARKED_RETRY_SECONDS', integer(1, 86_400, 's'), '3600', {
    meaning: 'Time between two tries of a parked step',
  }),
  readYourWritesMs: setting('READ_YOUR_WRITES_MS', integer(0, 10_000, 'ms'), '500', {
    meaning: 'Longest time that a write waits until the read models contain it',
  }),
  failpoint: optional('FAILPOINT', text({ pattern: '^[a-z][a-z0-9-]{0,63}$' }, 'the name of a failpoint'), {
    meaning: 'Name of the place at which the process kills itself, for crash tests. Development only',
  }),
} as const satisfies Record<string, Setting>

type Parsed = { [Key in keyof typeof settings]: (typeof settings)[Key] extends Setting<infer Value> ? Value : never }

/** The platform's configuration: frozen, checked, with all defaults. Names contain the units. */
export type Configuration = Readonly<
  Omit<Parsed, 'appEnv' | 'baseUrl' | 'actorContextMode' | 'authBaseUrl' | 'aiReviewBaseUrl'> & {
    /** The active profile. */
    profile: Profile
    actorContextMode: ActorContextMode
    baseUrl: string
    authBaseUrl: string
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
    aiReviewBaseUrl: parsed.aiReviewBaseUrl ?? baseUrl,
  }
  const warnings = checkProfile({
    ...configuration,
    isTlsVerified: env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0',
    isInspected: inspectorUrl() !== undefined,
  })
  return deepFreeze({ ...configuration, warnings })
}

function parseAll(env: Environment): Parsed {
  const values = Object.entries<Setting>(settings).map(([member, { name, initial, mustBe, parse }]) => {
    const given = env[name] === undefined || env[name] === '' ? initial : env[name]
    if (given === undefined) return [member, undefined]
    const result = parse(given)
    if (result === undefined) throw new ConfigurationError(`${name} must be ${mustBe(given)}`)
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

/** The rows of docs/configuration.md, in its order. */
export function configurationTable(): readonly ConfigurationRow[] {
  return Object.values(settings).map(({ name, defaultText, meaning, unit, isSecret }) => ({
    name,
    default: defaultText,
    meaning,
    unit,
    isSecret,
  }))
}
