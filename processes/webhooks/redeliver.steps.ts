import { Type, type Static } from 'typebox'
import { execute } from '../../engine/commands/execute.ts'
import { redeliver as redeliverAgain } from '../../commands/webhooks/redeliver.ts'
import { webhookDeliveries } from '../../streams/webhook-delivery/aggregate.ts'
import type { ProcessStep } from '../dependencies.ts'
import type { StepOutcome } from '../../engine/processes/process.ts'
import { readSubscription } from './subscription-reader.ts'

/** One delivery of a recovery. */
export const RedeliverPayload = Type.Object({
  subscriptionId: Type.String(),
  deliveryId: Type.String(),
  recoveryId: Type.String(),
})
export type RedeliverPayload = Static<typeof RedeliverPayload>

const hourMs = 3_600_000

/**
 * Makes one delivery of a recovery pending again, or records that this is not needed. Both events remove the row. If
 * the subscription was disabled meanwhile, nothing is sent, and the event of the disabling removes the row.
 */
export const redeliver: ProcessStep<RedeliverPayload> = async (todo, { store }, step) => {
  const { subscriptionId, deliveryId, recoveryId } = todo.payload
  const later: StepOutcome = { kind: 'wait', until: new Date(step.now().getTime() + hourMs) }
  const subscription = await readSubscription({ store }, todo.orgId, subscriptionId)
  if (subscription?.status !== 'active') return later
  const { endpointRevision, disabledRevision } = subscription
  const command = {
    subscriptionId,
    due: null,
    isActive: true,
    endpointRevision,
    disabledRevision,
    recoveryId,
    request: null,
    now: todo.dueAt,
  }
  const target = webhookDeliveries.of(todo.orgId, deliveryId)
  const context = todo.command('webhooks.recover', deliveryId)
  const done = await execute(store, target, (state) => redeliverAgain(command, state), context)
  return done.events.length === 0 ? later : { kind: 'done', position: done.position }
}
