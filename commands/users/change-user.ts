import { v5 } from 'uuid'
import { problem, Problem } from '../../platform/http/problems.ts'
import type { StreamRevision } from '../../platform/kit/positions.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import { clinicalPatientOf, isUser, users, type User, type UserState } from '../../streams/user/aggregate.ts'
import type { UserEvent } from '../../streams/user/events.ts'
import { isRefusal, refused, type Decision } from '../../engine/commands/decision.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute, type Executed } from '../../engine/commands/execute.ts'
import { answeringRefusals } from '../../engine/commands/refusals.ts'
import { endHolds, holdMemberships } from './organisation-membership.ts'
import { changeProfile, namesErased, type ChangeProfile } from './profile.ts'
import { changeStatus, type ChangeStatus } from './status.ts'
import { addressKey, reserveForUser } from './user-reservations.ts'
import { mayAdminister, requireAuthorityOver, type UserAdministration, type UserRefusal } from './user-visibility.ts'

const answeringWith = (accountMember: string) =>
  answeringRefusals({
    'hold-expired': { code: 'conflict' },
    'address-not-held': { code: 'conflict' },
    'not-a-clinician': {
      code: 'validation-failed',
      member: 'practitionerProfile',
      detail: 'is only for clinicians',
      rule: 'user-type',
    },
    'not-a-patient': {
      code: 'validation-failed',
      member: accountMember,
      detail: 'is only for patients',
      rule: 'user-type',
    },
  })
const attempts = 10

export interface ChangeUser {
  readonly profile: ChangeProfile | null
  readonly status: ChangeStatus | null
  readonly administration: UserAdministration
  /** The member of the body that concerns the patient account. */
  readonly accountMember?: string
  /** Compares If-Match with the revision of the user's stream. */
  readonly requireMatch: (revision: StreamRevision) => void
}

type Changed = Omit<Executed<UserState, UserEvent>, 'state'> & { readonly state: User }

/**
 * Changes the profile and the status of a user in one append. Before an active user leaves this status, each of its
 * organisations places a hold on the membership, because only an organisation's own stream can refuse the last
 * administrator. A membership that was added meanwhile needs its hold first, so the decision is made again. After a crash
 * the process `users` ends the hold.
 *
 * @throws Problem `last-administrator`, `invalid-status-transition`, `email-in-use`, `user-shared`, `permission-missing`,
 * `subject-erased`, `not-found`, `conflict`
 */
export async function changeUser(
  deps: CommandDependencies,
  userId: string,
  command: ChangeUser,
  context: CommandContext,
): Promise<Changed> {
  const { status } = command
  const answering = answeringWith(command.accountMember ?? 'patientAccount')
  const target = users.of(userId)
  const held = new Map<string, Parameters<typeof holdMemberships>[1][number]>()
  await requireAuthority(deps, userId, command)
  const address = await reserveNewAddress(deps, userId, command, context)
  try {
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const turn = { ...context, commandId: v5(`change ${attempt}`, context.commandId) }
      let missing: ReturnType<typeof withoutHold> = []
      const done = await execute(
        deps.store,
        target,
        (state) => {
          const decision = answering(decide(deps, command, state, address?.expiredBefore))
          missing = 'refused' in decision || decision.length === 0 ? [] : withoutHold(state)
          return missing.length === 0 ? decision : []
        },
        turn,
        command.requireMatch,
      )
      if (missing.length === 0) {
        if (done.events.length === 0) command.requireMatch(done.revision)
        // Without effect if another request of the user has renewed the claim. Whoever wants the address confirms that one.
        await address?.confirm()
        await endLeftHold(done)
        return { ...done, state: userOf(done.state) }
      }
      for (const membership of missing) {
        await holdMemberships(deps, [membership], status?.holdId ?? '', turn)
        held.set(membership.membershipId, membership)
      }
    }
    throw problem('conflict')
  } catch (error) {
    // After an unknown outcome the change may have happened. The process finds out.
    if (error instanceof Problem) {
      // An earlier request of the user may still use the claim that this one renewed. It then ends after 30 s.
      if (address?.isNew === true && address.renewedId === null) await address.release()
      if (status !== null) await endHolds(deps, held.values(), status.holdId, context)
    }
    throw error
  }

  function withoutHold(state: UserState) {
    const isLeaving = status !== null && status.to !== 'active' && isUser(state) && state.status === 'active'
    return isLeaving ? [...state.memberships.values()].filter(({ membershipId }) => !held.has(membershipId)) : []
  }

  /** The hold of a user who was inactive before, and our own if another request was faster. */
  async function endLeftHold({ state, events }: Executed<UserState, UserEvent>): Promise<void> {
    if (status === null || !isUser(state)) return
    for (const { type, data } of events)
      if (type === 'UserReactivated') await endHolds(deps, state.memberships.values(), data.holdId, context)
    if (state.holdId !== status.holdId) await endHolds(deps, held.values(), status.holdId, context)
  }
}

