import { abandonRegistration, clearRegistration } from '../../commands/users/registration.ts'
import { execute } from '../../commands/handling/execute.ts'
import { openLeaseEnd } from '../../commands/handling/decision.ts'
import { users, type UserState } from '../../streams/user/aggregate.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { callOutside } from '../runtime/attempt.ts'
import type { Todo } from '../runtime/define-process.ts'
import type { StepContext, StepOutcome } from '../runtime/process.ts'

/**
 * The route that created the user is gone. The event comes before the account is removed: from then on the stream refuses
 * to complete this attempt.
 */
export async function abandon(todo: Todo, { store }: ProcessDependencies, step: StepContext): Promise<StepOutcome> {
  const target = users.of(todo.key)
  const { state } = await store.load(target)
  const until = leaseOf(state, step.now())
  if (until !== null) return { kind: 'wait', until }
  const command = { attemptId: null, reason: 'lease-ended', now: step.now() } as const
  const done = await execute(store, target, (current) => abandonRegistration(command, current), todo.attempt())
  return { kind: 'done', position: done.position }
}

/** The end of the lease of a registration that is under way. */
export function leaseOf(state: UserState, now: Date): Date | null {
  return state.status === 'registering' ? openLeaseEnd(state.leaseUntil, now) : null
}

/** Removes what the identity provider has under our user id. A repeat finds nothing there. */
export async function clear(
  todo: Todo,
  { store, identityProvider }: ProcessDependencies,
  step: StepContext,
): Promise<StepOutcome> {
  const target = users.of(todo.key)
  const { state } = await store.load(target)
  if (state.status !== 'abandoned' || state.isCleared) return { kind: 'done' }
  await callOutside(step, async (signal) => {
    const account = await identityProvider.get(todo.key, signal)
    if (account !== null) await identityProvider.delete(account.externalId, signal)
  })
  const now = step.now()
  const done = await execute(store, target, (current) => clearRegistration({ now }, current), todo.attempt())
  return { kind: 'done', position: done.position }
}
