import { deliveryIdOf, webhookDeliveries } from '../../streams/webhook-delivery/aggregate.ts'
import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import { webhookRecoveries } from '../../streams/webhook-recovery/aggregate.ts'
import { webhookSubscriptions } from '../../streams/webhook-subscriptions/aggregate.ts'
import type { WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import { deliveryFact, recoveryFact, subscriptionFact } from '../../test/streams/webhook-facts.ts'
import type { Act } from './clinical-acts.ts'
import type { Delivery, Story, Subscription } from './story.ts'

const wishes = [
  ['assessment.completed'],
  ['assessment.failed'],
  ['assessment.completed', 'assessment.failed'],
  ['assessment.completed', 'assessment.failed', 'assessment.reviewed'],
] as const

export const subscribe: Act = (story, random, text) => {
  const orgId = random.pick(story.organisations)
  const id = story.id(random)
  const eventTypes = random.pick(wishes)
  const names = {
    subscriptionId: id,
    organisationId: orgId,
    eventTypes: [...eventTypes],
    secretId: id,
    publicKey: keyOf(story, random),
  }
  const described = { description: random.oneIn(3) ? null : text, payloadMode: random.pick(['full', 'thin'] as const) }
  const subscription: Subscription = { id, orgId, eventTypes, status: 'active', endpointRevision: 0 }
  subscription.endpointRevision = say(
    story,
    subscription,
    subscriptionFact('WebhookSubscribed', { ...names, ...described, createdAt: story.instant(random) }),
  )
  story.subscriptions.push(subscription)
}

export const changeSubscription: Act = (story, random, text) => {
  const subscriptions = story.subscriptions.filter(({ status }) => status !== 'deleted')
  if (subscriptions.length === 0) return
  const subscription = random.pick(subscriptions)
  const { id: subscriptionId, status } = subscription
  const at = story.instant(random)
  switch (status === 'disabled' && random.oneIn(2) ? 1 : random.below(5)) {
    case 0: {
      const isNewEndpoint = random.oneIn(2)
      subscription.eventTypes = random.pick(wishes)
      const changed = {
        subscriptionId,
        eventTypes: [...subscription.eventTypes],
        description: text,
        isNewEndpoint,
        changedAt: at,
      }
      const revision = say(story, subscription, subscriptionFact('WebhookSubscriptionChanged', changed))
      if (isNewEndpoint) subscription.endpointRevision = revision
      return
    }
    case 1:
      if (status === 'active') {
        say(
          story,
          subscription,
          subscriptionFact('WebhookSubscriptionDisabled', {
            subscriptionId,
            reason: random.pick(['requested', 'gone', 'no_success'] as const),
            disabledAt: at,
          }),
        )
        subscription.status = 'disabled'
      } else {
        subscription.endpointRevision = say(
          story,
          subscription,
          subscriptionFact('WebhookSubscriptionEnabled', { subscriptionId, enabledAt: at }),
        )
        subscription.status = 'active'
      }
      return
    case 2: {
      const rotated = {
        subscriptionId,
        secretId: story.id(random),
        publicKey: keyOf(story, random),
        previousValidUntil: story.instant(random),
        rotatedAt: at,
      }
      say(story, subscription, subscriptionFact('WebhookSecretRotated', rotated))
      return
    }
    case 3: {
      const instants = {
        failingSince: at,
        disableAt: story.instant(random),
        nextReviewAt: story.instant(random),
        warnedAt: story.instant(random),
      }
      if (status === 'active')
        say(
          story,
          subscription,
          subscriptionFact('WebhookEndpointFailing', {
            subscriptionId,
            percent: random.pick([50, 70, 90] as const),
            ...instants,
          }),
        )
      return
    }
    default:
      if (!random.oneIn(3)) return
      say(story, subscription, subscriptionFact('WebhookSubscriptionDeleted', { subscriptionId, deletedAt: at }))
      if (random.oneIn(2))
        say(
          story,
          subscription,
          subscriptionFact('WebhookSecretsDestroyed', { subscriptionId, destroyedAt: story.instant(random) }),
        )
      subscription.status = 'deleted'
  }
}

export const testSubscription: Act = (story, random) => {
  const active = story.subscriptions.filter(({ status }) => status === 'active')
  if (active.length === 0) return
  const { id: subscriptionId, orgId } = random.pick(active)
  const eventId = story.id(random)
  const delivery: Delivery = {
    id: deliveryIdOf(subscriptionId, eventId),
    orgId,
    subscriptionId,
    eventId,
    eventType: 'webhook.test',
    assessmentId: null,
    status: 'due',
    attempts: 0,
    isScheduled: false,
  }
  append(story, delivery, schedule(story, random, delivery))
  story.deliveries.push(delivery)
}

/** Attempts a due delivery, or cancels it when its subscription is no longer active. */
export const advanceDelivery: Act = (story, random) => {
  const due = story.deliveries.filter(({ status }) => status === 'due')
  if (due.length === 0) return
  const delivery = random.pick(due)
  const scheduled = delivery.isScheduled ? [] : [schedule(story, random, delivery)]
  const subscription = story.subscriptions.find(({ id }) => id === delivery.subscriptionId)
  if (subscription?.status !== 'active') {
    const reason = subscription?.status === 'disabled' ? 'subscription_disabled' : 'subscription_deleted'
    append(
      story,
      delivery,
      ...scheduled,
      deliveryFact('WebhookDeliveryCancelled', { ...namesOf(delivery), reason, cancelledAt: story.instant(random) }),
    )
    delivery.status = 'over'
    return
  }
  delivery.attempts += 1
  const attempt = { deliveryId: delivery.id, attempt: delivery.attempts }
  append(
    story,
    delivery,
    ...scheduled,
    deliveryFact('WebhookDeliveryAttempted', {
      ...attempt,
      attemptedAt: story.instant(random),
      leaseUntil: story.instant(random),
      shown: random.oneIn(2) ? null : { patientId: story.id(random), categories: ['images', 'results'] },
    }),
  )
  const end = outcome(story, random, delivery, subscription)
  append(story, delivery, end)
  if (end.type !== 'WebhookDeliveryAttemptFailed' || delivery.attempts % 2 === 0) return
  // Nothing is random, so that the story stays as it was.
  const nextAttemptAt = end.data.failedAt
  append(story, delivery, deliveryFact('WebhookDeliveryBroughtForward', { ...namesOf(delivery), nextAttemptAt }))
}

export const redeliver: Act = (story, random) => {
  const over = story.deliveries.filter(
    ({ status, subscriptionId }) => status === 'over' && isActive(story, subscriptionId),
  )
  if (over.length === 0) return
  const delivery = random.pick(over)
  if (random.oneIn(4)) {
    append(
      story,
      delivery,
      deliveryFact('WebhookRedeliveryUnneeded', {
        ...namesOf(delivery),
        recoveryId: story.id(random),
        request: null,
        decidedAt: story.instant(random),
      }),
    )
    return
  }
  const { eventType, assessmentId } = delivery
  const asked = {
    eventType,
    assessmentId,
    recoveryId: random.oneIn(2) ? null : story.id(random),
    request: null,
    requestedAt: story.instant(random),
  }
  append(story, delivery, deliveryFact('WebhookRedeliveryRequested', { ...namesOf(delivery), ...asked }))
  delivery.status = 'due'
}

export const recover: Act = (story, random) => {
  const active = story.subscriptions.filter(({ status }) => status === 'active')
  if (active.length === 0) return
  const { id: subscriptionId, orgId } = random.pick(active)
  const recoveryId = story.id(random)
  const found = story.deliveries.filter(
    (one) => one.subscriptionId === subscriptionId && one.status === 'over' && one.assessmentId !== null,
  )
  const deliveries = found.map(({ id: deliveryId, eventId }) => ({ deliveryId, eventId }))
  const period = { since: story.instant(random), until: story.instant(random), requestedAt: story.instant(random) }
  const names = { recoveryId, subscriptionId, organisationId: orgId, deliveries }
  story.append(
    orgId,
    webhookRecoveries.of(orgId, recoveryId).stream,
    recoveryFact('WebhookRecoveryRequested', { ...names, ...period }),
  )
}

function schedule(story: Story, random: SeededRandom, delivery: Delivery): WebhookDeliveryEvent {
  const { orgId: organisationId, eventType, assessmentId } = delivery
  const origin = assessmentId === null ? 'test' : 'event'
  const instants = { occurredAt: story.instant(random), scheduledAt: story.instant(random) }
  delivery.isScheduled = true
  return deliveryFact('WebhookDeliveryScheduled', {
    ...namesOf(delivery),
    organisationId,
    eventType,
    assessmentId,
    origin,
    ...instants,
  })
}

/** A test delivery has one attempt and does not count against an endpoint. */
function outcome(
  story: Story,
  random: SeededRandom,
  delivery: Delivery,
  { endpointRevision }: Subscription,
): WebhookDeliveryEvent {
  const isTest = delivery.assessmentId === null
  const about = { ...namesOf(delivery), attempt: delivery.attempts }
  const at = story.instant(random)
  // Sometimes the failed attempt was made to the previous endpoint.
  const revision = random.oneIn(4) ? Math.max(0, endpointRevision - 1) : endpointRevision
  const endpoint = isTest ? null : { revision, reviewAt: story.instant(random) }
  if (!isTest && random.oneIn(3))
    return deliveryFact('WebhookDeliveryAttemptFailed', {
      ...about,
      endpoint,
      failedAt: at,
      nextAttemptAt: story.instant(random),
    })
  delivery.status = 'over'
  if (random.oneIn(2)) return deliveryFact('WebhookDelivered', { ...about, deliveredAt: at })
  const answered = random.oneIn(2) ? { statusCode: 410, errorClass: 'http_status' as const } : {}
  return deliveryFact('WebhookDeliveryFailed', { ...about, ...answered, endpoint, failedAt: at })
}

/** Returns the revision of the appended event. */
function say(story: Story, { orgId }: Subscription, event: WebhookSubscriptionEvent): number {
  const stream = webhookSubscriptions.of(orgId).stream
  const revision = story.appends.filter((one) => one.stream === stream).flatMap(({ events }) => events).length
  story.append(orgId, stream, event)
  return revision
}

function append(story: Story, { orgId, id }: Delivery, ...events: WebhookDeliveryEvent[]): void {
  story.append(orgId, webhookDeliveries.of(orgId, id).stream, ...events)
}

function namesOf({ id: deliveryId, subscriptionId, eventId }: Delivery) {
  return { deliveryId, subscriptionId, eventId }
}

function keyOf(story: Story, random: SeededRandom) {
  return random.oneIn(3) ? null : { kid: `key ${story.id(random)}`, x: 'x' }
}

function isActive(story: Story, subscriptionId: string): boolean {
  return story.subscriptions.some(({ id, status }) => id === subscriptionId && status === 'active')
}
