import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { loadConfiguration, type Environment } from '../../../platform/configuration/configuration.ts'

const publicAddress = { BASE_URL: 'https://clinic.test' }
const s3 = (addresses: Environment) => ({
  S3_ENDPOINT: 'https://s3.test',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: '0123456789abcdef'.repeat(2),
  ...addresses,
})
const provider = (PROVIDER_BASE_URL: string) => ({
  PROVIDER_BASE_URL,
  PROVIDER_LOGIN: 'us',
  PROVIDER_PASSWORD: 'secret',
})
const readModels = (DATABASE_URL: string) => ({ DATABASE_URL, VAULT_DATABASE_URL: 'postgres://127.0.0.1/vault' })
const vault = (VAULT_DATABASE_URL: string) => ({ DATABASE_URL: 'postgres://127.0.0.1/platform', VAULT_DATABASE_URL })
const store = (ESDB_URL: string) => ({ ESDB_URL })

/** Each run has another folder of certificates. */
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'addresses-'))
  writeFileSync(join(folder, 'ca.pem'), 'a certificate')
  for (const name of ['PGHOST', 'PGPORT', 'PGDATABASE', 'PGUSER', 'PGSSLMODE']) vi.stubEnv(name, undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

function outcome(profile: 'development' | 'production', env: Environment): string {
  const written = Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, value?.replaceAll('FOLDER', folder)]),
  )
  try {
    const { warnings } = loadConfiguration({ APP_ENV: profile, ...publicAddress, ...written })
    return warnings.length === 0 ? 'accepted' : `warned: ${warnings.join('; ')}`
  } catch (error) {
    return `refused: ${error instanceof Error ? error.message : String(error)}`
  }
}

const https = 'must be https, except on loopback'
const tls = 'must ask for TLS (sslmode=verify-full)'
const noTls = 'must not turn TLS off'
const noCredentials = 'must name a user and a password, which the client sends by TLS only'
const isDefault = 'must not have the default password of EventStoreDB'

/** Accepted in both profiles. */
test.each<[string, Environment]>([
  ['own address by https', { BASE_URL: 'https://clinic.test/base/' }],
  ['own address on loopback', { BASE_URL: 'http://127.0.0.1:8080' }],
  ['own address on loopback by another of its addresses', { BASE_URL: 'http://127.9.9.9:8080' }],
  ['own address on loopback in decimal, which URL reads as 127.0.0.1', { BASE_URL: 'http://2130706433:8080' }],
  ['own address on IPv6 loopback', { BASE_URL: 'http://[::1]:8080' }],
  ['services by https', { AUTH_BASE_URL: 'https://auth.test', AI_REVIEW_BASE_URL: 'https://reviews.test' }],
  ['services on loopback', { CLINICAL_BASE_URL: 'http://localhost:1', CONSENT_BASE_URL: 'http://LOCALHOST:2' }],
  ['object store by https', s3({ S3_PUBLIC_ENDPOINT: 'https://objects.test' })],
  ['object store on loopback', s3({ S3_ENDPOINT: 'http://127.0.0.1:9000', S3_PUBLIC_ENDPOINT: 'http://[::1]:9000' })],
  ['provider by https', provider('https://provider.test')],
  ['database with TLS', readModels('postgres://u:p@db.test/platform?sslmode=verify-full')],
  [
    'database with TLS and a CA',
    readModels('postgres://u:p@db.test/platform?sslmode=verify-full&sslrootcert=FOLDER/ca.pem'),
  ],
  ['database with require, which pg verifies', readModels('postgres://u:p@db.test/platform?sslmode=require')],
  ['database with ssl=true, which pg verifies', readModels('postgres://u:p@db.test/platform?ssl=true')],
  ['database with TLS from the first byte', readModels('postgres://u:p@db.test/platform?sslnegotiation=direct')],
  ['database whose parameter names loopback', readModels('postgres://u:p@db.test/platform?host=127.0.0.1')],
  ['database on a socket of this machine', readModels('postgres://u:p@db.test/platform?host=/var/run/postgresql')],
  ['database on IPv6 loopback', readModels('postgres://u:p@[::1]:5433/platform')],
  ['event store with TLS and a user', store('esdb://platform:secret@es.test:2113')],
  [
    'event store with TLS and a CA',
    store('esdb://platform:secret@es.test:2113?tls=true&tlsCAFile=/etc/ca.pem&tlsVerifyCert=true'),
  ],
  ['cluster by DNS', store('esdb+discover://platform:p%40ss@es.test')],
  ['cluster of three', store('esdb://platform:secret@a.test:2113,b.test:2113,c.test:2113?nodePreference=leader')],
  [
    'event store with a client certificate',
    store('esdb://es.test:2113?userCertFile=/etc/user.pem&userKeyFile=/etc/user.key'),
  ],
  [
    'event store with a repeated option, where the last one counts',
    store('esdb://platform:secret@es.test:2113?tls=false&TLS=true'),
  ],
])('%s', (_, env) => {
  expect([outcome('development', env), outcome('production', env)]).toEqual(['accepted', 'accepted'])
})

