import { v5 } from 'uuid'
import { problem, Problem } from '../../platform/http/problems.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import { isUser, users, type UserState } from '../../streams/user/aggregate.ts'
import type { UserEvent } from '../../streams/user/events.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute, type Executed } from '../handling/execute.ts'
import { answeringRefusals, type AnsweredDecision } from '../handling/refusals.ts'
import { endHolds, holdMemberships } from './organisation-membership.ts'
import { changeStatus, type ChangeStatus } from './status.ts'

const answering = answeringRefusals({ 'hold-expired': { code: 'conflict' } })
const attempts = 10

/**
 * Suspends, deactivates or reactivates a user. Before an active user leaves this status, each of its organisations places
 * a hold on the membership, because only an organisation's own stream can refuse the last administrator. A membership that
 * was added meanwhile needs its hold first, so the decision is made again. After a crash the process `users` ends the hold.
 *
 * @param permit the refusal by the caller's rights, if there is one
 * @throws Problem `last-administrator`, `invalid-status-transition`, `not-found`, `conflict`
 */
export async function changeUserStatus(
  deps: CommandDependencies,
  userId: string,
  command: ChangeStatus,
  context: CommandContext,
  permit: (state: UserState) => AnsweredDecision<UserEvent> | undefined,
): Promise<Executed<UserState, UserEvent>> {
  const { store } = deps
  const target = users.of(userId)
  const { to, holdId } = command
  const held = new Map<string, Parameters<typeof holdMemberships>[1][number]>()
  const decide = (state: UserState) => permit(state) ?? answering(changeStatus(command, state))
  const withoutHold = (state: UserState) =>
    isUser(state) && state.status === 'active' && to !== 'active'
      ? [...state.memberships.values()].filter(({ membershipId }) => !held.has(membershipId))
      : []

  try {
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const turn = { ...context, commandId: v5(`status ${attempt}`, context.commandId) }
      let missing: ReturnType<typeof withoutHold> = []
      const done = await execute(
        store,
        target,
        (state) => {
          const decision = decide(state)
          missing = 'refused' in decision || decision.length === 0 ? [] : withoutHold(state)
          return missing.length === 0 ? decision : []
        },
        turn,
      )
      if (missing.length === 0) {
        await endLeftHold(done)
        return done
      }
      for (const membership of missing) {
        await holdMemberships(deps, [membership], holdId, turn)
        held.set(membership.membershipId, membership)
      }
    }
    throw problem('conflict')
  } catch (error) {
    // After an unknown outcome the change may have happened. The process finds out.
    if (error instanceof Problem) await endHolds(deps, held.values(), holdId, context)
    throw error
  }

  /** The hold of a user who was inactive before, and our own where another request was faster. */
  async function endLeftHold({ state, events }: Executed<UserState, UserEvent>): Promise<void> {
    if (!isUser(state)) return
    for (const { type, data } of events)
      if (type === 'UserReactivated') await endHolds(deps, state.memberships.values(), data.holdId, context)
    if (state.holdId !== holdId) await endHolds(deps, held.values(), holdId, context)
  }
}
