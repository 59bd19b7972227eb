import { execute } from '../../commands/handling/execute.ts'
import { redeliver as redeliverAgain } from '../../commands/webhooks/redeliver.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import type { StepContext, StepOutcome, Todo } from '../runtime/process.ts'
import { stepCommand } from '../runtime/step-command.ts'
import { orgOf, readCause } from '../runtime/step-identity.ts'
import { targetOf } from './delivery-target.ts'
import type { RedeliverPayload } from './todo-payloads.ts'

const hourMs = 3_600_000

/**
 * Makes one delivery of a recovery pending again, or records that this is not needed: either event takes the row away. One of
 * a subscription that has been disabled since is not sent; that takes away its row, too.
 */
export async function redeliver(
  todo: Todo,
  { store, subscriptions }: ProcessDependencies,
  step: StepContext,
): Promise<StepOutcome> {
  const orgId = orgOf(todo)
  const { subscriptionId, deliveryId, recoveryId } = todo.payload as RedeliverPayload
  const later: StepOutcome = { kind: 'wait', until: new Date(step.now().getTime() + hourMs) }
  const subscription = await subscriptions.read(orgId, subscriptionId)
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
  const context = stepCommand({ name: 'webhooks.recover', key: deliveryId, orgId, ...readCause(todo) })
  const done = await execute(store, targetOf(orgId, deliveryId), (state) => redeliverAgain(command, state), context)
  return done.events.length === 0 ? later : { kind: 'done', position: done.position }
}
