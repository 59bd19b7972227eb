import { isDeepStrictEqual } from 'node:util'
import type { NotificationSubscriptionState } from '../../streams/notification-subscription/aggregate.ts'
import type { NotificationSubscriptionEvent, RecipientRule } from '../../streams/notification-subscription/events.ts'
import { refused, repeated, type Decision } from '../../engine/commands/decision.ts'

type Created = Extract<NotificationSubscriptionEvent, { type: 'NotificationSubscriptionCreated' }>['data']

/** Of an organisation, or of the platform. Each rule of a type makes a message of each event. */
export const mostRules = 500

export interface CreateSubscription extends Omit<Created, 'createdAt'> {
  /** Of the organisation. Those of the last moments may be missing. */
  readonly rules: number
  readonly now: Date
}

export function createSubscription(
  { rules, now, ...rule }: CreateSubscription,
  state: NotificationSubscriptionState,
): Decision<
  NotificationSubscriptionEvent,
  'rule-limit' | 'subscription-deleted' | 'person-for-notification-event' | 'idempotency-key-reused'
> {
  if (state.status === 'deleted') return refused('subscription-deleted')
  if (state.status === 'existing') return repeated(rule, state)
  if (rules >= mostRules) return refused('rule-limit')
  if (isLoop(rule)) return refused('person-for-notification-event')
  return [{ type: 'NotificationSubscriptionCreated', data: { ...rule, createdAt: now.toISOString() } }]
}

export interface ChangeSubscription {
  /** Undefined members stay as they are. */
  readonly enabled?: boolean | undefined
  readonly templateCode?: string | undefined
  readonly recipientRule?: RecipientRule | undefined
  readonly changedBy: string
  readonly now: Date
}

/** The organisation and the event type never change. */
export function changeSubscription(
  { changedBy, now, ...changes }: ChangeSubscription,
  state: NotificationSubscriptionState,
): Decision<NotificationSubscriptionEvent, 'not-found' | 'person-for-notification-event'> {
  if (state.status !== 'existing') return refused('not-found')
  const before = ruleOf(state)
  const { enabled = before.enabled, templateCode = before.templateCode, recipientRule = before.recipientRule } = changes
  const rule = { ...before, enabled, templateCode, recipientRule }
  if (isDeepStrictEqual(rule, before)) return []
  if (isLoop(rule)) return refused('person-for-notification-event')
  return [{ type: 'NotificationSubscriptionChanged', data: { ...rule, changedAt: now.toISOString(), changedBy } }]
}

export function deleteSubscription(
  { changedBy, now }: { readonly changedBy: string; readonly now: Date },
  state: NotificationSubscriptionState,
): Decision<NotificationSubscriptionEvent, 'not-found'> {
  if (state.status !== 'existing') return refused('not-found')
  const data = { ...ruleOf(state), deletedAt: now.toISOString(), changedBy }
  return [{ type: 'NotificationSubscriptionDeleted', data }]
}

/** A message to a person about a message to a person would cause the next one. */
function isLoop({ eventType, recipientRule }: Pick<Created, 'eventType' | 'recipientRule'>): boolean {
  return eventType.startsWith('notification.') && recipientRule.type !== 'slackChannel'
}

function ruleOf({
  subscriptionId,
  orgId,
  eventType,
  templateCode,
  recipientRule,
  enabled,
}: Exclude<NotificationSubscriptionState, { status: 'absent' }>) {
  return { subscriptionId, orgId, eventType, templateCode, recipientRule, enabled }
}