type ChangeRefusal =
  | UserRefusal
  | 'invalid-status-transition'
  | 'hold-expired'
  | 'address-not-held'
  | 'not-a-clinician'
  | 'not-a-patient'
  | 'subject-erased'

function decide(
  { vault }: Pick<CommandDependencies, 'vault'>,
  { profile, status, administration }: ChangeUser,
  state: UserState,
  expiredBefore: number | undefined,
): Decision<UserEvent, ChangeRefusal> {
  const refusal = mayAdminister(administration, state)
  if (refusal !== null) return refusal
  if (profile?.email !== undefined && mayBeOfAnother(profile.email, expiredBefore, state))
    return refused('address-not-held')
  const profiled = profile === null ? [] : changeProfile(profile, state)
  if (isRefusal(profiled)) return profiled
  if (profiled.some((event) => linksErased(vault, event, state))) return refused('subject-erased')
  const after = profiled.reduce(users.of('').fold.evolve, state)
  const changed = status === null ? [] : changeStatus(status, after)
  return isRefusal(changed) ? changed : [...profiled, ...changed]
}

/** The erasure takes a link that is there already. Until then the rest of the account may change. */
function linksErased(vault: CommandDependencies['vault'], { type, data }: UserEvent, state: UserState): boolean {
  if (type !== 'UserChanged' || !isUser(state) || clinicalPatientOf(data) === clinicalPatientOf(state)) return false
  return namesErased(data, data.organisationIds, vault)
}

/**
 * Another user may have the address by now: the claim has expired, or there is none, because the user had the address
 * when the request looked. Another request of the user may have renewed the claim, so the end of any claim counts.
 *
 * @param expiredBefore how many holds and claims of the user had expired before the request made its claim
 */
function mayBeOfAnother(email: string, expiredBefore: number | undefined, state: UserState): boolean {
  if (!isUser(state)) return false
  return expiredBefore === undefined ? !hasAddress(state, email) : state.expiredHolds.length > expiredBefore
}

function hasAddress(state: UserState, email: string): boolean {
  return isUser(state) && state.email !== null && addressKey(state.email) === addressKey(email)
}

/** The address and the status decide who signs in as the user. The rest of the profile is free. */
async function requireAuthority(
  { store }: CommandDependencies,
  userId: string,
  { profile, status, administration }: ChangeUser,
): Promise<void> {
  if (status === null && profile?.email === undefined) return
  const { state } = await store.load(users.of(userId))
  if (!isUser(state)) return
  const changesAddress = profile?.email !== undefined && profile.email !== state.email
  if (changesAddress || (status !== null && status.to !== state.status))
    await requireAuthorityOver({ store }, administration, state)
}

/** Null if the address stays the same. */
async function reserveNewAddress(
  deps: CommandDependencies,
  userId: string,
  { profile, administration }: ChangeUser,
  context: CommandContext,
) {
  if (profile?.email === undefined) return null
  const { state } = await deps.store.load(users.of(userId))
  // A caller that may not change the user learns nothing about addresses.
  if (hasAddress(state, profile.email) || mayAdminister(administration, state) !== null) return null
  const reserved = await reserveForUser(
    deps,
    { userId, key: addressKey(profile.email), fingerprint: null, isRenewing: true },
    { ...context, commandId: v5('address', context.commandId) },
  )
  if (reserved.kind === 'held') throw problem('email-in-use')
  return { ...reserved, expiredBefore: isUser(state) ? state.expiredHolds.length : 0 }
}

export function userOf(state: UserState): User {
  if (!('externalId' in state)) throw new Error('a change was decided on a user that does not exist')
  return state
}