/** Weak settings by variable: production refuses them, development warns. */
test.each<[string, Environment, string]>([
  ['own address by http', { BASE_URL: 'http://clinic.test' }, `BASE_URL ${https}`],
  ['own address on all interfaces', { BASE_URL: 'http://0.0.0.0:8080' }, `BASE_URL ${https}`],
  ['own address on a mapped address', { BASE_URL: 'http://[::ffff:8.8.8.8]:8080' }, `BASE_URL ${https}`],
  ['auth service by http', { AUTH_BASE_URL: 'http://auth.test' }, `AUTH_BASE_URL ${https}`],
  ['clinical-api by http', { CLINICAL_BASE_URL: 'http://localhost.evil.example' }, `CLINICAL_BASE_URL ${https}`],
  ['consent service by http', { CONSENT_BASE_URL: 'http://127.0.0.1.nip.io' }, `CONSENT_BASE_URL ${https}`],
  ['AI review by http', { AI_REVIEW_BASE_URL: 'http://10.0.0.1' }, `AI_REVIEW_BASE_URL ${https}`],
  [
    'object store by http',
    s3({ S3_ENDPOINT: 'http://s3.test', S3_PUBLIC_ENDPOINT: 'https://s3.test' }),
    `S3_ENDPOINT ${https}`,
  ],
  ['public object store by http', s3({ S3_PUBLIC_ENDPOINT: 'http://localhost.:9000' }), `S3_PUBLIC_ENDPOINT ${https}`],
  ['provider by http', provider('HTTP://provider.test'), `PROVIDER_BASE_URL ${https}`],
  ['database without TLS', readModels('postgres://u:p@db.test/platform'), `DATABASE_URL ${tls}`],
  ['database with optional TLS', readModels('postgres://u:p@db.test/platform?sslmode=disable'), `DATABASE_URL ${tls}`],
  [
    'database that leaves TLS to the server',
    readModels('postgres://u:p@db.test/platform?sslmode=prefer'),
    `DATABASE_URL ${tls}`,
  ],
  [
    'database whose certificate is not checked',
    readModels('postgres://u:p@db.test/platform?sslmode=no-verify'),
    `DATABASE_URL ${tls}`,
  ],
  [
    'database whose ssl is no-verify',
    readModels('postgres://u:p@db.test/platform?ssl=no-verify'),
    `DATABASE_URL ${tls}`,
  ],
  [
    'database with TLS by one parameter and not by another',
    readModels('postgres://u:p@db.test/platform?ssl=true&sslmode=disable'),
    `DATABASE_URL ${tls}`,
  ],
  ['database whose ssl is 0', readModels('postgres://u:p@db.test/platform?ssl=0'), `DATABASE_URL ${tls}`],
  [
    'database with libpq meanings of require',
    readModels('postgres://u:p@db.test/platform?uselibpqcompat=true&sslmode=require'),
    `DATABASE_URL ${tls}`,
  ],
  [
    'database whose name is not checked',
    readModels('postgres://u:p@db.test/platform?uselibpqcompat=true&sslmode=verify-ca&sslrootcert=FOLDER/ca.pem'),
    `DATABASE_URL ${tls}`,
  ],
  [
    'database behind a loopback name',
    readModels('postgres://u:p@127.0.0.1/platform?host=db.test'),
    `DATABASE_URL ${tls}`,
  ],
  [
    'database on a host that only looks like loopback',
    readModels('postgres://u:p@localhost.evil.example/platform'),
    `DATABASE_URL ${tls}`,
  ],
  ['database on 0.0.0.0', readModels('postgres://u:p@0.0.0.0/platform'), `DATABASE_URL ${tls}`],
  ['vault without TLS', vault('postgres://u:p@db.test/vault?ssl=false'), `VAULT_DATABASE_URL ${tls}`],
  [
    'event store without TLS',
    store('esdb://platform:secret@es.test:2113?tls=false'),
    `ESDB_URL ${noTls}; ESDB_URL ${noCredentials}`,
  ],
  [
    'event store without TLS in capitals',
    store('esdb://platform:secret@es.test:2113?TLS=false'),
    `ESDB_URL ${noTls}; ESDB_URL ${noCredentials}`,
  ],
  [
    'event store without TLS, the last of two',
    store('esdb://platform:secret@es.test:2113?tls=true&tls=false'),
    `ESDB_URL ${noTls}; ESDB_URL ${noCredentials}`,
  ],
  [
    'cluster with one node elsewhere, without TLS',
    store('esdb://platform:secret@127.0.0.1:2113,es.test:2113?tls=false'),
    `ESDB_URL ${noTls}; ESDB_URL ${noCredentials}`,
  ],
  ['event store without credentials', store('esdb://es.test:2113'), `ESDB_URL ${noCredentials}`],
  [
    'event store with half a client certificate',
    store('esdb://es.test:2113?userCertFile=/etc/user.pem'),
    `ESDB_URL ${noCredentials}`,
  ],
  ['event store with the default password', store('esdb://admin:changeit@es.test:2113'), `ESDB_URL ${isDefault}`],
  [
    'event store with the default password of ops, encoded',
    store('esdb://ops:change%69t@es.test:2113'),
    `ESDB_URL ${isDefault}`,
  ],
])('%s', (_, env, weakness) => {
  expect(outcome('production', env)).toBe(`refused: ${weakness} when APP_ENV is production`)
  expect(outcome('development', env)).toContain(`warned: ${weakness}`)
})

