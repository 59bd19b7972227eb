import type { CommandContext } from '../../platform/kit/tenants.ts'
import { noOrganisation } from '../../platform/kit/tenants.ts'
import { users, type UserState } from '../../streams/user/aggregate.ts'
import type { UserEvent } from '../../streams/user/events.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute, type Executed } from '../../engine/commands/execute.ts'
import { answeringRefusals } from '../../engine/commands/refusals.ts'
import { endOrganisationMembership } from './organisation-membership.ts'
import { eraseUser } from './status.ts'
import { mayAdminister, requireAuthorityOver, type UserAdministration } from './user-visibility.ts'

const answering = answeringRefusals({})

/**
 * Erases a deactivated user. The event comes first, so that a crash leaves work and never a user without a key. The process
 * `users` repeats what follows, and deletes the account at the identity provider.
 *
 * @throws Problem `user-not-deactivated`, `user-shared`, `permission-missing`, `not-found`
 */
export async function eraseUserEverywhere(
  deps: CommandDependencies,
  userId: string,
  { changedBy, administration }: { readonly changedBy: string; readonly administration: UserAdministration },
  context: CommandContext,
): Promise<Executed<UserState, UserEvent>> {
  const now = deps.now()
  const { state: before } = await deps.store.load(users.of(userId))
  await requireAuthorityOver(deps, administration, before)
  const done = await execute(
    deps.store,
    users.of(userId),
    (state) => {
      const refusal = mayAdminister(administration, state)
      // The user of a repeated request is already erased.
      const isRepeat = refusal?.refused === 'user-erased'
      return answering(refusal === null || isRepeat ? eraseUser({ changedBy, now }, state) : refusal)
    },
    context,
  )
  await completeErasure(deps, done.state, changedBy, context)
  return done
}

/** May be repeated. */
export async function completeErasure(
  deps: CommandDependencies,
  user: UserState,
  changedBy: string,
  context: CommandContext,
): Promise<void> {
  if (user.status !== 'erased') return
  const { userId } = user
  await deps.vault.destroySubject(noOrganisation, userId)
  deps.store.forgetStates()
  for (const { membershipId, organisationId } of user.memberships.values())
    await endOrganisationMembership(
      deps,
      { membershipId, userId, organisationId },
      // The right to erase the user includes the consequences of the erasure.
      { changedBy, grantor: 'platform' },
      context,
    )
}
