import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { assessmentWriteRoutes } from '../../../commands/assessments/routes.ts'
import { consentWriteRoutes } from '../../../commands/consent/routes.ts'
import { webhookWriteRoutes } from '../../../commands/webhooks/routes.ts'
import {
  loadConfiguration,
  type Configuration,
  type Environment,
} from '../../../platform/configuration/configuration.ts'
import type { Profile } from '../../../platform/kit/profiles.ts'
import { ConfigurationError } from '../../../platform/configuration/profile-rules.ts'
import { up } from '../../../app/up.ts'
import { actorContext } from '../../../app/demo/members.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import type { EgressPurpose } from '../../../platform/outbound/exempt-addresses.ts'
import { EgressError } from '../../../platform/outbound/egress-error.ts'
import { createFailpoint } from '../../../platform/lifecycle/graceful-stop.ts'
import { createHealth } from '../../../platform/observability/health.ts'
import { createActorReader } from '../../../platform/http/actor-readers.ts'
import { problem } from '../../../platform/http/problems.ts'
import { createApplication } from '../../../platform/http/application.ts'
import type { Service } from '../../../platform/http/service.ts'
import { createTokenIssuer, type TokenClaims, type TokenIssuer } from '../../../platform/http/tokens.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { createMetrics } from '../../../platform/observability/metrics.ts'
import { connectObjectStore } from '../../../platform/storage/object-store.ts'
import { bodySites } from '../../../contracts/clinical/body-sites.ts'
import { openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { newTokenKeys } from '../http/test-application.ts'
import { translateStageError } from '../../../app/stage-errors.ts'

/** The parts of the platform that depend on the profile, assembled for it. */
interface Profiled {
  readonly configuration: Configuration
  readonly app: FastifyInstance
  readonly egress: Egress
  readonly tokens: TokenIssuer
}

const profiles = ['development', 'production'] as const
const password = '0123456789abcdef'.repeat(2)
const anyId = '0190b0a0-0000-7000-8000-000000000001'
const parts = new Map<Profile, Profiled>()
let world: DecisionWorld
let insideOrigin: string
const closers: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  world = await openDecisionWorld()
  closers.push(() => world.close())
  const inside = createServer((_, response) => response.end('inside'))
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  closers.push(
    () =>
      new Promise((resolve) => {
        inside.close(resolve)
        inside.closeAllConnections()
      }),
  )
  const address = inside.address()
  insideOrigin = `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  for (const profile of profiles) parts.set(profile, await assemble(profile))
})
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

async function assemble(profile: Profile): Promise<Profiled> {
  const configuration = loadConfiguration({
    APP_ENV: profile,
    RATE_LIMIT_CREATES_PER_MINUTE: '12',
    ADMIN_API_SECRET: password,
  })
  const objects = connectObjectStore({
    endpoint: 'http://127.0.0.1:1',
    region: 'r',
    bucket: 'images',
    accessKeyId: 'a',
    secretAccessKey: 'b',
    now: world.now,
  })
  const deps = { ...world, configuration, objects, failpoint: createFailpoint({ failpoint: undefined }) }
  const services: Service[] = [
    {
      prefix: 'clinical-api',
      documentedAt: 'prefixed',
      routes: (app) => {
        assessmentWriteRoutes(app, deps)
        webhookWriteRoutes(app, deps)
      },
    },
    { prefix: 'consent', documentedAt: 'bare', routes: (app) => consentWriteRoutes(app, deps) },
  ]
  const tokens = createTokenIssuer({
    keys: newTokenKeys(),
    issuer: 'https://platform.test/v1/auth',
    audience: 'https://platform.test',
    ttlSeconds: 3600,
  })
  const health = createHealth({ profile })
  const app = await createApplication({
    configuration,
    services,
    health,
    metrics: createMetrics({ health }),
    logger: createLogger({ level: 'silent' }),
    verifyToken: (token) => tokens.verify(token),
    actors: createActorReader({
      configuration,
      now: world.now,
      ownKeys: async () => [],
      resolve: () => Promise.reject(problem('actor-context-invalid')),
    }),
    translateError: translateStageError,
    pseudonymOf: (text) => text,
    readYourWrites: async () => ({ caughtUp: true }),
    clockMs: () => 0,
  })
  const egress = createEgress({ configuration })
  closers.push(
    () => app.close(),
    () => egress.close(),
    async () => objects.close(),
  )
  return { configuration, app, egress, tokens }
}

function partsOf(profile: Profile): Profiled {
  const found = parts.get(profile)
  if (found === undefined) throw new Error(`no parts of ${profile}`)
  return found
}

async function call(profile: Profile, options: InjectOptions, claims: Partial<TokenClaims> = {}) {
  const { app, tokens } = partsOf(profile)
  const scopes = ['assessments:write', 'webhooks:write']
  const { access_token } = await tokens.issue({
    clientId: `client-${Math.random()}`,
    orgId: world.orgId,
    productId: anyId,
    scopes,
    trustedActorContext: false,
    secretId: null,
    clientRevision: 0,
    ...claims,
  })
  return app.inject({ ...options, headers: { authorization: `Bearer ${access_token}`, ...options.headers } })
}

/** Status, code, and the rule of the first member error. */
async function answer(profile: Profile, options: InjectOptions, claims?: Partial<TokenClaims>): Promise<string> {
  const response = await call(profile, options, claims)
  const body = response.json<{ code?: string; errors?: { code: string }[] }>()
  return [response.statusCode, body.code, body.errors?.[0]?.code].filter((part) => part !== undefined).join(' ')
}

const subscribe = (url: string) => (profile: Profile) =>
  answer(
    profile,
    {
      method: 'POST',
      url: '/v1/clinical-api/webhook-subscriptions',
      payload: { url, event_types: ['assessment.completed'] },
    },
    { orgId: crypto.randomUUID() },
  )

const jpegStart = Buffer.from([0xff, 0xd8, 0xff])
const photo = await readFile(new URL('../../../embedded/photos/lesion-1.jpg', import.meta.url))
const unmeasured = Buffer.concat([jpegStart, Buffer.alloc(64)])

const emptyPng = Buffer.concat([
  Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR', 'latin1'),
  Buffer.from([0, 0, 0, 0, 0, 0, 0, 9, 8, 2, 0, 0, 0]),
  Buffer.alloc(16),
])

/** The patient does not exist, so an accepted image leads to a 404. */
const create =
  (bytes: Buffer, finding: object = {}, members: object = {}, mime_type = 'image/jpeg') =>
  (profile: Profile) =>
    answer(profile, {
      method: 'POST',
      url: '/v1/clinical-api/assessments',
      payload: {
        patient_id: anyId,
        finding: { finding_type: 'lesion', ...finding },
        images: [{ capture_type: 'other', mime_type, data: bytes.toString('base64') }],
        ...members,
      },
    })

const reach =
  (url: () => string, purpose: EgressPurpose) =>
  async (profile: Profile): Promise<string> => {
    try {
      return await (await partsOf(profile).egress.request(url(), { purpose, timeoutMs: 5000, maxBytes: 100 })).text()
    } catch (error) {
      return error instanceof EgressError ? error.code : String(error)
    }
  }

const administer = (claims: Partial<TokenClaims>, headers: () => Record<string, string>) => (profile: Profile) =>
  answer(profile, { method: 'POST', url: '/v1/admin/consent-types', payload: {}, headers: headers() }, claims)
const actor = () => ({ 'x-actor-context': actorContext(world.orgId, ['consents:admin']) })

const configure =
  (env: Environment) =>
  async (profile: Profile): Promise<string> => {
    try {
      const { warnings } = loadConfiguration({ APP_ENV: profile, ...env })
      return warnings.length === 0 ? 'starts' : `warns: ${warnings.join('; ')}`
    } catch (error) {
      return `refuses: ${error instanceof Error ? error.message : String(error)}`
    }
  }

const databases = { DATABASE_URL: 'postgres://127.0.0.1/platform', VAULT_DATABASE_URL: 'postgres://127.0.0.1/vault' }
const s3 = { S3_ENDPOINT: 'https://s3.test', S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: password }
const tls = 'must ask for TLS (sslmode=verify-full)'
const https = 'must be https, except on loopback'
const noCredentials = 'must name a user and a password, which the client sends by TLS only'
const short = 'must have at least 32 characters'

type Rule = readonly [rule: string, act: (profile: Profile) => Promise<string>, development: string, production: string]

/** Contract section 4, row by row: the action, and its result in development and in production. */
const rules: readonly Rule[] = [
  [
    'a webhook to an address within the site',
    reach(() => `http://${insideOrigin}/`, 'webhook'),
    'inside',
    'address_forbidden',
  ],
  [
    'a webhook to a name of the site',
    reach(() => `http://localhost:${insideOrigin.split(':')[1]}/`, 'webhook'),
    'inside',
    'address_forbidden',
  ],
  ['a presigned read within the site', reach(() => `http://${insideOrigin}/`, 'image'), 'inside', 'address_forbidden'],
  [
    'a webhook to cloud metadata',
    reach(() => 'http://169.254.169.254/', 'webhook'),
    'address_forbidden',
    'address_forbidden',
  ],
  [
    'a presigned read of a link-local address',
    reach(() => 'http://[fe80::1]/', 'image'),
    'address_forbidden',
    'address_forbidden',
  ],
  [
    'subscribing an address within the site',
    subscribe('https://10.0.0.1/hook'),
    '201',
    '400 webhook-url-forbidden address',
  ],
  ['subscribing a name of the site', subscribe('https://localhost/hook'), '201', '400 webhook-url-forbidden address'],
  [
    'subscribing cloud metadata',
    subscribe('https://169.254.169.254/hook'),
    '400 webhook-url-forbidden address',
    '400 webhook-url-forbidden address',
  ],
  ['subscribing a public address', subscribe('https://example.com/hook'), '201', '201'],

  ['a webhook by http', subscribe('http://example.com/hook'), '201', '400 webhook-url-forbidden scheme'],
  [
    'a webhook by ftp',
    subscribe('ftp://example.com/hook'),
    '400 webhook-url-forbidden scheme',
    '400 webhook-url-forbidden scheme',
  ],

  [
    'an image of another type than declared',
    create(Buffer.alloc(64)),
    '400 image-invalid image-type',
    '400 image-invalid image-type',
  ],
  [
    'an image of more than 20 MiB',
    create(Buffer.concat([jpegStart, Buffer.alloc(20 * 1024 * 1024)])),
    '400 image-too-large too-large',
    '400 image-too-large too-large',
  ],
  [
    'an image without its dimensions',
    create(unmeasured),
    '404 patient-not-found unknown-patient',
    '400 image-invalid image-dimensions',
  ],
  [
    'an image that ends inside its header',
    create(Buffer.from('89504e470d0a1a0a0000000d494844520000000100', 'hex'), {}, {}, 'image/png'),
    '404 patient-not-found unknown-patient',
    '400 image-invalid image-dimensions',
  ],
  [
    'a PNG without pixels',
    create(emptyPng, {}, {}, 'image/png'),
    '400 image-invalid image-dimensions',
    '400 image-invalid image-dimensions',
  ],
  [
    'an unknown body site',
    create(photo, { body_site_id: anyId }),
    '404 patient-not-found unknown-patient',
    '400 validation-failed unknown-body-site',
  ],
  [
    'a body site of the catalogue',
    create(photo, { body_site_id: bodySites[7]?.id.toUpperCase() }),
    '404 patient-not-found unknown-patient',
    '404 patient-not-found unknown-patient',
  ],
  [
    'a body site that is no id',
    create(photo, { body_site_id: 'left arm' }),
    '400 validation-failed format',
    '400 validation-failed format',
  ],

  [
    'an actor context from a client that may send it',
    administer({ trustedActorContext: true }, actor),
    '400 validation-failed required',
    '403 actor-context-invalid',
  ],
  [
    'an actor context from another client',
    administer({}, actor),
    '403 actor-context-not-accepted',
    '403 actor-context-not-accepted',
  ],
  ['no actor context', administer({}, () => ({})), '403 actor-context-missing', '403 actor-context-missing'],
  [
    'the administrator secret',
    administer({}, () => ({ 'x-admin-api-secret': password })),
    '400 validation-failed required',
    '400 validation-failed required',
  ],
  [
    'actor contexts in trust by configuration',
    configure({ ACTOR_CONTEXT_MODE: 'trust' }),
    'starts',
    'refuses: ACTOR_CONTEXT_MODE must be signed or resolve when APP_ENV is production',
  ],

  [
    'the thirteenth create in a minute with a limit of twelve',
    thirteenCreates,
    '404 patient-not-found, creates left 0',
    '429 quota-exceeded, creates left 0',
  ],

  [
    'Postgres without TLS',
    configure({ ...databases, DATABASE_URL: 'postgres://db.test/platform' }),
    `warns: DATABASE_URL ${tls}`,
    `refuses: DATABASE_URL ${tls} when APP_ENV is production`,
  ],
  [
    'a vault whose address only prefers TLS',
    configure({ ...databases, VAULT_DATABASE_URL: 'postgres://db.test/vault?sslmode=prefer' }),
    `warns: VAULT_DATABASE_URL ${tls}`,
    `refuses: VAULT_DATABASE_URL ${tls} when APP_ENV is production`,
  ],
  [
    'Postgres with TLS',
    configure({
      DATABASE_URL: 'postgres://db.test/platform?sslmode=verify-full',
      VAULT_DATABASE_URL: 'postgres://db.test/vault?sslmode=verify-full',
    }),
    'starts',
    'starts',
  ],
  ['Postgres on loopback', configure(databases), 'starts', 'starts'],
  [
    'an event store without TLS',
    configure({ ESDB_URL: 'esdb://es.test:2113?tls=false' }),
    `warns: ESDB_URL must not turn TLS off; ESDB_URL ${noCredentials}`,
    `refuses: ESDB_URL must not turn TLS off; ESDB_URL ${noCredentials} when APP_ENV is production`,
  ],
  [
    'an event store with one node elsewhere, without TLS',
    configure({ ESDB_URL: 'esdb://127.0.0.1:2113,es.test:2113?TLS=false' }),
    `warns: ESDB_URL must not turn TLS off; ESDB_URL ${noCredentials}`,
    `refuses: ESDB_URL must not turn TLS off; ESDB_URL ${noCredentials} when APP_ENV is production`,
  ],
  [
    'an event store without credentials',
    configure({ ESDB_URL: 'esdb://es.test:2113' }),
    `warns: ESDB_URL ${noCredentials}`,
    `refuses: ESDB_URL ${noCredentials} when APP_ENV is production`,
  ],
  [
    'a provider by http on another host',
    configure({ PROVIDER_BASE_URL: 'http://provider.test', PROVIDER_LOGIN: 'x', PROVIDER_PASSWORD: 'x' }),
    `warns: PROVIDER_BASE_URL ${https}`,
    `refuses: PROVIDER_BASE_URL ${https} when APP_ENV is production`,
  ],
  ['an event store with TLS', configure({ ESDB_URL: 'esdb://user:pass@es.test:2113' }), 'starts', 'starts'],
  [
    'a secret of the object store of 31 characters',
    configure({ ...s3, S3_SECRET_ACCESS_KEY: 'x'.repeat(31) }),
    `warns: S3_SECRET_ACCESS_KEY ${short}`,
    `refuses: S3_SECRET_ACCESS_KEY ${short} when APP_ENV is production`,
  ],
  ['a secret of the object store of 32 characters', configure(s3), 'starts', 'starts'],
  [
    'a secret of the service client of 31 characters',
    configure({ SERVICE_CLIENT_ID: 'x', SERVICE_CLIENT_SECRET: 'x'.repeat(31) }),
    `warns: SERVICE_CLIENT_SECRET ${short}`,
    `refuses: SERVICE_CLIENT_SECRET ${short} when APP_ENV is production`,
  ],
  [
    'an administrator secret of 31 characters',
    configure({ ADMIN_API_SECRET: 'x'.repeat(31) }),
    'refuses: ADMIN_API_SECRET must be at least 32 visible ASCII characters',
    'refuses: ADMIN_API_SECRET must be at least 32 visible ASCII characters',
  ],
  [
    'a failpoint',
    configure({ FAILPOINT: 'slot-claimed' }),
    'starts',
    'refuses: FAILPOINT must be unset when APP_ENV is production',
  ],

  [
    'a member that the schema does not contain',
    create(unmeasured, {}, { nickname: 'x' }),
    '400 validation-failed unknown-member',
    '400 validation-failed unknown-member',
  ],
  [
    'a number where a text belongs',
    create(unmeasured, {}, { external_reference: 7 }),
    '400 validation-failed type',
    '400 validation-failed type',
  ],
]