test.each([
  'esdb://127.0.0.1:2113?tls=false',
  'esdb://platform:secret@127.0.0.1:2113?tls=false',
  'esdb://127.0.0.1:2113',
])(
  'the event store %s allows access without credentials: development accepts it on loopback, production refuses it',
  (url) => {
    expect(outcome('development', store(url))).toBe('accepted')
    expect(outcome('production', store(url))).toBe(`refused: ESDB_URL ${noCredentials} when APP_ENV is production`)
  },
)

const unread =
  'must be a connection string with esdb://, kurrentdb:// or kdb://, each also with +discover, whose options the platform applies (not tlsVerifyCert=false; gossipTimeout is in seconds, at most 60)'
const repeated = 'must be an address with postgres:// or postgresql:// that names each parameter once'

/** Refused in both profiles. */
test.each<[string, Environment, string]>([
  [
    'event store whose certificate is not checked',
    store('esdb://u:hidden@es.test:2113?tlsVerifyCert=false'),
    `ESDB_URL ${unread}`,
  ],
  [
    'event store whose certificate is not checked, in another spelling',
    store('esdb://u:hidden@es.test:2113?TLS_verify-cert=false'),
    `ESDB_URL ${unread}`,
  ],
  [
    'event store with an option that the platform does not know',
    store('esdb://u:hidden@es.test:2113?tlsVerify=true'),
    `ESDB_URL ${unread}`,
  ],
  ['event store of an unknown scheme', store('kurrent://u:hidden@es.test:2113'), `ESDB_URL ${unread}`],
  [
    'database with two modes',
    readModels('postgres://u:hidden@db.test/platform?sslmode=verify-full&sslmode=disable'),
    `DATABASE_URL ${repeated}`,
  ],
  [
    'database with the same mode twice',
    readModels('postgres://u:hidden@db.test/platform?ssl%6dode=disable&sslmode=verify-full'),
    `DATABASE_URL ${repeated}`,
  ],
  [
    'vault with two hosts',
    vault('postgres://u:hidden@127.0.0.1/vault?host=127.0.0.1&host=db.test'),
    `VAULT_DATABASE_URL ${repeated}`,
  ],
  [
    'database with a missing certificate file',
    readModels('postgres://u:hidden@db.test/platform?sslrootcert=FOLDER/none.pem'),
    'DATABASE_URL names a file that cannot be read (ENOENT)',
  ],
  [
    'database with an address that pg cannot parse',
    readModels('postgres://u:hidden@db.test/platform?sslnegotiation=later'),
    'DATABASE_URL must be an address that pg reads',
  ],
])('%s', (_, env, message) => {
  expect([outcome('development', env), outcome('production', env)]).toEqual([
    `refused: ${message}`,
    `refused: ${message}`,
  ])
})

