import type { LookupAddress } from 'node:dns'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadConfiguration, type Environment } from '../../../platform/configuration/configuration.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import type { EgressPurpose } from '../../../platform/outbound/exempt-addresses.ts'
import { EgressError } from '../../../platform/outbound/egress-error.ts'
import { checkOutboundUrl } from '../../../platform/outbound/addresses.ts'
import { createOwnServers, outboundRules } from '../../../platform/outbound/own-servers.ts'
import { watchConnectionAttempts, type ConnectionAttempts } from './connection-attempts.ts'
import { keycloakEnv } from '../../support/keycloak-stand-in.ts'

const asked: string[] = []
const servers = [createServer(answer), createServer(answer)] as const
let [ownPort, otherPort] = [0, 0]
let attempts: ConnectionAttempts

function answer(request: { readonly url?: string | undefined }, response: { end(text: string): void }): void {
  asked.push(request.url ?? '')
  response.end('answered')
}

beforeAll(async () => {
  for (const server of servers)
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  ownPort = ports[0] ?? 0
  otherPort = ports[1] ?? 0
})
afterAll(() => {
  for (const server of servers) server.close()
})
beforeEach(() => {
  asked.length = 0
  attempts = watchConnectionAttempts()
})
afterEach(() => attempts.stop())

const at = (...addresses: readonly string[]): LookupAddress[] =>
  addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
const resolver = (names: Readonly<Record<string, readonly string[]>>) => async (host: string) =>
  at(...(names[host] ?? ['127.0.0.1']))

const s3 = { S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: '0123456789abcdef'.repeat(2) }
const databases = {
  DATABASE_URL: 'postgres://127.0.0.1:5432/platform',
  VAULT_DATABASE_URL: 'postgres://127.0.0.1:5432/vault',
}

const ses = { MAIL_TRANSPORT: 'ses', SES_REGION: 'eu-west-1', SMTP_FROM: 'no-reply@clinic.test' }

/** Each setting with a server of ours, pointing at the port. */
const settings: readonly (readonly [name: string, env: (port: number) => Environment])[] = [
  ['ESDB_URL', (port) => ({ ESDB_URL: `esdb://u:p@127.0.0.1:${port}` })],
  ['ESDB_URL of a cluster', (port) => ({ ESDB_URL: `esdb://u:p@127.0.0.1:2113,127.0.0.1:${port}` })],
  ['DATABASE_URL', (port) => ({ ...databases, DATABASE_URL: `postgres://127.0.0.1:${port}/platform` })],
  [
    'DATABASE_URL by its parameters',
    (port) => ({ ...databases, DATABASE_URL: `postgres:///platform?host=127.0.0.1&port=${port}` }),
  ],
  ['VAULT_DATABASE_URL', (port) => ({ ...databases, VAULT_DATABASE_URL: `postgres://localhost:${port}/vault` })],
  ['S3_ENDPOINT', (port) => ({ ...s3, S3_ENDPOINT: `http://127.0.0.1:${port}` })],
  [
    'S3_PUBLIC_ENDPOINT',
    (port) => ({ ...s3, S3_ENDPOINT: 'http://127.0.0.1:9', S3_PUBLIC_ENDPOINT: `http://127.0.0.1:${port}` }),
  ],
  ['KEYCLOAK_BASE_URL', (port) => keycloakEnv(`http://127.0.0.1:${port}/auth`)],
  [
    'PROVIDER_BASE_URL',
    (port) => ({ PROVIDER_BASE_URL: `http://127.0.0.1:${port}/base`, PROVIDER_LOGIN: 'x', PROVIDER_PASSWORD: 'y' }),
  ],
  ['SMTP_URL', (port) => ({ SMTP_URL: `smtp://127.0.0.1:${port}`, SMTP_FROM: 'no-reply@clinic.test' })],
  ['SES_ENDPOINT', (port) => ({ ...ses, SES_ENDPOINT: `http://127.0.0.1:${port}` })],
  ['SLACK_API_URL', (port) => ({ SLACK_API_URL: `http://127.0.0.1:${port}/api/`, SLACK_BOT_TOKEN: 'x' })],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', (port) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` })],
  ...['BASE_URL', 'AUTH_BASE_URL', 'CLINICAL_BASE_URL', 'CONSENT_BASE_URL', 'AI_REVIEW_BASE_URL'].map(
    (name) => [name, (port: number) => ({ [name]: `http://127.0.0.1:${port}/base` })] as const,
  ),
  ['HOST and PORT', (port) => ({ HOST: '0.0.0.0', PORT: String(port), BASE_URL: 'https://clinic.test' })],
]