describe.each(profiles)('in %s', (profile) => {
  it.each(rules)('%s', async (_, act, development, production) => {
    expect(await act(profile)).toBe({ development, production }[profile])
  })

  it('health contains the profile', async () => {
    expect((await partsOf(profile).app.inject({ url: '/health' })).json()).toMatchObject({ profile })
  })
})

async function thirteenCreates(profile: Profile): Promise<string> {
  const claims = { clientId: 'one-client' }
  const payload = {
    patient_id: anyId,
    finding: { finding_type: 'lesion' },
    images: [{ capture_type: 'other', mime_type: 'image/jpeg', data: photo.toString('base64') }],
  }
  const ask = () => call(profile, { method: 'POST', url: '/v1/clinical-api/assessments', payload }, claims)
  for (let time = 0; time < 12; time += 1) expect((await ask()).statusCode).toBe(404)
  const last = await ask()
  const left = /"creates";r=(\d+)/.exec(String(last.headers['ratelimit']))?.[1]
  return `${last.statusCode} ${last.json<{ code: string }>().code}, creates left ${left}`
}

describe('without APP_ENV', () => {
  it.each(['127.0.0.1', '127.9.9.9', '::1', 'localhost', 'LOCALHOST'])(
    'a server on %s uses the development profile',
    (host) => {
      expect(loadConfiguration({ HOST: host }).profile).toBe('development')
      expect(loadConfiguration({ HOST: host, APP_ENV: '' }).profile).toBe('development')
      expect(loadConfiguration({ HOST: host, APP_ENV: 'production' }).profile).toBe('production')
    },
  )

  it.each([
    '0.0.0.0',
    '::',
    '192.168.1.10',
    '10.0.0.1',
    '8.8.8.8',
    'clinic.test',
    'localhost.clinic.test',
    '127.0.0.1.clinic.test',
    '::ffff:127.0.0.1',
  ])('a server on %s does not start, and the error names the variable', (host) => {
    expect(() => loadConfiguration({ HOST: host })).toThrow(
      'APP_ENV must be development or production when HOST is not a loopback address',
    )
    for (const profile of profiles)
      expect(loadConfiguration({ HOST: host, APP_ENV: profile, BASE_URL: 'https://clinic.test' }).profile).toBe(profile)
  })
})

// `test/app/start-refusals.int.test.ts` checks how the program prints a reason and that it exits.
it.each([
  [{ HOST: '0.0.0.0' }, 'APP_ENV must be development or production'],
  [{ APP_ENV: 'staging' }, 'APP_ENV must be one of development, production'],
  [
    { APP_ENV: 'production', ...databases, DATABASE_URL: 'postgres://user:hidden-word@db.test/platform' },
    `DATABASE_URL ${tls}`,
  ],
  [
    { APP_ENV: 'production', ESDB_URL: 'esdb://admin:hidden-word@es.test:2113?tls=false' },
    'ESDB_URL must not turn TLS off',
  ],
  [{ APP_ENV: 'production', ...s3, S3_SECRET_ACCESS_KEY: 'hidden-word' }, `S3_SECRET_ACCESS_KEY ${short}`],
])('a start with %j fails, and the reason contains no secret', async (env, message) => {
  const start = up({
    env: { PLATFORM_DATA_DIR: '/dev/null/none', ...env },
    onFatal: (reason) => expect.unreachable(reason),
  })
  const error: unknown = await start.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ConfigurationError)
  expect(String(error)).toContain(message)
  expect(String(error)).not.toContain('hidden-word')
})
