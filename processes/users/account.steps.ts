import { Type, type Static } from 'typebox'
import type { IdentityProvider } from '../../contracts/users/identity-provider.ts'
import { execute } from '../../engine/commands/execute.ts'
import { completeErasure } from '../../commands/users/erase-user.ts'
import { alignAccount, wantedAccount } from '../../commands/users/status.ts'
import { users, type AccountState } from '../../streams/user/aggregate.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { callOutside } from '../../engine/processes/attempt.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import type { StepContext, StepOutcome } from '../../engine/processes/process.ts'

/**
 * The account at the identity provider follows the status of the user. Each call may be repeated, so it needs no
 * attempt. The event records that the provider has the state. If the provider is away, the step throws, so its delays
 * grow.
 */
export async function align(todo: Todo, deps: ProcessDependencies, step: StepContext): Promise<StepOutcome> {
  const { store, identityProvider } = deps
  const target = users.of(todo.key)
  const { state: user } = await store.load(target)
  if (!('externalId' in user) || user.account !== null) return { kind: 'done' }
  const account = wantedAccount(user)
  await callOutside(step, (signal) => give[account](identityProvider, user.externalId, signal))
  const command = { account, now: step.now() }
  const done = await execute(store, target, (state) => alignAccount(command, state), todo.attempt())
  // Where the status changed meanwhile, the account needs another state at once.
  return { kind: 'done', position: done.position }
}

type Give = (provider: IdentityProvider, externalId: string, signal: AbortSignal) => Promise<void>

const give: Readonly<Record<AccountState, Give>> = {
  enabled: (provider, externalId, signal) => provider.enable(externalId, signal),
  disabled: (provider, externalId, signal) => provider.disable(externalId, signal),
  deleted: (provider, externalId, signal) => provider.delete(externalId, signal),
}

export const ErasurePayload = Type.Object({ changedBy: Type.String() })

/** Repeats what the route did, so that a crash leaves neither key nor membership. The account goes last. */
export async function completeErasureOf(
  todo: Todo<Static<typeof ErasurePayload>>,
  deps: ProcessDependencies,
  step: StepContext,
): Promise<StepOutcome> {
  const { state } = await deps.store.load(users.of(todo.key))
  await completeErasure(deps, state, todo.payload.changedBy, todo.attempt())
  return align(todo, deps, step)
}