/** Another address of this machine, if it has one. */
const lanAddress =
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.3'

const spellings = (port: number): string[] => [
  `http://127.0.0.1:${port}/`,
  `http://localhost:${port}/`,
  `http://LOCALHOST.:${port}/`,
  `http://2130706433:${port}/`,
  `http://0x7f.1:${port}/`,
  `http://[::ffff:127.0.0.1]:${port}/`,
  `http://[::1]:${port}/`,
  `http://127.0.0.2:${port}/`,
  `http://hooks.test:${port}/`,
  `http://mapped.test:${port}/`,
  `http://several.test:${port}/`,
  `http://${lanAddress}:${port}/`,
]
const names = { 'mapped.test': ['::ffff:127.0.0.1'], 'several.test': ['127.0.0.9', '127.0.0.1'] }

/** Calls the addresses by one egress. A refused call leaves no connection, and counts for no circuit. */
async function outcomesOf(
  env: Environment,
  urls: readonly string[],
  purpose: EgressPurpose = 'webhook',
): Promise<string[]> {
  const egress = createEgress({ configuration: loadConfiguration(env), resolve: resolver(names) })
  const outcomeOf = async (url: string): Promise<string> => {
    try {
      return await (await egress.request(url, { purpose, timeoutMs: 5000, maxBytes: 100 })).text()
    } catch (error) {
      return error instanceof EgressError ? error.code : String(error)
    }
  }
  try {
    return await Promise.all(urls.map(outcomeOf))
  } finally {
    await egress.close()
  }
}

const development = { APP_ENV: 'development' }
const production = {
  APP_ENV: 'production',
  EGRESS_ALLOW: `127.0.0.0/8,::1,${lanAddress},hooks.test,mapped.test,several.test,localhost`,
}

describe.each([
  ['development', development],
  ['production, whatever EGRESS_ALLOW contains', production],
])('in %s', (_, profile) => {
  it.each(settings)('no webhook reaches the server of %s, under any of its names', async (_name, env) => {
    const outcomes = await outcomesOf({ ...profile, ...env(ownPort) }, spellings(ownPort))
    expect(outcomes).toHaveLength(12)
    expect(outcomes).toEqual(outcomes.map(() => 'address_forbidden'))
    expect([asked, attempts.made]).toEqual([[], []])
  })

  it('no presigned read reaches it, except from the object store', async () => {
    const env = {
      ...profile,
      ...s3,
      S3_ENDPOINT: `http://127.0.0.1:${otherPort}`,
      ESDB_URL: `esdb://u:p@127.0.0.1:${ownPort}`,
    }
    const urls = [`http://127.0.0.1:${ownPort}/streams`, `http://127.0.0.1:${otherPort}/bucket`]
    expect(await outcomesOf(env, urls, 'image')).toEqual(['address_forbidden', 'answered'])
  })

  it('another port of this machine is reached', async () => {
    const env = { ...profile, ESDB_URL: `esdb://u:p@127.0.0.1:${ownPort}` }
    expect(await outcomesOf(env, [`http://127.0.0.1:${otherPort}/`])).toEqual(['answered'])
  })
})