describe('a vault in the database of the read models', () => {
  test.each([
    [
      'another scheme, user, port and parameter',
      'postgres://a:x@localhost/platform',
      'postgresql://b:y@127.0.0.1:5432/platform?application_name=x',
    ],
    ['another name of loopback', 'postgres://[::1]/platform', 'postgres://LOCALHOST/platform'],
    [
      'capitals and a dot at the end of the host',
      'postgres://db.test/platform?sslmode=verify-full',
      'postgres://DB.test./platform?sslmode=verify-full',
    ],
    ['percent-encoding', 'postgres://127.0.0.1/platform', 'postgres://127.0.0.1/pl%61tform'],
    [
      'the host as a parameter',
      'postgres://db.test/platform?sslmode=verify-full',
      'postgres://127.0.0.1/platform?host=db.test&sslmode=verify-full',
    ],
    ['the port as a parameter', 'postgres://127.0.0.1:5433/platform', 'postgres://127.0.0.1/platform?port=5433'],
    ['the user instead of the database', 'postgres://platform@127.0.0.1/platform', 'postgres://platform@127.0.0.1'],
  ])('is refused in both profiles, by %s', (_, url, other) => {
    const env = { DATABASE_URL: url, VAULT_DATABASE_URL: other }
    const refused = 'refused: VAULT_DATABASE_URL must be another database than DATABASE_URL'
    expect([outcome('development', env), outcome('production', env)]).toEqual([refused, refused])
  })

  test('is refused if the variables of pg lead to it', () => {
    const env = { DATABASE_URL: 'postgres://127.0.0.1:5433/platform', VAULT_DATABASE_URL: 'postgres:///' }
    vi.stubEnv('PGUSER', 'platform')
    expect(outcome('production', env)).toBe('accepted')
    vi.stubEnv('PGPORT', '5433')
    expect(outcome('production', env)).toBe('refused: VAULT_DATABASE_URL must be another database than DATABASE_URL')
  })

  test.each([
    ['another port', 'postgres://127.0.0.1/platform', 'postgres://127.0.0.1:5433/platform'],
    ['a database that differs in capitals', 'postgres://127.0.0.1/platform', 'postgres://127.0.0.1/Platform'],
  ])('is not one of %s', (_, url, other) => {
    expect(outcome('production', { DATABASE_URL: url, VAULT_DATABASE_URL: other })).toBe('accepted')
  })
})

test('pg settings from its own variables count', () => {
  vi.stubEnv('PGSSLMODE', 'verify-full')
  expect(outcome('production', readModels('postgres://u:p@db.test/platform'))).toBe('accepted')
  vi.stubEnv('PGHOST', 'db.test')
  vi.stubEnv('PGSSLMODE', 'no-verify')
  expect(outcome('production', readModels('postgres:///platform'))).toBe(
    `refused: DATABASE_URL ${tls} when APP_ENV is production`,
  )
})

test('Node.js must check certificates in production', () => {
  const weakness = 'NODE_TLS_REJECT_UNAUTHORIZED must not turn the check of certificates off'
  expect(outcome('production', { NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toBe(
    `refused: ${weakness} when APP_ENV is production`,
  )
  expect(outcome('development', { NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toBe(`warned: ${weakness}`)
  expect(outcome('production', { NODE_TLS_REJECT_UNAUTHORIZED: '1' })).toBe('accepted')
})
