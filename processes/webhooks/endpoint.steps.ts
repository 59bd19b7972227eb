import { disableGone, nextReviewOf, reviewEndpoint } from '../../commands/webhooks/review-endpoint.ts'
import { execute } from '../../commands/handling/execute.ts'
import { webhookSubscriptions } from '../../streams/webhook-subscriptions/aggregate.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import type { StepContext, StepOutcome, Todo } from '../runtime/process.ts'
import { attemptCommand, orgOf, readCause } from '../runtime/step-identity.ts'
import type { DisablePayload, WatchPayload } from './todo-payloads.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/**
 * Looks at an endpoint that has taken nothing for part of the time that it is given. Where the stream wants neither a
 * warning nor an end, an event of another address, status or a success stands before it in the log and takes the row away.
 */
export async function watch(
  todo: Todo,
  { store, configuration }: ProcessDependencies,
  step: StepContext,
): Promise<StepOutcome> {
  const orgId = orgOf(todo)
  const { failingSince, endpointRevision } = todo.payload as WatchPayload
  const endpoint = { subscriptionId: todo.key, endpointRevision, failingSince }
  const review = { ...endpoint, now: step.now(), disableAfterMs: configuration.webhookDisableAfterSeconds * 1000 }
  const done = await execute(
    store,
    targetOf(orgId),
    (state) => reviewEndpoint(review, state),
    attemptCommand(orgId, readCause(todo)),
  )
  if (done.events.length > 0) return { kind: 'done', position: done.position }
  const next = nextReviewOf(review, done.state)
  return next === null ? { kind: 'done' } : { kind: 'wait', until: next.at }
}

/** Disables what answered 410, unless it has another address or was enabled again since. */
export async function disable(todo: Todo, { store }: ProcessDependencies, step: StepContext): Promise<StepOutcome> {
  const orgId = orgOf(todo)
  const { endpointRevision } = todo.payload as DisablePayload
  const command = { subscriptionId: todo.key, endpointRevision, now: step.now() }
  const done = await execute(
    store,
    targetOf(orgId),
    (state) => disableGone(command, state),
    attemptCommand(orgId, readCause(todo)),
  )
  return { kind: 'done', position: done.position }
}

function targetOf(orgId: TenantId) {
  return webhookSubscriptions.of(orgId)
}
