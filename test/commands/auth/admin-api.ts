import { randomBytes, randomUUID } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import { seedScopes } from '../../../app/client-registration.ts'
import { projectedStreams } from '../../../app/projections/projected-streams.ts'
import { authAdminRoutes } from '../../../commands/auth/client-routes.ts'
import { createClientKeys } from '../../../commands/auth/client-keys.ts'
import { authRoutes } from '../../../commands/auth/routes.ts'
import { scopeWriteRoutes } from '../../../commands/auth/scope-routes.ts'
import { createPool } from '../../../platform/database/database.ts'
import { createCursors } from '../../../platform/http/cursors.ts'
import { createTokenIssuer } from '../../../platform/http/tokens.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { connectObjectStore } from '../../../platform/storage/object-store.ts'
import { oauthClientsProjector } from '../../../projections/auth/oauth-clients.projector.ts'
import { oauthScopesProjector } from '../../../projections/auth/oauth-scopes.projector.ts'
import { ReadPositions } from '../../../engine/projections/read-positions.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { authReadRoutes } from '../../../read-api/auth/routes.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { silentLogger } from '../../../tools/equality/contents.ts'
import { adminSecret, startApplication, type TestApplication } from '../../platform/http/test-application.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'

type Headers = Readonly<Record<string, string>>
type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: unknown
}

/** The whole service `auth` over HTTP, twice on one log: two processes with a cache each, and one read model. */
export interface AdminApi {
  readonly world: DecisionWorld
  /** With the administrator secret, unless the headers name another caller. */
  call(method: Method, path: string, body?: object, headers?: Headers): Promise<Answer>
  /** The same in the other process. */
  callOther(method: Method, path: string, body?: object, headers?: Headers): Promise<Answer>
  /** Headers of a client with that scope: of an organisation, or null for a platform client. */
  admin(orgId: string | null, scopes?: readonly string[]): Promise<Headers>
  /** Headers of an actor of the organisation with the permission, behind a client without `auth:admin`. */
  actor(orgId: string, permissions: readonly string[], clientOrg?: string | null): Promise<Headers>
  /** Status of a token request. */
  tokenStatus(clientId: unknown, clientSecret: unknown, scope?: string): Promise<number>
  readonly logged: () => string
  close(): Promise<void>
}

export const bootstrap = { 'x-admin-api-secret': adminSecret }

export async function openAdminApi(): Promise<AdminApi> {
  const [world, database] = await Promise.all([openDecisionWorld(), freshDatabase()])
  const pool = createPool({ url: database.url, max: 8 })
  await ensureRuntimeSchema(pool)
  const projectors = [oauthClientsProjector, oauthScopesProjector]
  const filter = { streamPrefixes: projectedStreams }
  const runner = new ProjectionRunner({ eventStore: world.store, pool, projectors, filter, logger: silentLogger })
  runner.start()
  await runner.caughtUp()
  const reads = new ReadPositions({ pool, projectors, runner })
  const isCurrent = (name: string) => reads.requireHead((asked) => world.store.head(filter, asked), name, 4_000)
  const positionOf = (name: string) => reads.storedPosition(name)
  const objects = connectObjectStore({
    endpoint: 'http://127.0.0.1:1',
    region: 'r',
    bucket: 'images',
    accessKeyId: 'a',
    secretAccessKey: 'b',
    now: world.now,
  })
  const tokens = createTokenIssuer({ keys: world.vault, issuer: 'i', audience: 'a', ttlSeconds: 60 })
  const cursors = createCursors({ key: randomBytes(32) })
  const egress = createEgress({ configuration: world.configuration })
  const clientKeys = createClientKeys({ egress, configuration: world.configuration, now: world.now })
  const processOf = (store: EventStore) =>
    startApplication({
      env: { ADMIN_API_SECRET: adminSecret, READ_YOUR_WRITES_MS: '10000' },
      services: [
        {
          prefix: 'auth',
          documentedAt: 'prefixed',
          routes: (app) => {
            const deps = { ...world, store, tokens, clientKeys }
            authRoutes(app, deps)
            authAdminRoutes(app, deps)
            scopeWriteRoutes(app, deps)
            authReadRoutes(app, { ...world, pool, objects, cursors, isCurrent, positionOf })
          },
        },
      ],
      isCurrent,
      readYourWrites: (position, names, timeoutMs) => reads.waitFor(position, names, timeoutMs),
      checkReplies: true,
    })
  const one = await processOf(world.store)
  const other = await processOf(world.otherStore)
  await seedScopes(world.store, world.now())

  async function ask({ app }: TestApplication, options: InjectOptions): Promise<Answer> {
    const { statusCode: status, headers, body } = await app.inject(options)
    return { status, headers, body: body === '' ? null : (JSON.parse(body) as unknown) }
  }
  const callIn =
    (t: TestApplication): AdminApi['call'] =>
    (method, path, body, headers = bootstrap) =>
      ask(t, { method, url: `/v1/auth${path}`, headers, ...(body === undefined ? {} : { payload: body }) })
  return {
    world,
    call: callIn(one),
    callOther: callIn(other),
    admin: (orgId, scopes = ['auth:admin']) => one.token({ clientId: randomUUID(), orgId, scopes }),
    actor: async (orgId, permissions, clientOrg = orgId) => ({
      ...(await one.token({ clientId: randomUUID(), orgId: clientOrg, scopes: [], trustedActorContext: true })),
      'x-actor-context': contextOf({ user_id: randomUUID(), org_id: orgId, permissions }),
    }),
    async tokenStatus(clientId, clientSecret, scope) {
      const form = {
        grant_type: 'client_credentials',
        client_id: String(clientId),
        client_secret: String(clientSecret),
      }
      const payload = new URLSearchParams({ ...form, ...(scope === undefined ? {} : { scope }) }).toString()
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      return (await ask(one, { method: 'POST', url: '/v1/auth/oauth/token', headers, payload })).status
    },
    logged: () => one.log(),
    close: async () => {
      await Promise.all([one.app.close(), other.app.close()])
      reads.close()
      await runner.close()
      objects.close()
      await pool.end()
      await Promise.all([world.close(), database.drop()])
    },
  }
}

/** Mode `trust` ignores the signature. */
function contextOf(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part(claims)}.`
}

/** Status and problem code, or the first pointer of a validation. */
export function refusalOf({ status, body }: Answer): string {
  const { code, errors } = body as { code?: string; errors?: readonly { pointer: string }[] }
  const pointer = errors?.[0]?.pointer
  return [status, code, ...(pointer === undefined ? [] : [pointer])].join(' ')
}
