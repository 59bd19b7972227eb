import { randomUUID } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import type { CommandDependencies } from '../../../engine/commands/dependencies.ts'
import { webhookWriteRoutes } from '../../../commands/webhooks/routes.ts'
import type { Service } from '../../../platform/http/service.ts'
import type { WebhookSubscriptionRecord } from '../../../contracts/webhooks/subscription.ts'
import { webhookSubscriptions, type WebhookSubscription } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { startApplication, type TestApplication } from '../../platform/http/test-application.ts'
import { interrupted, openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'

export const url = 'https://receiver.example/hooks'
export const both = ['assessment.completed', 'assessment.failed']
export const keyed = (key: string) => ({ 'idempotency-key': key })

export interface Answer {
  readonly status: number
  readonly record: WebhookSubscriptionRecord
  readonly code: unknown
  readonly etag: string
  readonly isReplayed: boolean
  readonly retryAfter: unknown
  readonly commitPosition: unknown
}

type Headers = Readonly<Record<string, string>>

const base = '/v1/clinical-api/webhook-subscriptions'

/** The write routes of subscriptions over HTTP, with a separate log and vault, and without read models. */
export class SubscriptionApi {
  readonly world: DecisionWorld
  readonly #application: TestApplication
  #orgId: string = randomUUID()

  constructor(world: DecisionWorld, application: TestApplication) {
    this.world = world
    this.#application = application
  }

  /** Further requests come from a client of that organisation. Default: a new organisation. */
  as(orgId: string = randomUUID()): void {
    this.#orgId = orgId
  }

  get orgId(): string {
    return this.#orgId
  }

  subscribe(changes: object = {}, headers: Headers = {}): Promise<Answer> {
    return this.call('POST', '', { url, event_types: both, ...changes }, headers)
  }

  rotate(id: string, payload?: object, headers: Headers = {}): Promise<Answer> {
    return this.call('POST', `/${id}/rotate-secret`, payload, headers)
  }

  call(method: 'POST' | 'PATCH' | 'DELETE', path: string, payload?: object, headers: Headers = {}): Promise<Answer> {
    return this.#ask(this.#application, {
      method,
      url: `${base}${path}`,
      headers,
      ...(payload === undefined ? {} : { payload }),
    })
  }

  /** Posts to an instance that dies at its first append to the subscriptions. */
  async cutOff(path: string, payload: object, headers: Headers): Promise<Answer> {
    const store = interrupted(this.world.store, 'webhook_subscriptions', async () => {
      throw new Error('the process ends here')
    })
    const broken = await start({ ...this.world, store })
    const answer = await this.#ask(broken, { method: 'POST', url: `${base}${path}`, headers, payload })
    await broken.app.close()
    return answer
  }

  /** The subscription, read by another process. */
  async subscriptionOf(id: string): Promise<WebhookSubscription> {
    const { state } = await this.world.otherStore.load(webhookSubscriptions.of(tenantOfFact(this.#orgId)))
    const found = state.subscriptions.get(id)
    if (found === undefined) throw new Error('not in the stream')
    return found
  }

  async storedText(secretId: string): Promise<string> {
    return `whsec_${Buffer.from(await this.world.vault.storedSecret('webhook', secretId)).toString('base64')}`
  }

  async close(): Promise<void> {
    await this.#application.app.close()
    await this.world.close()
  }

  async #ask(application: TestApplication, options: InjectOptions): Promise<Answer> {
    const authorization = await application.token({ orgId: this.#orgId, scopes: ['webhooks:write'] })
    const answer = await application.app.inject({ ...options, headers: { ...authorization, ...options.headers } })
    const record = answer.body === '' ? {} : answer.json<WebhookSubscriptionRecord & { code?: unknown }>()
    return {
      status: answer.statusCode,
      record: record as WebhookSubscriptionRecord,
      code: 'code' in record ? record.code : undefined,
      etag: String(answer.headers['etag']),
      isReplayed: answer.headers['idempotency-replayed'] === 'true',
      retryAfter: answer.headers['retry-after'],
      commitPosition: answer.headers['x-commit-position'],
    }
  }
}

export async function openSubscriptionApi(): Promise<SubscriptionApi> {
  const world = await openDecisionWorld()
  return new SubscriptionApi(world, await start(world))
}

function start(deps: CommandDependencies): Promise<TestApplication> {
  const service: Service = {
    prefix: 'clinical-api',
    documentedAt: 'prefixed',
    routes: (app) => webhookWriteRoutes(app, deps),
  }
  return startApplication({ services: [service], checkReplies: true })
}
