import { endMembershipsOfErased } from '../../commands/users/erase-user.ts'
import {
  alignAccount,
  endErasure,
  mayDestroyKey,
  recordKeyDestroyed,
  wantedAccount,
} from '../../commands/users/status.ts'
import { noOrganisation } from '../../platform/kit/tenants.ts'
import { users, type UserState } from '../../streams/user/aggregate.ts'
import { destroyKeyOf, rewriteVaultAfter, writeEntry } from '../clinical/erased-keys.steps.ts'
import type { ProcessStep } from '../dependencies.ts'
import { appends, callOutside } from '../../engine/processes/attempt.ts'

/**
 * The account at the identity provider follows the status, the address, the name and the locale of the user. Each call may
 * be repeated, so it needs no attempt. The event records that the provider has them. If the provider is away, the step
 * throws, so its delays grow.
 */
export const align: ProcessStep = async (todo, deps, step) => {
  const { store, identityProvider } = deps
  const target = users.of(todo.key)
  const { state: user } = await store.load(target)
  if (!('externalId' in user) || user.account !== null) return { kind: 'done' }
  const account = wantedAccount(user)
  await callOutside(step, (signal) =>
    account.state === 'deleted'
      ? identityProvider.delete(user.externalId, signal)
      : identityProvider.update(user.externalId, { ...account, isEnabled: account.state === 'enabled' }, signal),
  )
  const command = { account, now: step.now() }
  // Where the user changed meanwhile, the account follows again at once.
  return appends(store, target, (state) => alignAccount(command, state), todo.attempt())
}

/** Repeats what the route did, so that a crash leaves no membership. The account goes last. */
export const deleteAccount: ProcessStep = async (todo, deps, step) => {
  const { state } = await deps.store.load(users.of(todo.key))
  await endMembershipsOfErased(deps, state, todo.attempt())
  return align(todo, deps, step)
}

/** The point of no return. Afterwards nothing personal about the user can be decrypted, in any stream. */
export const destroyKey: ProcessStep = async (todo, deps, step) => {
  const target = users.of(todo.key)
  const { state } = await deps.store.load(target)
  if (!mayDestroyKey(state)) return { kind: 'done' }
  await writeEntry(deps.objects, await destroyKeyOf(deps, noOrganisation, todo.key))
  return appends(deps.store, target, (now) => recordKeyDestroyed({ now: step.now() }, now), todo.attempt())
}

/** The last step. */
export const rewriteVault: ProcessStep = async (todo, deps, step) => {
  const waiting = await rewriteVaultAfter(deps, noOrganisation, todo.key, step)
  if (waiting !== undefined) return waiting
  const decide = (state: UserState) => endErasure({ now: step.now() }, state)
  return appends(deps.store, users.of(todo.key), decide, todo.attempt())
}
