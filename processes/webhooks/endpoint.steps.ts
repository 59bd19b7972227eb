import { Type, type Static } from 'typebox'
import { disableGone, nextReviewOf, reviewEndpoint } from '../../commands/webhooks/review-endpoint.ts'
import { appends } from '../../engine/processes/appends.ts'
import { execute } from '../../engine/commands/execute.ts'
import { webhookSubscriptions } from '../../streams/webhook-subscriptions/aggregate.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import type { StepContext, StepOutcome } from '../../engine/processes/process.ts'

/** Nothing was delivered since `failingSince`, RFC 3339. */
export const WatchPayload = Type.Object({ endpointRevision: Type.Integer(), failingSince: Type.String() })
export type WatchPayload = Static<typeof WatchPayload>

/** The endpoint has answered 410. */
export const DisablePayload = Type.Object({ endpointRevision: Type.Integer() })
export type DisablePayload = Static<typeof DisablePayload>

/**
 * Reviews an endpoint that has accepted nothing for a part of the allowed time. If neither a warning nor the disabling
 * is needed, an earlier event (another address, another status, a success) removes the row.
 */
export async function watch(
  todo: Todo<WatchPayload>,
  { store, configuration }: ProcessDependencies,
  step: StepContext,
): Promise<StepOutcome> {
  const { failingSince, endpointRevision } = todo.payload
  const endpoint = { subscriptionId: todo.key, endpointRevision, failingSince }
  const review = { ...endpoint, now: step.now(), disableAfterMs: configuration.webhookDisableAfterSeconds * 1000 }
  const target = webhookSubscriptions.of(todo.orgId)
  const done = await execute(store, target, (state) => reviewEndpoint(review, state), todo.attempt())
  if (done.events.length > 0) return { kind: 'done', position: done.position }
  const next = nextReviewOf(review, done.state)
  return next === null ? { kind: 'done' } : { kind: 'wait', until: next.at }
}

/** Disables a subscription after a 410, unless it has another address or was enabled again meanwhile. */
export async function disable(
  todo: Todo<DisablePayload>,
  { store }: ProcessDependencies,
  step: StepContext,
): Promise<StepOutcome> {
  const { endpointRevision } = todo.payload
  const command = { subscriptionId: todo.key, endpointRevision, now: step.now() }
  const target = webhookSubscriptions.of(todo.orgId)
  return appends(store, target, (state) => disableGone(command, state), todo.attempt())
}