describe('the addresses of our servers', () => {
  const own = (env: Environment, resolve = resolver({})) => createOwnServers(loadConfiguration(env), { resolve })

  it('inside a site are closed on every port', async () => {
    const addresses = await own(
      { ESDB_URL: 'esdb://eventstore:2113?tls=false' },
      resolver({ eventstore: ['10.5.0.2', 'fd00:5::2'] }),
    ).resolved()
    expect([
      addresses.has('10.5.0.2', 2113),
      addresses.has('10.5.0.2', 1112),
      addresses.has('::ffff:10.5.0.2', 80),
      addresses.has('fd00:5::2', 80),
    ]).toEqual([true, true, true, true])
    expect(addresses.has('10.5.0.3', 2113)).toBe(false)
  })

  it('of a cluster include every address inside the site on its port, because it discovers its other nodes', async () => {
    const addresses = await own(
      { ESDB_URL: 'esdb+discover://u:p@events.test:2114' },
      resolver({ 'events.test': ['10.5.0.2'] }),
    ).resolved()
    expect([
      addresses.has('10.5.0.77', 2114),
      addresses.has('10.5.0.77', 2115),
      addresses.has('8.8.8.8', 2114),
    ]).toEqual([true, false, false])
  })

  it('on the internet include the port of the server', async () => {
    const env = { ...databases, DATABASE_URL: 'postgres://u:p@db.test/platform?sslmode=verify-full' }
    const addresses = await own(env, resolver({ 'db.test': ['8.8.8.8'] })).resolved()
    expect([
      addresses.has('8.8.8.8', 5432),
      addresses.has('::ffff:8.8.8.8', 5432),
      addresses.has('8.8.8.8', 443),
    ]).toEqual([true, true, false])
  })

  it('of HTTPS servers on the internet are matched by name, because others share them', async () => {
    const servers = own({ BASE_URL: 'https://clinic.test' }, resolver({ 'clinic.test': ['8.8.8.8'] }))
    expect([
      servers.includes('clinic.test', 443),
      servers.includes('CLINIC.test.', 443),
      servers.includes('other.test', 443),
    ]).toEqual([true, true, false])
    expect((await servers.resolved()).has('8.8.8.8', 443)).toBe(false)
  })

  it('are not waited for longer than a second when a name server has stopped answering', async () => {
    let [now, isSilent] = [0, false]
    const own = createOwnServers(loadConfiguration({ ESDB_URL: 'esdb://u:p@store.test:2113' }), {
      resolve: (host) => (isSilent ? new Promise(() => undefined) : resolver({ 'store.test': ['10.1.2.3'] })(host)),
      now: () => now,
    })
    expect((await own.resolved()).has('10.1.2.3', 443)).toBe(true)
    isSilent = true
    now += 10_000
    expect((await own.resolved()).has('10.1.2.3', 443)).toBe(true)
  })

  it('are resolved again after a while, and stay the same while the name does not resolve', async () => {
    let now = 0
    let answered: LookupAddress[] | undefined = at('10.5.0.2')
    const resolve = async (): Promise<LookupAddress[]> => {
      if (answered === undefined) throw new Error('no answer')
      return answered
    }
    const servers = createOwnServers(loadConfiguration({ ESDB_URL: 'esdb://eventstore:2113?tls=false' }), {
      resolve,
      now: () => now,
    })
    const has = async () => {
      const addresses = await servers.resolved()
      return [addresses.has('10.5.0.2', 2113), addresses.has('10.5.0.3', 2113)]
    }
    expect(await has()).toEqual([true, false])
    answered = at('10.5.0.3')
    expect(await has()).toEqual([true, false])
    now = 60_000
    expect(await has()).toEqual([false, true])
    answered = undefined
    now = 120_000
    expect(await has()).toEqual([false, true])
  })
})

describe('an address from a tenant', () => {
  const rules = (env: Environment) => outboundRules(loadConfiguration(env))

  it('is refused in development if it is one of our servers', () => {
    const own = rules({ ESDB_URL: 'esdb://eventstore:2113?tls=false', S3_ENDPOINT: 'http://127.0.0.1:9000', ...s3 })
    for (const url of [
      'http://eventstore:2113/',
      'http://EVENTSTORE.:2113/',
      'http://127.0.0.1:9000/',
      'http://[::1]:9000/',
      'http://localhost:9000/',
      'http://127.0.0.1:8080/',
    ]) {
      expect([url, checkOutboundUrl(url, own)]).toEqual([url, { refused: 'address' }])
    }
    expect(checkOutboundUrl('http://127.0.0.1:9001/', own)).toHaveProperty('url')
  })

  it('gets the same answer in production in both cases, so a guess is not confirmed', () => {
    const own = rules({
      APP_ENV: 'production',
      BASE_URL: 'https://clinic.test',
      ESDB_URL: 'esdb://u:p@events.test:2113',
    })
    for (const url of ['https://events.test:2113/', 'https://other.test:2113/', 'https://clinic.test/'])
      expect(checkOutboundUrl(url, own)).toHaveProperty('url')
  })
})
