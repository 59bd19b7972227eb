import { describe, expect, it } from 'vitest'
import { configurationTable, loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { ConfigurationError } from '../../../platform/configuration/profile-rules.ts'
import { keycloakEnv } from '../../support/keycloak-stand-in.ts'

const production = { APP_ENV: 'production' }
const secret = 'a-secret-that-nobody-should-ever-see'

describe('defaults', () => {
  it('need no variables', () => {
    expect(loadConfiguration({})).toMatchObject({
      profile: 'development',
      host: '127.0.0.1',
      port: 8080,
      baseUrl: 'http://127.0.0.1:8080',
      consentBaseUrl: undefined,
      aiReviewBaseUrl: 'http://127.0.0.1:8080',
      actorContextMode: 'trust',
      tokenTtlSeconds: 3600,
      providerSessionTtlSeconds: 1800,
      providerResultMaxAttempts: 20,
      providerResultBackoffScheduleMs: [5000, 15000, 30000, 60000, 120000, 300000],
      providerStartRetryScheduleMs: [2000, 4000, 8000],
      readYourWritesMs: 500,
      stepTimeoutMs: 15000,
      stepLeaseMs: 20000,
      stepParkAfter: 20,
      stepParkedRetrySeconds: 3600,
      egressAllow: [],
      mailTransport: 'smtp',
      notificationWorkers: 10,
      notificationRetryScheduleMs: [2000, 4000, 8000, 16000],
      notificationEventMaxAgeSeconds: 86_400,
      adminApiSecret: undefined,
      warnings: [],
    })
  })

  it('are frozen, including lists', () => {
    const configuration = loadConfiguration({})
    expect([Object.isFrozen(configuration), Object.isFrozen(configuration.providerResultBackoffScheduleMs)]).toEqual([
      true,
      true,
    ])
  })

  it('allow blanks in lists', () => {
    expect(
      loadConfiguration({ EGRESS_ALLOW: 'hooks.test, 10.0.0.0/8,hooks.test:8443, fd12::/16 ,::1' }).egressAllow,
    ).toEqual(['hooks.test', '10.0.0.0/8', 'hooks.test:8443', 'fd12::/16', '::1'])
    expect(loadConfiguration({ CORS_ORIGINS: 'https://app.test, http://127.0.0.1:3000' }).corsOrigins).toEqual([
      'https://app.test',
      'http://127.0.0.1:3000',
    ])
  })

  it('name foreign channels, alone or for some organisations', () => {
    const org = '018f0000-0000-7000-8000-00000000000a'
    const channels = (value?: string) => loadConfiguration({ FOREIGN_CHANNELS: value }).foreignChannels
    expect(channels()).toEqual([])
    expect(channels(`clinic.events, lab.events:${org.toUpperCase()},lab.events:${org}`)).toEqual([
      { name: 'clinic.events', organisations: null },
      { name: 'lab.events', organisations: [org, org] },
    ])
    for (const wrong of ['$all', 'a b', 'a:', 'a:org', `a,a:${org}`, 'a,a', `a:${org}:${org}`])
      expect(() => channels(wrong)).toThrow('FOREIGN_CHANNELS must be')
  })

  it('name witnesses with their keys, and a quorum of them', () => {
    const [one, two] = [
      'witness.example/w1+a7e12144+BGG3op9v3HIXXDPBmFc/0CioJHhGCXc+pyvvFPlBZdYO',
      'witness.example/w2+3a3120e0+BGG3op9v3HIXXDPBmFc/0CioJHhGCXc+pyvvFPlBZdYO',
    ]
    const read = (value: string, quorum = '') =>
      loadConfiguration({ WITNESSES: value, WITNESS_QUORUM: quorum }).witnesses
    expect(read('')).toEqual([])
    expect(read(`http://10.0.0.7:8430/ ${one} , https://w.example/x ${two}`, '2')).toEqual([
      { address: 'http://10.0.0.7:8430', vkey: one },
      { address: 'https://w.example/x', vkey: two },
    ])
    const log = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'
    for (const wrong of [
      one,
      `http://a ${log}`,
      `ftp://a ${one}`,
      `http://a ${one},http://b ${one}`,
      `http://a?b ${one}`,
    ])
      expect(() => read(wrong)).toThrow('WITNESSES must be')
    expect(() => read(`http://a ${one}`, '2')).toThrow('WITNESS_QUORUM must not be more')
    for (const wrong of ['a b', 'a+b', 'a\u0007'])
      expect(() => loadConfiguration({ SEAL_ORIGIN: wrong })).toThrow('SEAL_ORIGIN must be')
  })

  it('replace empty variables', () => {
    expect(loadConfiguration({ PORT: '', ADMIN_API_SECRET: '' })).toMatchObject({
      port: 8080,
      adminApiSecret: undefined,
    })
  })

  it('accept organisations in any case', () => {
    const required = (value?: string) => loadConfiguration({ CONSENT_SCOPES_REQUIRED: value }).consentScopesRequired
    expect([required(), required(''), required('off'), required('all')]).toEqual([[], [], [], 'all'])
    const [first, second] = ['018f0000-0000-7000-8000-00000000000a', '018f0000-0000-7000-8000-00000000000b'] as const
    expect(required(`${first.toUpperCase()}, ${second}`)).toEqual([first, second])
  })

  it('may derive from other variables', () => {
    expect(loadConfiguration({ HOST: '::1', PORT: '9000' }).baseUrl).toBe('http://[::1]:9000')
    expect(
      loadConfiguration({ BASE_URL: 'https://clinic.test/', CONSENT_BASE_URL: 'https://consent.test' }),
    ).toMatchObject({
      baseUrl: 'https://clinic.test',
      clinicalBaseUrl: undefined,
      consentBaseUrl: 'https://consent.test',
    })
  })
})

it.each([
  ['smtp://mail.test', { SMTP_FROM: 'no-reply@clinic.test' }],
  ['smtps://us%40er:p%3Aass@mail.test:2465/', { SMTP_FROM: 'The Clinic <no-reply@clinic.test>' }],
])('%s is a mail server, with a sender', (url, { SMTP_FROM }) => {
  expect(loadConfiguration({ SMTP_URL: url, SMTP_FROM })).toMatchObject({ smtpUrl: url, smtpFrom: SMTP_FROM })
})

it('SLACK_API_URL ends with a slash, added if missing', () => {
  const read = (url: string) => loadConfiguration({ SLACK_API_URL: url, SLACK_BOT_TOKEN: 'xoxb-1' }).slackApiUrl
  expect([read('https://slack.test/api'), read('https://slack.test/api/')]).toEqual(
    Array(2).fill('https://slack.test/api/'),
  )
})

it('notifications of several, one or no category may be sent twice', () => {
  const categories = (value?: string) =>
    loadConfiguration({ NOTIFICATION_AT_LEAST_ONCE_CATEGORIES: value }).notificationAtLeastOnceCategories
  expect([categories(), categories('none'), categories('clinical, marketing')]).toEqual([
    ['transactional'],
    [],
    ['clinical', 'marketing'],
  ])
})

it.each([
  'esdb://es.test',
  'esdb://es.test:2113',
  'esdb://user:pass@es.test:2113?tls=true',
  'esdb+discover://es.test:2113',
  'esdb://127.0.0.1:2113/?tls=false',
  'esdb://one.test:2113,two.test:2113,10.0.0.1:2113?nodePreference=leader',
  'esdb+discover://user:p%40ss@one.test,two.test',
  'kurrentdb://user:pass@one.test:2113?tls=true',
  'kurrentdb+discover://one.test',
  'kdb://one.test:2113,two.test:2113',
  'kdb+discover://one.test',
  'esdb://[::1]:2113?tls=false',
  'esdb://[2001:db8::1],[2001:db8::2]:2114',
  'esdb://one.test?gossip-timeout=60&Keep_Alive_Interval=-1',
])('%s is a valid event store address', (url) => {
  expect(loadConfiguration({ ESDB_URL: url }).esdbUrl).toBe(url)
})

describe('a wrong variable', () => {
  it.each([
    ['PORT', 'eighty'],
    ['PORT', '70000'],
    ['PORT', '8080.5'],
    ['HOST', 'a b'],
    ['APP_ENV', 'staging'],
    ['LOG_LEVEL', 'loud'],
    ['BASE_URL', 'ftp://x'],
    ['BASE_URL', 'not an address'],
    ['BASE_URL', 'https://user:pass@x'],
    ['BASE_URL', 'https://x?a=b'],
    ['BASE_URL', 'https://x/#'],
    ['BASE_URL', 'https:x'],
    ['BASE_URL', 'https:\\\\x'],
    ['BASE_URL', 'https://x\\@y'],
    ['BASE_URL', 'https://x\n'],
    ['BASE_URL', 'https://x /y'],
    ['ESDB_URL', 'http://x'],
    ['ESDB_URL', 'esdb://'],
    ['ESDB_URL', 'esdb://a b'],
    ['ESDB_URL', 'esdb://::1:2113'],
    ['ESDB_URL', 'esdb://[one.test]:2113'],
    ['ESDB_URL', 'esdb://[::1'],
    ['ESDB_URL', 'kurrent://one.test'],
    ['ESDB_URL', 'esdb://one.test?gossipTimeout=5000'],
    ['ESDB_URL', 'esdb://one.test?gossipTimeout=0'],
    ['ESDB_URL', 'esdb://one.test?nodePreference=leading'],
    ['ESDB_URL', 'esdb://one.test?keepAliveInterval=soon'],
    ['ESDB_URL', 'esdb://one.test?tls=maybe'],
    ['ESDB_URL', 'esdb://user:%E0%A4%A@one.test'],
    ['ESDB_URL', 'esdb://one.test:0'],
    ['ESDB_URL', 'esdb://one.test:port'],
    ['ESDB_URL', 'esdb://one.test/path'],
    ['DATABASE_URL', 'mysql://x'],
    ['TOKEN_TTL_SECONDS', '0'],
    ['PROVIDER_RESULT_BACKOFF_SCHEDULE_MS', '1,x'],
    ['PROVIDER_RESULT_BACKOFF_SCHEDULE_MS', '1,,2'],
    ['STEP_LEASE_MS', '60001'],
    ...['0', '-1', '1.5', '1001', 'none'].map((value) => ['AI_REVIEW_MAX_CONCURRENT_PER_ORG', value]),
    ...['0', '-1', '1e3', '100001', 'unlimited'].map((value) => ['AI_REVIEW_DAILY_BUDGET_PER_ORG', value]),
    ['ACTOR_CONTEXT_MODE', 'maybe'],
    ['S3_BUCKET', 'No'],
    ...[
      '{}',
      '[]',
      'x',
      '{"keys":[]}',
      '{"keys":[{"kty":"oct","k":"c2VjcmV0","kid":"a"}]}',
      '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"eA","d":"ZA","kid":"a"}]}',
      '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"eA"}]}',
    ].map((value) => ['ACTOR_CONTEXT_JWKS', value]),
    ['FAILPOINT', 'Not A Name'],
    ['ADMIN_API_SECRET', 'short'],
    ['MASTER_KEYS', 'nokey'],
    ['CONSENT_SCOPES_REQUIRED', 'on'],
    ['CONSENT_SCOPES_REQUIRED', 'all,off'],
    ['CONSENT_SCOPES_REQUIRED', '018f0000-0000-7000-8000-00000000000a,'],
    ['EGRESS_ALLOW', '10.0.0.0/33'],
    ['EGRESS_ALLOW', 'https://x'],
    ['EGRESS_ALLOW', 'a b'],
    ...['*', 'null', 'app.test', 'https://app.test/', 'https://App.test', 'https://app.test:443', 'ftp://app.test'].map(
      (origin) => ['CORS_ORIGINS', origin],
    ),
    ['MAIL_TRANSPORT', 'sendmail'],
    ['SMTP_URL', 'https://mail.test'],
    ['SMTP_URL', 'smtp://user@mail.test'],
    ['SMTP_URL', 'smtp://mail.test/path'],
    ['SMTP_URL', 'smtp://mail.test?tls.rejectUnauthorized=false'],
    ['SMTP_URL', 'smtp://us%0er:%ff@mail.test'],
    ['SMTP_FROM', 'nobody'],
    ['SMTP_FROM', 'Clinic <no-reply@clinic.test>, other@clinic.test'],
    ['SMTP_FROM', 'Clinic <a@b.test> <no-reply@clinic.test>'],
    ['SES_REGION', 'EU WEST'],
    ['SLACK_API_URL', 'https://token@slack.test/api/'],
    ['SLACK_BOT_TOKEN', 'xoxb 1'],
    ['NOTIFICATION_RETRY_SCHEDULE_MS', '2000,'],
    ['NOTIFICATION_AT_LEAST_ONCE_CATEGORIES', 'transactional,others'],
    ['NOTIFICATION_EVENT_MAX_AGE_SECONDS', '0'],
  ])('%s=%s is refused with its name and rule', (name, value) => {
    expect(() => loadConfiguration({ [name]: value })).toThrow(ConfigurationError)
    expect(() => loadConfiguration({ [name]: value })).toThrow(new RegExp(`^${name} must be .+`))
  })

  it('never contains a secret', () => {
    for (const row of configurationTable().filter(({ isSecret }) => isSecret)) {
      const messages = [
        () => loadConfiguration({ [row.name]: `${secret} with blanks \u0001` }),
        () => loadConfiguration({ ...production, [row.name]: secret }),
      ].map((load) => {
        try {
          load()
          return ''
        } catch (error) {
          return String(error)
        }
      })
      expect(messages.join()).not.toContain(secret)
    }
  })
})

type Case = readonly [name: string, env: Readonly<Record<string, string>>]

describe('rules between variables', () => {
  const randomKey = 'q2rKm0pY1xw8k3cZBt5Vh7NfDLs9uEJgXoQi4WAaT6U='
  const everything = [
    '0.0.0.0/0',
    '::/0',
    '0.0.0.0/1,128.0.0.0/1',
    '128.0.0.0/2,0.0.0.0/2,192.0.0.0/2,64.0.0.0/2',
    '::/1,8000::/1',
    '2000::/3',
    '::ffff:0:0/96',
    '64:ff9b::/96',
    '::/80',
    '9.9.9.9/0',
  ]
  const s3 = { S3_ENDPOINT: 'https://s3.test', S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: secret }
  const databases = { DATABASE_URL: 'postgres://127.0.0.1/platform', VAULT_DATABASE_URL: 'postgres://127.0.0.1/vault' }

  const ses = { MAIL_TRANSPORT: 'ses', SES_REGION: 'eu-west-1', SMTP_FROM: 'no-reply@clinic.test' }
  const slack = (address: string) => ({ SLACK_API_URL: address, SLACK_BOT_TOKEN: 'xoxb-1' })

  it.each([
    ['APP_ENV', { HOST: '0.0.0.0' }],
    ['S3_ENDPOINT, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY', { S3_ENDPOINT: 'https://s3.test' }],
    ['PROVIDER_BASE_URL, PROVIDER_LOGIN and PROVIDER_PASSWORD', { PROVIDER_LOGIN: 'x' }],
    [
      'KEYCLOAK_BASE_URL, KEYCLOAK_REALM, KEYCLOAK_CLIENT_ID and KEYCLOAK_CLIENT_SECRET',
      { KEYCLOAK_BASE_URL: 'https://login.test' },
    ],
    ['KEYCLOAK_BASE_URL', { IDP_MODE: 'keycloak' }],
    ['DATABASE_URL and VAULT_DATABASE_URL', { DATABASE_URL: databases.DATABASE_URL }],
    ['SMTP_URL and SMTP_FROM', { SMTP_URL: 'smtp://mail.test' }],
    ['MAIL_TRANSPORT=ses, SES_REGION and SMTP_FROM', { MAIL_TRANSPORT: 'ses', SES_REGION: 'eu-west-1' }],
    ['SMTP_URL must be unset', { ...ses, SMTP_URL: 'smtp://mail.test' }],
    ['SLACK_API_URL and SLACK_BOT_TOKEN', { SLACK_API_URL: 'https://slack.test/api/' }],
    ['VAULT_DATABASE_URL', { ...databases, VAULT_DATABASE_URL: 'postgresql://user@localhost:5432/platform?x=1' }],
    ['STEP_TIMEOUT_MS', { STEP_TIMEOUT_MS: '20000' }],
  ])('%s', (name, env) => {
    expect(() => loadConfiguration(env)).toThrow(name)
  })

  it.each<Case>([
    ['ACTOR_CONTEXT_MODE', { ACTOR_CONTEXT_MODE: 'trust' }],
    ['FAILPOINT', { FAILPOINT: 'slot-claimed' }],
    ['DATABASE_URL', { ...databases, DATABASE_URL: 'postgres://db.test/platform' }],
    ['VAULT_DATABASE_URL', { ...databases, VAULT_DATABASE_URL: 'postgres://db.test/vault?sslmode=prefer' }],
    ['ESDB_URL', { ESDB_URL: 'esdb://one.test:2113,two.test:2113?tls=false' }],
    ['S3_SECRET_ACCESS_KEY', { ...s3, S3_SECRET_ACCESS_KEY: 'short' }],
    ['SERVICE_CLIENT_SECRET', { SERVICE_CLIENT_ID: 'x', SERVICE_CLIENT_SECRET: 'short' }],
    ['SERVICE_CLIENT_SECRET', { SERVICE_CLIENT_ID: 'x', SERVICE_CLIENT_SECRET: '1234567'.repeat(8) }],
    ['S3_SECRET_ACCESS_KEY', { ...s3, S3_SECRET_ACCESS_KEY: 'x'.repeat(64) }],
    ['ADMIN_API_SECRET', { ADMIN_API_SECRET: 'changeme'.repeat(4) }],
    ['KEYCLOAK_BASE_URL', keycloakEnv('http://login.test')],
    ['SES_ENDPOINT', { ...ses, SES_ENDPOINT: 'http://email.test' }],
    ['SLACK_API_URL', slack('http://slack.test/api/')],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.test:4318' }],
    ['KEYCLOAK_CLIENT_SECRET', { ...keycloakEnv('https://login.test'), KEYCLOAK_CLIENT_SECRET: 'short' }],
    ...[
      Buffer.alloc(32),
      Buffer.alloc(32, 0xa5),
      Buffer.from('a1b2'.repeat(16), 'hex'),
      Buffer.from(Array.from({ length: 32 }, (_, index) => index)),
      Buffer.from('the-password-of-our-whole-clinic'),
    ].map((key): Case => ['MASTER_KEYS', { MASTER_KEYS: `old:${randomKey},new:${key.toString('base64')}` }]),
    ...everything.flatMap((ranges): Case[] => [
      ['TRUSTED_PROXIES', { TRUSTED_PROXIES: ranges }],
      ['EGRESS_ALLOW', { EGRESS_ALLOW: `hooks.test,${ranges}` }],
    ]),
    ['RATE_LIMIT_CLIENT_PER_MINUTE', { RATE_LIMIT_CLIENT_PER_MINUTE: '0' }],
    ['RATE_LIMIT_TOKEN_FAILURES_PER_MINUTE', { RATE_LIMIT_TOKEN_FAILURES_PER_MINUTE: '0' }],
  ])('refuses a weak %s in production', (name, env) => {
    expect(() => loadConfiguration({ ...production, ...env })).toThrow(
      new RegExp(`^${name} .*when APP_ENV is production$`),
    )
  })

  it('names all weak settings of production at once', () => {
    const weak = { TRUSTED_PROXIES: '0.0.0.0/0', RATE_LIMIT_CLIENT_BURST: '0', RATE_LIMIT_CREATES_PER_MINUTE: '0' }
    expect(() => loadConfiguration({ ...production, ...weak })).toThrow(
      /^TRUSTED_PROXIES .*; RATE_LIMIT_CLIENT_BURST, RATE_LIMIT_CREATES_PER_MINUTE must be above 0/,
    )
  })

  it('accepts random master keys, ranges of a site, and limits of 0 with RATE_LIMITS=off in production', () => {
    const site = '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7,::1,203.0.113.7'
    const env = { MASTER_KEYS: `a:${randomKey}`, TRUSTED_PROXIES: site, EGRESS_ALLOW: site }
    expect(loadConfiguration({ ...production, ...env }).warnings).toEqual([])
    const { warnings } = loadConfiguration({ ...production, RATE_LIMITS: 'off', RATE_LIMIT_CLIENT_PER_MINUTE: '0' })
    expect(warnings).toEqual([expect.stringContaining('RATE_LIMITS is off')])
  })

  it('warns about development on an address beyond loopback', () => {
    const { warnings } = loadConfiguration({ APP_ENV: 'development', HOST: '0.0.0.0', BASE_URL: 'http://127.0.0.1' })
    expect(warnings).toEqual([expect.stringMatching(/^APP_ENV is development, and HOST is no loopback address/)])
  })

  it('warns about the same in development', () => {
    const { warnings } = loadConfiguration({
      ...databases,
      DATABASE_URL: 'postgres://db.test/platform',
      ...s3,
      S3_SECRET_ACCESS_KEY: 'short',
    })
    expect(warnings).toEqual([expect.stringContaining('DATABASE_URL'), expect.stringContaining('S3_SECRET_ACCESS_KEY')])
  })

  it('accepts embedded servers on loopback without TLS in production', () => {
    expect(
      loadConfiguration({ ...production, HOST: '0.0.0.0', BASE_URL: 'https://clinic.test', ...databases, ...s3 }),
    ).toMatchObject({
      profile: 'production',
      actorContextMode: 'resolve',
      warnings: [],
    })
  })

  it('warns about an administrator secret in production', () => {
    expect(loadConfiguration({ ...production, ADMIN_API_SECRET: secret }).warnings).toEqual([
      expect.stringContaining('ADMIN_API_SECRET'),
    ])
  })
})

it('the table lists each variable once, in capitals, with its unit in its name', () => {
  const rows = configurationTable()
  expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length)
  for (const { name, unit, meaning } of rows) {
    expect(name).toMatch(/^[A-Z][A-Z0-9_]*$/)
    expect(meaning).not.toBe('')
    expect([name, unit]).toEqual([name, name.endsWith('_MS') ? 'ms' : name.endsWith('_SECONDS') ? 's' : ''])
  }
})
