import { Type, type Static } from 'typebox'
import { cancelDelivery, type CancelDelivery } from '../../commands/webhooks/cancel-delivery.ts'
import { waitsUntil } from '../../commands/webhooks/deliver-webhook.ts'
import { execute } from '../../engine/commands/execute.ts'
import { webhookDeliveries } from '../../streams/webhook-delivery/aggregate.ts'
import { CancelReason } from '../../streams/webhook-delivery/events.ts'
import type { ProcessDependencies, ProcessStep } from '../dependencies.ts'
import { waiting } from '../../engine/processes/attempt.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import type { StepContext, StepOutcome } from '../../engine/processes/process.ts'
import { deliveryOf, DeliverPayload } from './delivery-target.ts'
import { readSubscription } from './subscription-reader.ts'

/** The subscription was disabled or deleted before the delivery. */
export const CancelPayload = Type.Object({
  reason: CancelReason,
  /** The payload of the `deliver` row. */
  delivery: DeliverPayload,
})
export type CancelPayload = Static<typeof CancelPayload>

/** Ends a delivery that was pending when its subscription was disabled or deleted. Waits for an open attempt. */
export const cancel: ProcessStep<CancelPayload> = async (todo, deps, step) => {
  const { delivery, reason } = todo.payload
  const subscription = await readSubscription(deps, todo.orgId, delivery.subscriptionId)
  return cancelled(todo, delivery, { reason, disabledRevision: subscription?.disabledRevision ?? null }, deps, step)
}

type Cause = Pick<CancelDelivery, 'reason' | 'disabledRevision'>

export async function cancelled(
  todo: Todo,
  payload: DeliverPayload,
  cause: Cause,
  { store }: ProcessDependencies,
  step: StepContext,
): Promise<StepOutcome> {
  const delivery = deliveryOf(todo, payload)
  const command = { delivery, ...cause, now: step.now() }
  const target = webhookDeliveries.of(todo.orgId, delivery.deliveryId)
  // The instant differs from run to run, so the id must differ too. The expected revision lets one run succeed.
  const done = await execute(store, target, (state) => cancelDelivery(command, state), todo.attempt())
  return done.events.length === 0
    ? waiting(waitsUntil(done.state, step.now(), step.endedLeases))
    : { kind: 'done', position: done.position }
}
