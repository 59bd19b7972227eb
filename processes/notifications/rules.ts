import { noOrganisation, type TenantId } from '../../platform/kit/tenants.ts'
import { defineTable, type RowChange, type SealedEvents } from '../../engine/projections/projector.ts'
import { removeRow, upsertRow } from '../../engine/projections/row-changes.ts'
import {
  RecipientRule,
  recipientRuleTypes,
  type NotificationSubscriptionEvent,
} from '../../streams/notification-subscription/events.ts'
import type { ForeignEvent } from '../../streams/foreign-event/events.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import { endOfKey, organisationsOf, type NamedOrganisations } from './matches.ts'
import type { NotificationTodos } from './notifications.steps.ts'

/**
 * The enabled rules. The list is filled in the order of the log, so each event is compared with the rules that were
 * enabled when it was published. A rule never fires for events from before its creation, or from a time when it was
 * disabled.
 */
export const rules = defineTable({
  name: 'rules',
  columns: {
    subscription_id: 'text',
    /** `noOrganisation` for a rule of the platform. */
    org_id: 'text',
    event_type: 'text',
    template_code: 'text',
    recipient_type: { type: 'text', values: recipientRuleTypes },
    recipient_rule: { type: 'jsonb', schema: RecipientRule },
  },
  primaryKey: ['subscription_id'],
  indexes: [{ columns: ['event_type', 'org_id'] }],
})

type Rule = Extract<NotificationSubscriptionEvent, { type: 'NotificationSubscriptionChanged' }>['data']

export function keepRule({
  subscriptionId,
  orgId,
  enabled,
  recipientRule,
  ...rule
}: Omit<Rule, 'changedAt'>): RowChange[] {
  if (!enabled) return [removeRow(rules, { subscriptionId })]
  const { eventType, templateCode } = rule
  const recipientType = recipientRule.type
  const row = { subscriptionId, orgId: orgId ?? noOrganisation, eventType, templateCode, recipientType, recipientRule }
  return [upsertRow(rules, row)]
}

/** The parts of an event on which rules depend. The step reads the rest. */
type MatchedEvent = Pick<RecordedEvent, 'id' | 'type' | 'stream' | 'revision' | 'recordedAt'> & {
  readonly data: NamedOrganisations & { readonly occurred_at: string }
}

type ForeignReceived = Extract<SealedEvents<ForeignEvent>, { type: 'ForeignEventReceived' }>

/** An event of another service. It was recorded with its organisations. Its time may come from a wrong clock. */
export function createForEachRuleOfForeign(
  { data: { eventType, organisationIds, receivedAt }, ...recorded }: RecordedEvent<ForeignReceived>,
  todo: NotificationTodos,
): RowChange[] {
  return createForEachRule({ ...recorded, type: eventType, data: { organisationIds, occurred_at: receivedAt } }, todo)
}

/** Own events would otherwise mail about mails. */
const ownEvents = /^notification\./

/**
 * One `create` row for each rule that matches the event: the rules of its organisations, and those of the platform once
 * for each organisation. An event without an organisation matches chat rules of the platform only.
 */
export function createForEachRule(event: MatchedEvent, todo: NotificationTodos): RowChange[] {
  const organisations = organisationsOf(event.data)
  if (organisations.length === 0) return [createFor(event, noOrganisation, noOrganisation, 'slackChannel', todo)]
  const recipients = ownEvents.test(event.type) ? 'slackChannel' : undefined
  return organisations.flatMap((orgId) =>
    [orgId, noOrganisation].map((owner) => createFor(event, orgId, owner, recipients, todo)),
  )
}

function createFor(
  { id: eventId, type: eventType, stream, revision, recordedAt, data }: MatchedEvent,
  orgId: TenantId,
  owner: TenantId,
  recipientType: 'slackChannel' | undefined,
  todo: NotificationTodos,
): RowChange {
  const where = { eventType, orgId: owner, ...(recipientType === undefined ? {} : { recipientType }) }
  return todo.scheduleForEach('create', rules, where, (rule) => ({
    key: [rule('subscriptionId'), endOfKey(eventId, orgId)],
    at: data.occurred_at,
    mayWait: true,
    orgId,
    // A users service that is away holds up no chat.
    concurrencyKey: rule('recipientType'),
    payload: {
      subscriptionId: rule('subscriptionId'),
      templateCode: rule('templateCode'),
      recipientRule: rule('recipientRule'),
      eventType,
      channelStream: stream,
      channelRevision: revision.toString(),
      receivedAt: recordedAt,
    },
  }))
}
