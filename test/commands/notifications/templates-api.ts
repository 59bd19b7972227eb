import { randomBytes, randomUUID } from 'node:crypto'
import { projectedStreams } from '../../../app/projections/projected-streams.ts'
import { templateWriteRoutes } from '../../../commands/notifications/template-routes.ts'
import { createPool } from '../../../platform/database/database.ts'
import { createCursors } from '../../../platform/http/cursors.ts'
import { connectObjectStore } from '../../../platform/storage/object-store.ts'
import { notificationTemplatesProjector } from '../../../projections/notifications/notification-templates.projector.ts'
import { ReadPositions } from '../../../engine/projections/read-positions.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { templateReadRoutes } from '../../../read-api/notifications/template-routes.ts'
import { silentLogger } from '../../../tools/equality/contents.ts'
import { startApplication } from '../../platform/http/test-application.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { unsigned } from '../../read-api/users/users-api.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: unknown
}

/** The templates of the notifications service over HTTP. */
export interface TemplatesApi {
  readonly world: DecisionWorld
  /** As a client with the scope: of the organisation, or of the one that is given; null is a platform client. */
  call(method: 'GET' | 'PUT' | 'POST', path: string, options?: CallOptions): Promise<Answer>
  close(): Promise<void>
}

interface CallOptions {
  readonly body?: object
  readonly orgId?: string | null
  /** For an administrator of this organisation, as a platform client without a scope. */
  readonly actorOf?: string
  readonly scopes?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

export async function openTemplatesApi(): Promise<TemplatesApi> {
  const [world, database] = await Promise.all([openDecisionWorld(), freshDatabase()])
  const pool = createPool({ url: database.url, max: 8 })
  await ensureRuntimeSchema(pool)
  const projectors = [notificationTemplatesProjector]
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
  const cursors = createCursors({ key: randomBytes(32) })
  const served = await startApplication({
    env: { READ_YOUR_WRITES_MS: '10000' },
    services: [
      {
        prefix: 'notifications',
        documentedAt: 'prefixed',
        mounts: ['prefixed', 'gateway'],
        routes: (app) => {
          templateWriteRoutes(app, world)
          templateReadRoutes(app, { ...world, pool, objects, cursors, isCurrent, positionOf })
        },
      },
    ],
    isCurrent,
    readYourWrites: (position, names, timeoutMs) => reads.waitFor(position, names, timeoutMs),
    checkReplies: true,
  })
  return {
    world,
    async call(
      method,
      path,
      { body, orgId = world.orgId, actorOf, scopes = ['notifications:admin'], headers = {} } = {},
    ) {
      const claims = actorOf === undefined ? { orgId, scopes } : { orgId: null, scopes: [], trustedActorContext: true }
      const token = await served.token({ clientId: randomUUID(), ...claims })
      const context = { user_id: randomUUID(), org_id: actorOf, permissions: ['notifications:admin'] }
      const actor = actorOf === undefined ? {} : { 'x-actor-context': unsigned(context) }
      const request = { method, url: `/v1/notifications${path}`, headers: { ...token, ...actor, ...headers } }
      const answer = await served.app.inject(body === undefined ? request : { ...request, payload: body })
      const { statusCode: status, headers: got, body: text } = answer
      return { status, headers: got, body: text === '' ? null : (JSON.parse(text) as unknown) }
    },
    close: async () => {
      await served.app.close()
      reads.close()
      await runner.close()
      objects.close()
      await pool.end()
      await Promise.all([world.close(), database.drop()])
    },
  }
}

/** Status and code of a problem, with pointer, rule and place of its first error. */
export function refusalOf({ status, body }: Answer): string {
  interface Error {
    readonly pointer: string
    readonly code: string
    readonly line?: number
    readonly column?: number
  }
  const { code, errors = [] } = body as { readonly code?: string; readonly errors?: readonly Error[] }
  const [first] = errors
  const place = first?.line === undefined ? [] : [`${first.line}:${first.column}`]
  return [status, code, ...(first === undefined ? [] : [first.pointer, first.code, ...place])].join(' ')
}
