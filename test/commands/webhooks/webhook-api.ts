import { randomBytes } from 'node:crypto'
import type {
  DeliveriesToRecover,
  DeliveryRouteDependencies,
  FindDueDelivery,
} from '../../../commands/webhooks/dependencies.ts'
import { deliveryWriteRoutes } from '../../../commands/webhooks/delivery-routes.ts'
import { createPool } from '../../../platform/database/database.ts'
import { createCursors } from '../../../platform/http/cursors.ts'
import { connectObjectStore } from '../../../platform/storage/object-store.ts'
import { projectedStreams } from '../../../app/projections/projected-streams.ts'
import { problem } from '../../../platform/http/problems.ts'
import { webhookDeliveriesProjector } from '../../../projections/webhooks/webhook-deliveries.projector.ts'
import { webhookSubscriptionsProjector } from '../../../projections/webhooks/webhook-subscriptions.projector.ts'
import { ReadPositions } from '../../../engine/projections/read-positions.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { getDueDelivery, listUndelivered } from '../../../read-api/webhooks/queries.ts'
import { deliveryReadRoutes } from '../../../read-api/webhooks/routes.ts'
import { categoryOf } from '../../../engine/store/catalogue.ts'
import type { DomainEvent, Fold } from '../../../engine/store/events.ts'
import type { AssessmentEvent } from '../../../streams/assessment/events.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import type { WebhookDeliveryEvent } from '../../../streams/webhook-delivery/events.ts'
import { webhookDeliveries } from '../../../streams/webhook-delivery/aggregate.ts'
import type { WebhookSubscriptionEvent } from '../../../streams/webhook-subscriptions/events.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { startApplication } from '../../platform/http/test-application.ts'
import { silentLogger } from '../../../tools/equality/contents.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { contextOf, openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { tenantOfFact, type TenantId } from '../../../platform/kit/tenants.ts'

export interface WebhookAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: unknown
}

/** The routes of deliveries over HTTP, with a separate log and read models, and without a sending process. */
type RecordableEvent = WebhookDeliveryEvent | WebhookSubscriptionEvent | AssessmentEvent

export interface WebhookApi {
  readonly world: DecisionWorld
  get(path: string, orgId?: string): Promise<WebhookAnswer>
  post(
    path: string,
    options?: { readonly body?: unknown; readonly key?: string; readonly orgId?: string },
  ): Promise<WebhookAnswer>
  /**
   * Records events of the organisation, and waits until the read models contain them. Returns the ids of the events.
   */
  record(...events: readonly RecordableEvent[]): Promise<readonly string[]>
  /** Replaces the deliveries that a recovery finds in the read models. */
  setFound(found: DeliveriesToRecover | undefined): void
  close(): Promise<void>
}

const base = '/v1/clinical-api/webhook-subscriptions'

export async function openWebhookApi(): Promise<WebhookApi> {
  const [world, database] = await Promise.all([openDecisionWorld(), freshDatabase()])
  const { store, now } = world
  const pool = createPool({ url: database.url, max: 8 })
  await ensureRuntimeSchema(pool)
  const projectors = [webhookSubscriptionsProjector, webhookDeliveriesProjector]
  const filter = { streamPrefixes: projectedStreams }
  const runner = new ProjectionRunner({ eventStore: store, pool, projectors, filter, logger: silentLogger })
  runner.start()
  await runner.caughtUp()
  const reads = new ReadPositions({ pool, projectors, runner })
  const isCurrent = (projector: string) => reads.requireHead((asked) => store.head(filter, asked), projector, 4_000)
  const positionOf = (name: string) => reads.storedPosition(name)
  const objects = connectObjectStore({
    endpoint: 'http://127.0.0.1:1',
    region: 'r',
    bucket: 'images',
    accessKeyId: 'a',
    secretAccessKey: 'b',
    now,
  })
  let found: DeliveriesToRecover | undefined
  const deliveriesToRecover: DeliveriesToRecover = async (...asked) => {
    if (found !== undefined) return found(...asked)
    if (!(await isCurrent('webhook_deliveries'))) throw problem('read-model-behind')
    return listUndelivered(pool, ...asked)
  }
  const findDueDelivery: FindDueDelivery = async (...asked) => {
    if (!(await isCurrent('webhook_deliveries'))) throw problem('read-model-behind')
    return getDueDelivery(pool, ...asked, 0)
  }
  const writing: DeliveryRouteDependencies = { ...world, deliveriesToRecover, findDueDelivery }
  const reading = { ...world, pool, objects, cursors: createCursors({ key: randomBytes(32) }), isCurrent, positionOf }
  const application = await startApplication({
    services: [
      {
        prefix: 'clinical-api',
        documentedAt: 'prefixed',
        routes: (routes) => {
          deliveryWriteRoutes(routes, writing)
          deliveryReadRoutes(routes, reading)
        },
      },
    ],
    isCurrent,
    readYourWrites: (position, names, timeoutMs) => reads.waitFor(position, names, timeoutMs),
    checkReplies: true,
  })
  const ask = async (
    method: 'GET' | 'POST',
    path: string,
    orgId: TenantId,
    headers: Readonly<Record<string, string>>,
    payload?: unknown,
  ): Promise<WebhookAnswer> => {
    const authorized = { ...(await application.token({ orgId, scopes: ['webhooks:write'] })), ...headers }
    const answer = await application.app.inject({
      method,
      url: `${base}${path}`,
      headers: authorized,
      ...(payload === undefined ? {} : { payload: JSON.stringify(payload) }),
    })
    return { status: answer.statusCode, headers: answer.headers, body: answer.body === '' ? null : answer.json() }
  }
  return {
    world,
    get: (path, orgId = world.orgId) => ask('GET', path, tenantOfFact(orgId), {}),
    post: (path, { body, key, orgId = world.orgId } = {}) =>
      ask(
        'POST',
        path,
        tenantOfFact(orgId),
        {
          ...(key === undefined ? {} : { 'idempotency-key': key }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body,
      ),
    record: async (...events) => {
      const ids: string[] = []
      for (const event of events) ids.push(await append(world, event))
      const head = await store.head(filter)
      const { caughtUp } = await reads.waitFor(
        head,
        projectors.map(({ name }) => name),
        30_000,
      )
      if (!caughtUp) throw new Error('the read models do not come to the end of the log')
      return ids
    },
    setFound: (instead) => {
      found = instead
    },
    close: async () => {
      await application.app.close()
      reads.close()
      await runner.close()
      objects.close()
      await pool.end()
      await Promise.all([world.close(), database.drop()])
    },
  }
}

/** @returns the id of the event */
async function append({ store, orgId }: DecisionWorld, event: RecordableEvent): Promise<string> {
  const stream = streamOf(orgId, event.data)
  const fold: Fold<number, DomainEvent> = {
    category: categoryOf(stream),
    initialState: 0,
    evolve: (count) => count + 1,
  }
  const { revision } = await store.load({ fold, stream })
  await store.append({ fold, stream }, revision, [event], contextOf({ orgId }))
  const last = await store.readLast(stream)
  if (last === undefined) throw new Error(`${stream} is empty`)
  return last.id
}

function streamOf(orgId: TenantId, data: RecordableEvent['data']): string {
  if ('deliveryId' in data) return webhookDeliveries.of(orgId, data.deliveryId).stream
  return 'subscriptionId' in data
    ? webhookSubscriptions.of(orgId).stream
    : assessments.of(orgId, data.assessmentId).stream
}
