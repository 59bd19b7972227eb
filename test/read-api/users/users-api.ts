import { createClientKeys } from '../../../commands/auth/client-keys.ts'
import { randomBytes, randomUUID } from 'node:crypto'
import { openActorReader } from '../../../app/actor-contexts.ts'
import { servicesOf } from '../../../app/services.ts'
import { projectedStreams } from '../../../app/projections/projected-streams.ts'
import { registerServiceClient } from '../../../app/client-registration.ts'
import { execute, type CommandTarget } from '../../../engine/commands/execute.ts'
import { loadConfiguration, type Environment } from '../../../platform/configuration/configuration.ts'
import { createPool } from '../../../platform/database/database.ts'
import { createCursors } from '../../../platform/http/cursors.ts'
import { createFailpoint, createGracefulStop } from '../../../platform/lifecycle/graceful-stop.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { connectObjectStore } from '../../../platform/storage/object-store.ts'
import type { IdentityProvider } from '../../../contracts/users/identity-provider.ts'
import { createMockIdentityProvider } from '../../../processes/adapters/mock-identity-provider.ts'
import { usersChannel } from '../../../processes/users/users.channel.ts'
import { createRelay } from '../../../engine/relay/relay.ts'
import { casesProjector } from '../../../projections/clinical/cases.projector.ts'
import { patientsProjector } from '../../../projections/clinical/patients.projector.ts'
import { humanReviewProjector } from '../../../projections/human-review/human-review.projector.ts'
import { notificationsProjector } from '../../../projections/notifications/notifications.projector.ts'
import { usersProjector } from '../../../projections/users/users.projector.ts'
import { workflowsProjector } from '../../../projections/workflows/workflows.projector.ts'
import type { Projector } from '../../../engine/projections/projector.ts'
import { ReadPositions } from '../../../engine/projections/read-positions.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import type { DomainEvent } from '../../../engine/store/events.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { silentLogger } from '../../../tools/equality/contents.ts'
import { contextOf, openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { cutConnection, type CutConnection } from 'embedded-eventstore/cut-connection'
import {
  adminSecret,
  client,
  newTokenIssuer,
  startApplication,
  type TestApplication,
} from '../../platform/http/test-application.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { unusedParts } from '../../support/unused-parts.ts'

type Headers = Readonly<Record<string, string>>

export interface Answer {
  readonly status: number
  readonly etag: unknown
  readonly body: unknown
}

export interface WriteAnswer extends Answer {
  readonly headers: Readonly<Record<string, unknown>>
}

/** One API process. Its connection to the event store can break. */
export interface UsersProcess {
  readonly t: TestApplication
  readonly line: CutConnection
  get(path: string, headers?: Headers): Promise<Answer>
  /** With the administrator secret, unless the headers name another caller. */
  call(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object, headers?: Headers): Promise<WriteAnswer>
}

/** The users service over one log, one read model and the relay of its channel. */
export interface UsersApi {
  readonly world: DecisionWorld
  /** Appends events, and waits until the read model contains them. */
  readonly append: <State, Event extends DomainEvent>(
    target: CommandTarget<State, Event>,
    ...events: readonly Event[]
  ) => Promise<void>
  /** Waits until the read model contains everything recorded before, also by a step of a process. */
  caughtUp(): Promise<void>
  /** The read model of users stays as it is, until the returned function is called. */
  holdUsers(): Promise<() => Promise<void>>
  startProcess(env?: Environment): Promise<UsersProcess>
  /** The address of a process that listens. */
  listen(process: UsersProcess): Promise<string>
  /** Headers of a client: of an organisation, or of the platform for null. Without a product, unless one is given. */
  token(orgId: string | null, scopes?: readonly string[], productId?: string): Promise<Headers>
  /** Headers of a trusted client of the organisation with an actor context. */
  actor(context: string, orgId?: string | null, scopes?: readonly string[]): Promise<Headers>
  close(): Promise<void>
}

export const bootstrap = { 'x-admin-api-secret': adminSecret }
export const serviceClient = { SERVICE_CLIENT_ID: randomUUID(), SERVICE_CLIENT_SECRET: 'a-service-client-secret' }

const usualReadModels: readonly Projector[] = [
  usersProjector,
  notificationsProjector,
  humanReviewProjector,
  patientsProjector,
  casesProjector,
  workflowsProjector,
]

export interface UsersApiOptions {
  readonly identityProvider?: IdentityProvider
  /** Prefixes of the services that each process serves. */
  readonly services?: readonly string[]
  /** Read models besides the usual ones. Of others no route answers. */
  readonly moreReadModels?: readonly Projector[]
}

export async function openUsersApi({
  identityProvider = createMockIdentityProvider(),
  services = ['user-management'],
  moreReadModels = [],
}: UsersApiOptions = {}): Promise<UsersApi> {
  const [world, database] = await Promise.all([openDecisionWorld({ hasOwnNode: true }), freshDatabase()])
  const pool = createPool({ url: database.url, max: 8 })
  await ensureRuntimeSchema(pool)
  const filter = { streamPrefixes: projectedStreams }
  const projectors = [...usualReadModels, ...moreReadModels]
  const projectorNames = projectors.map(({ name }) => name)
  const runner = new ProjectionRunner({ eventStore: world.store, pool, projectors, filter, logger: silentLogger })
  runner.start()
  await runner.caughtUp()
  const reads = new ReadPositions({ pool, projectors, runner })
  const relay = createRelay({ eventStore: world.store, channel: usersChannel, logger: silentLogger, deps: world })
  relay.start()
  const objects = connectObjectStore({
    endpoint: 'http://127.0.0.1:1',
    region: 'r',
    bucket: 'images',
    accessKeyId: 'a',
    secretAccessKey: 'b',
    now: world.now,
  })
  const issuer = newTokenIssuer()
  const stop = createGracefulStop({ logger: silentLogger })
  await registerServiceClient(world.store, world.vault, loadConfiguration(serviceClient), world.now())
  const cursors = createCursors({ key: randomBytes(32) })

  async function startProcess(env: Environment = {}): Promise<UsersProcess> {
    const configuration = loadConfiguration(env)
    const line = await cutConnection(world.url)
    const store: EventStore = await world.storeOf(catalogue, line.url)
    const isCurrent = (name: string) => reads.requireHead((asked) => store.head(filter, asked), name, 4_000)
    const egress = createEgress({ configuration })
    const { vault, now } = world
    const actors = await openActorReader({ configuration, store, vault, now, pool, isCurrent, egress, stop })
    const clientKeys = createClientKeys({ egress, configuration, now })
    const failpoint = createFailpoint(configuration)
    const positionOf = (name: string) => reads.storedPosition(name)
    const reading = { pool, objects, cursors, isCurrent, positionOf }
    const deps = {
      ...unusedParts,
      ...world,
      ...reading,
      configuration,
      store,
      clientKeys,
      tokens: issuer,
      failpoint,
      identityProvider,
    }
    const t = await startApplication({
      env: { ADMIN_API_SECRET: adminSecret, READ_YOUR_WRITES_MS: '10000', ...env },
      services: servicesOf(deps).filter(({ prefix }) => services.includes(prefix)),
      isCurrent,
      readYourWrites: (position, names, timeoutMs) => reads.waitFor(position, names, timeoutMs),
      actors,
      issuer,
      checkReplies: true,
      isErased: (orgId, patientId) => vault.isClosed(orgId, patientId),
    })
    stop.onStop('resources', 'process', async () => {
      await t.app.close()
      await line.close()
      await egress.close()
    })
    return {
      t,
      line,
      async get(path, headers = bootstrap) {
        const { statusCode: status, headers: got, body } = await t.app.inject({ url: path, headers })
        return { status, etag: got['etag'], body: body === '' ? null : (JSON.parse(body) as unknown) }
      },
      async call(method, path, payload, headers = bootstrap) {
        const options = { method, url: `/v1/user-management${path}`, headers }
        const answer = await t.app.inject(payload === undefined ? options : { ...options, payload })
        const { statusCode: status, headers: got, body } = answer
        return { status, etag: got['etag'], headers: got, body: body === '' ? null : (JSON.parse(body) as unknown) }
      },
    }
  }

  const headersOf = async (
    orgId: string | null,
    scopes: readonly string[],
    trustedActorContext: boolean,
    productId = client.productId,
  ) => {
    const claims = { ...client, clientId: randomUUID(), orgId, productId, scopes, trustedActorContext }
    return { authorization: `Bearer ${(await issuer.issue(claims)).access_token}` }
  }
  return {
    world,
    async append(target, ...events) {
      const { position } = await execute(world.store, target, () => events, contextOf(world))
      if (position !== undefined) await reads.waitFor(position, projectorNames, 15_000)
    },
    async caughtUp() {
      const head: Parameters<typeof reads.requireHead>[0] = (asked) => world.store.head(filter, asked)
      for (const name of projectorNames)
        if (!(await reads.requireHead(head, name, 15_000))) throw new Error(`${name} does not catch up`)
    },
    async holdUsers() {
      const held = await pool.connect()
      await held.query('begin')
      await held.query('lock table users.user_memberships in exclusive mode')
      return async () => {
        await held.query('rollback')
        held.release()
      }
    },
    startProcess,
    listen: ({ t }) => t.app.listen({ host: '127.0.0.1', port: 0 }),
    token: (orgId, scopes = [], productId) => headersOf(orgId, scopes, false, productId),
    actor: async (context, orgId = world.orgId, scopes = []) => ({
      ...(await headersOf(orgId, scopes, true)),
      'x-actor-context': context,
    }),
    close: async () => {
      await stop.stop()
      await relay.close()
      reads.close()
      await runner.close()
      objects.close()
      await pool.end()
      await Promise.all([world.close(), database.drop()])
    },
  }
}

/** An unsigned context, as the mode `trust` takes it. */
export function unsigned(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part(claims)}.`
}

/** Status, and the code of a problem. */
export function outcomeOf({ status, body }: Answer): string {
  const code = typeof body === 'object' && body !== null && 'code' in body ? String(body.code) : ''
  return `${status} ${code}`.trim()
}
