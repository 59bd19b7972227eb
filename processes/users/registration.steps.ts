import {
  abandonRegistration,
  attemptClearing,
  clearingUntil,
  clearRegistration,
  isAbandoned,
} from '../../commands/users/registration.ts'
import { openLeaseEnd } from '../../engine/commands/decision.ts'
import { users, type UserState } from '../../streams/user/aggregate.ts'
import type { ProcessStep } from '../dependencies.ts'
import { appends, callOutside, outsideCall } from '../../engine/processes/attempt.ts'

/**
 * The route that created the user is gone. The event comes before the account is removed: from then on the stream refuses
 * to complete this attempt.
 */
export const abandon: ProcessStep = async (todo, { store }, step) => {
  const target = users.of(todo.key)
  const { state } = await store.load(target)
  const until = leaseOf(state, step.now())
  if (until !== null) return { kind: 'wait', until }
  const command = { attemptId: null, reason: 'lease-ended', now: step.now() } as const
  return appends(store, target, (current) => abandonRegistration(command, current), todo.attempt())
}

/** The end of the lease of a registration that is under way. */
export function leaseOf(state: UserState, now: Date): Date | null {
  return state.status === 'registering' ? openLeaseEnd(state.leaseUntil, now) : null
}

/**
 * Deletes what the identity provider has under our user id. A repeat finds nothing there. The first call only reads. It
 * fails if the provider is away, so an outage leaves no open attempt for which a new registration would have to wait.
 */
export const clear: ProcessStep = async (todo, { store, identityProvider }, step) => {
  const target = users.of(todo.key)
  const { state } = await store.load(target)
  if (!isAbandoned(state) || state.isCleared) return { kind: 'done' }
  await callOutside(step, (signal) => identityProvider.get(todo.key, signal))
  return outsideCall({ todo, step, store }, target, {
    open: attemptClearing,
    isOpen: isAbandoned,
    waitsUntil: clearingUntil,
    async call(signal) {
      const account = await identityProvider.get(todo.key, signal)
      if (account !== null) await identityProvider.delete(account.externalId, signal)
    },
    async conclude(_, __, { id: attemptId, record }) {
      const { position } = await record((current) => clearRegistration({ attemptId, now: step.now() }, current))
      return { kind: 'done', position }
    },
  })
}
