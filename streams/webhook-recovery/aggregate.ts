import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { webhookRecoveryEvents, type WebhookRecoveryEvent } from './events.ts'

export type WebhookRecovery = WebhookRecoveryEvent['data']

export type WebhookRecoveryState = { readonly status: 'absent' } | (WebhookRecovery & { readonly status: 'requested' })

/** One stream per recovery keeps its deliveries out of the stream of the subscriptions. */
export const webhookRecoveries = defineAggregate({
  category: 'webhook_recovery',
  id: idOfOrganisation,
  events: webhookRecoveryEvents,
  initialState: { status: 'absent' },
  evolve: (_state: WebhookRecoveryState, { data }: WebhookRecoveryEvent): WebhookRecoveryState => ({
    ...data,
    status: 'requested',
  }),
})
