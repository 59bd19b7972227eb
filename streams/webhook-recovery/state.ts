import type { Fold } from '../store/events.ts'
import type { WebhookRecoveryEvent } from './events.ts'
import { category } from './stream.ts'

export type WebhookRecovery = WebhookRecoveryEvent['data']

export type WebhookRecoveryState = { readonly status: 'absent' } | (WebhookRecovery & { readonly status: 'requested' })

export const webhookRecoveryFold: Fold<WebhookRecoveryState, WebhookRecoveryEvent> = {
  category,
  initialState: { status: 'absent' },
  evolve: (_state, { data }) => ({ ...data, status: 'requested' }),
}
