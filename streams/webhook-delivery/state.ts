import type { Fold } from '../store/events.ts'
import type { WebhookDeliveryEvent } from './events.ts'
import { category } from './stream.ts'

type Scheduled = Extract<WebhookDeliveryEvent, { type: 'WebhookDeliveryScheduled' }>['data']

interface Delivery extends Scheduled {
  /** Attempts whose outcome is known: one that a crash cut off does not use up a place in the schedule. */
  readonly finishedAttempts: number
  readonly openLeaseUntil: string | null
}

export type WebhookDeliveryState =
  | { readonly status: 'absent' }
  | (Delivery & { readonly status: 'pending' })
  | (Delivery & { readonly status: 'delivered' })
  | (Delivery & { readonly status: 'failed' })

function evolve(state: WebhookDeliveryState, event: WebhookDeliveryEvent): WebhookDeliveryState {
  if (event.type === 'WebhookDeliveryScheduled') {
    return { ...event.data, status: 'pending', finishedAttempts: 0, openLeaseUntil: null }
  }
  if (state.status === 'absent') return state
  switch (event.type) {
    case 'WebhookDeliveryAttempted':
      return { ...state, openLeaseUntil: event.data.leaseUntil }
    case 'WebhookDelivered':
      return { ...state, status: 'delivered', finishedAttempts: event.data.attempt, openLeaseUntil: null }
    case 'WebhookDeliveryAttemptFailed':
      return { ...state, finishedAttempts: event.data.attempt, openLeaseUntil: null }
    case 'WebhookDeliveryFailed':
      return { ...state, status: 'failed', finishedAttempts: event.data.attempt, openLeaseUntil: null }
  }
}

export const webhookDeliveryFold: Fold<WebhookDeliveryState, WebhookDeliveryEvent> = {
  category,
  initialState: { status: 'absent' },
  evolve,
}
