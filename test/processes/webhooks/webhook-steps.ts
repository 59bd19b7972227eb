import { randomUUID } from 'node:crypto'
import { execute } from '../../../engine/commands/execute.ts'
import { redeliver } from '../../../commands/webhooks/redeliver.ts'
import type { ReceivedWebhook, WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import type { Cause } from '../../../engine/processes/step-identity.ts'
import type { StepOutcome, TodoRow } from '../../../engine/processes/process.ts'
import type { DeliverPayload } from '../../../processes/webhooks/delivery-target.ts'
import { webhooksProcess } from '../../../processes/webhooks/webhooks.process.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import type { AssessmentEvent } from '../../../streams/assessment/events.ts'
import type { RecordedEvent } from '../../../engine/store/events.ts'
import type { CausingRequest } from '../../../engine/aggregates/types.ts'
import type { WebhookDeliveryEvent } from '../../../streams/webhook-delivery/events.ts'
import { webhookDeliveries, deliveryIdOf } from '../../../streams/webhook-delivery/aggregate.ts'
import type { WebhookSubscriptionEvent } from '../../../streams/webhook-subscriptions/events.ts'
import { webhookSubscriptions, type WebhookSubscription } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { contextOf, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { assessmentFact, ids } from '../../streams/facts.ts'
import { subscriptionFact } from '../../streams/webhook-facts.ts'
import { whenWorkedOff } from '../../support/given-process.ts'

/** A new subscription, and its event types. */
export interface Subscribed {
  readonly subscriptionId: string
  /** Another process changes it. */
  append(...events: readonly WebhookSubscriptionEvent[]): Promise<void>
  current(): Promise<WebhookSubscription>
}

export async function subscribe(
  world: DecisionWorld,
  changes: Parameters<typeof subscriptionFact<'WebhookSubscribed'>>[1],
): Promise<Subscribed> {
  const subscriptionId = randomUUID()
  const stream = webhookSubscriptions.of(world.orgId).stream
  const append = async (...events: readonly WebhookSubscriptionEvent[]): Promise<void> => {
    await execute(world.otherStore, { fold: webhookSubscriptions, stream }, () => events, contextOf(world))
  }
  const subscribed = {
    subscriptionId,
    organisationId: world.orgId,
    secretId: subscriptionId,
    signatureSchemes: ['v1' as const],
    publicKey: null,
    createdAt: world.now().toISOString(),
  }
  await world.vault.secret('webhook', changes?.secretId ?? subscriptionId)
  await append(subscriptionFact('WebhookSubscribed', { ...subscribed, ...changes }))
  return {
    subscriptionId,
    append,
    current: async () => {
      const { state } = await world.otherStore.load({ fold: webhookSubscriptions, stream })
      const found = state.subscriptions.get(subscriptionId)
      if (found === undefined) throw new Error('the subscription was deleted')
      return found
    },
  }
}

/** An assessment that failed, for deliveries. */
export async function failedAssessment(
  world: DecisionWorld,
  assessmentId: string = ids.assessment,
  ...afterwards: readonly AssessmentEvent[]
): Promise<string> {
  const story = [
    assessmentFact('AssessmentRequested', { assessmentId }),
    assessmentFact('AssessmentSubmitted', { assessmentId, caseId: randomUUID() }),
    assessmentFact('AssessmentFailed', { assessmentId }),
    ...afterwards,
  ]
  const stream = assessments.of(world.orgId, assessmentId).stream
  await world.store.append({ fold: assessments, stream }, 'no_stream', story, contextOf(world))
  const last = await world.store.readLast(stream)
  if (last === undefined) throw new Error('the assessment was not recorded')
  return last.id
}

/** One that failed, and about which clinicians have decided. Returns the id of the decision. */
export function reviewedAssessment(world: DecisionWorld, assessmentId: string): Promise<string> {
  return failedAssessment(
    world,
    assessmentId,
    assessmentFact('AssessmentHumanReviewOpened', { assessmentId }),
    assessmentFact('AssessmentHumanReviewDecided', { assessmentId }),
  )
}

/** Another assessment that ends now. Returns the id of its last event. */
export function endAssessment(world: DecisionWorld): Promise<string> {
  return failedAssessment(world, randomUUID())
}

/** One delivery, as in its row. */
export class GivenDelivery {
  readonly #world: DecisionWorld
  readonly #deps: ProcessDependencies
  readonly #payload: DeliverPayload & { readonly cause: Cause }
  #dueAt: Date

  constructor(
    world: DecisionWorld,
    deps: ProcessDependencies,
    subscriptionId: string,
    changes: Partial<DeliverPayload> = {},
  ) {
    const eventId = randomUUID()
    this.#world = world
    this.#deps = deps
    this.#dueAt = world.now()
    const event = {
      eventType: 'assessment.failed' as const,
      assessmentId: ids.assessment,
      occurredAt: world.now().toISOString(),
    }
    this.#payload = { cause: { eventId, correlationId: randomUUID() }, subscriptionId, eventId, ...event, ...changes }
  }

  get id(): string {
    return deliveryIdOf(this.#payload.subscriptionId, this.#payload.eventId)
  }

  get eventId(): string {
    return this.#payload.eventId
  }

  get target() {
    return webhookDeliveries.of(this.#world.orgId, this.id)
  }

  /** Runs its step as if it were due now. The list has read all earlier events. */
  async work(): Promise<StepOutcome> {
    return whenWorkedOff(webhooksProcess, this.#todo('deliver', this.#payload), this.#deps, this.#world.now())
  }

  /** The next attempt, at the instant in the last event. */
  async workAgain(): Promise<StepOutcome> {
    const last = await this.last()
    const next = last?.type === 'WebhookDeliveryAttemptFailed' ? last.data.nextAttemptAt : null
    if (next === null) throw new Error(`nothing is due after ${last?.type}`)
    this.#dueAt = new Date(next)
    this.#world.pass((this.#dueAt.getTime() - this.#world.now().getTime()) / 1000)
    return this.work()
  }

  /** Its row after the subscription was disabled or deleted while the delivery was pending. */
  async cancel(
    reason: 'subscription_disabled' | 'subscription_deleted' = 'subscription_disabled',
  ): Promise<StepOutcome> {
    const payload = { cause: this.#payload.cause, reason, delivery: this.#payload }
    return whenWorkedOff(webhooksProcess, this.#todo('cancel', payload), this.#deps, this.#world.now())
  }

  /** Its row in a recovery. Each recovery has its own id. */
  async recover(recovery: { readonly id: string; readonly eventId: string }): Promise<StepOutcome> {
    const { subscriptionId, cause } = this.#payload
    const payload = {
      cause: { ...cause, eventId: recovery.eventId },
      subscriptionId,
      deliveryId: this.id,
      recoveryId: recovery.id,
    }
    return whenWorkedOff(webhooksProcess, this.#todo('redeliver', payload), this.#deps, this.#world.now())
  }

  /** A client requests it again. */
  async askAgain(of: Subscribed, request: CausingRequest): Promise<void> {
    const { subscriptionId, status, endpointRevision, disabledRevision } = await of.current()
    const command = {
      subscriptionId,
      due: null,
      isActive: status === 'active',
      endpointRevision,
      disabledRevision,
      recoveryId: null,
      request,
      now: this.#world.now(),
    }
    await execute(this.#world.otherStore, this.target, (state) => redeliver(command, state), contextOf(this.#world))
  }

  /** The row of a redelivery: the stream of the delivery exists. */
  again(): GivenDelivery {
    return new GivenDelivery(this.#world, this.#deps, this.#payload.subscriptionId, {
      ...this.#payload,
      occurredAt: null,
    })
  }

  async events(): Promise<RecordedEvent<WebhookDeliveryEvent>[]> {
    const events: RecordedEvent<WebhookDeliveryEvent>[] = []
    for await (const event of this.#world.store.readStream<WebhookDeliveryEvent>(this.target.stream)) events.push(event)
    return events
  }

  async types(): Promise<string[]> {
    return (await this.events()).map(({ type }) => type)
  }

  async last(): Promise<WebhookDeliveryEvent | undefined> {
    const last = await this.#world.store.readLast<WebhookDeliveryEvent>(this.target.stream)
    return last === undefined ? undefined : ({ type: last.type, data: last.data } as WebhookDeliveryEvent)
  }

  receivedBy({ received }: WebhookReceiver): readonly ReceivedWebhook[] {
    return received.filter(({ headers }) => headers['webhook-id'] === this.id)
  }

  #todo(step: string, payload: unknown): TodoRow {
    const key = `${this.#payload.subscriptionId}.${this.#payload.eventId}`
    return { key, step, orgId: this.#world.orgId, dueAt: this.#dueAt, payload }
  }
}
