import { cancelDelivery, type CancelDelivery } from '../../commands/webhooks/cancel-delivery.ts'
import { execute } from '../../commands/handling/execute.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import type { StepContext, StepOutcome, Todo } from '../runtime/process.ts'
import { attemptCommand, orgOf, readCause } from '../runtime/step-identity.ts'
import { deliveryOf, targetOf, unsettled } from './delivery-target.ts'
import type { CancelPayload, DeliverPayload } from './todo-payloads.ts'

/** Ends what was pending when its subscription was disabled or deleted, once nobody is at an attempt. */
export async function cancel(todo: Todo, deps: ProcessDependencies, step: StepContext): Promise<StepOutcome> {
  const { delivery, reason } = todo.payload as CancelPayload
  const subscription = await deps.subscriptions.read(orgOf(todo), delivery.subscriptionId)
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
  const orgId = orgOf(todo)
  const delivery = deliveryOf(todo, payload)
  const command = { delivery, ...cause, now: step.now() }
  // Its instant differs from one run to the next, so its id must: only the revision lets one of them through.
  const context = attemptCommand(orgId, readCause(todo))
  const done = await execute(
    store,
    targetOf(orgId, delivery.deliveryId),
    (state) => cancelDelivery(command, state),
    context,
  )
  return done.events.length === 0 ? unsettled(done.state, step.now()) : { kind: 'done', position: done.position }
}
