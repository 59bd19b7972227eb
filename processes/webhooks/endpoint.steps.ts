import { Type, type Static } from 'typebox'
import { disableGone, nextReviewOf, reviewEndpoint } from '../../commands/webhooks/review-endpoint.ts'
import { appends } from '../../engine/processes/attempt.ts'
import { execute } from '../../engine/commands/execute.ts'
import { webhookSubscriptions } from '../../streams/webhook-subscriptions/aggregate.ts'
import type { ProcessStep } from '../dependencies.ts'

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
export const watch: ProcessStep<WatchPayload> = async (todo, { store, configuration }, step) => {
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
export const disable: ProcessStep<DisablePayload> = async (todo, { store }, step) => {
  const { endpointRevision } = todo.payload
  const command = { subscriptionId: todo.key, endpointRevision, now: step.now() }
  const target = webhookSubscriptions.of(todo.orgId)
  return appends(store, target, (state) => disableGone(command, state), todo.attempt())
}
