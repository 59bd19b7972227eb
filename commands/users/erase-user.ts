import type { CommandContext } from '../../platform/kit/tenants.ts'
import { users, type UserState } from '../../streams/user/aggregate.ts'
import type { UserEvent } from '../../streams/user/events.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute, type Executed } from '../../engine/commands/execute.ts'
import { answeringRefusals } from '../../engine/commands/refusals.ts'
import { endOrganisationMembership } from './organisation-membership.ts'
import { startErasure } from './status.ts'
import { mayAdminister, requireAuthorityOver, type UserAdministration } from './user-visibility.ts'

const answering = answeringRefusals({})

/**
 * Starts the erasure of a deactivated user, and ends its memberships. From the event on the user is shown no more. The
 * process `users` deletes the account, then destroys the key, and repeats what a crash has left.
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
      return answering(refusal === null || isRepeat ? startErasure({ changedBy, now }, state) : refusal)
    },
    context,
  )
  await endMembershipsOfErased(deps, done.state, context)
  return done
}

/** May be repeated. */
export async function endMembershipsOfErased(
  deps: CommandDependencies,
  user: UserState,
  context: CommandContext,
): Promise<void> {
  if (!('externalId' in user) || user.erasure === null) return
  const { userId, erasure } = user
  for (const { membershipId, organisationId } of user.memberships.values())
    await endOrganisationMembership(
      deps,
      { membershipId, userId, organisationId },
      // The right to erase the user includes the consequences of the erasure.
      { changedBy: erasure.startedBy, grantor: 'platform', isErased: true },
      context,
    )
}
