import type { WebhookRecoveryEvent } from '../../streams/webhook-recovery/events.ts'
import type { WebhookRecovery, WebhookRecoveryState } from '../../streams/webhook-recovery/aggregate.ts'
import { refused, repeated, type Decision } from '../../engine/commands/decision.ts'

export interface Recover extends Omit<WebhookRecovery, 'requestedAt'> {
  readonly isActive: boolean
  readonly now: Date
}

/**
 * Requests the named deliveries again. The event contains them, so a repeat gets the same answer. A process sends them
 * one by one.
 */
export function recover(
  { isActive, now, ...found }: Recover,
  state: WebhookRecoveryState,
): Decision<WebhookRecoveryEvent, 'webhook-subscription-disabled' | 'idempotency-key-reused'> {
  if (state.status !== 'absent') return repeated(found, state)
  if (!isActive) return refused('webhook-subscription-disabled')
  return [{ type: 'WebhookRecoveryRequested', data: { ...found, requestedAt: now.toISOString() } }]
}
