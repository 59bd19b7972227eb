import { v5 } from 'uuid'
import {
  IdentityProviderRejectedError,
  IdentityProviderUnavailableError,
  type IdentityProvider,
} from '../../contracts/users/identity-provider.ts'
import { problem, type Problem, type ProblemCode } from '../../platform/http/problems.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import { users, type User, type UserState } from '../../streams/user/aggregate.ts'
import type { UserEvent } from '../../streams/user/events.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute, type Executed } from '../../engine/commands/execute.ts'
import { answeringRefusals } from '../../engine/commands/refusals.ts'
import type { ReservationResult } from '../../engine/commands/reservations.ts'
import { assignRoleFirst, resolveMembership } from './organisation-membership.ts'
import { namesErased } from './profile.ts'
import {
  abandonRegistration,
  createUser,
  startRegistration,
  type AbandonRegistration,
  type CreateUser,
} from './registration.ts'
import type { Grantor } from './restricted-permission.ts'
import { addressKey, reserveForUser, subjectKey } from './user-reservations.ts'

export interface UserDependencies extends CommandDependencies {
  readonly identityProvider: IdentityProvider
}

export interface RegisterUser extends Omit<CreateUser, 'externalId' | 'membership' | 'now'> {
  readonly email: string
  readonly displayName: string
  readonly membership: {
    readonly membershipId: string
    readonly organisationId: TenantId
    readonly roleId: string | undefined
  } | null
  readonly grantor: Grantor
}

/** Longer than the provider's time limit, and shorter than the grace of an unconfirmed reservation. */
const leaseMs = 25_000
export const providerTimeoutMs = 10_000
export const retryAfterSeconds = 5
const answering = answeringRefusals({})

export type Registered = Omit<Executed<User, UserEvent>, 'state'> & { readonly state: User }

type Failure = Exclude<AbandonRegistration['reason'], 'lease-ended'>

const failures = {
  'address-in-use': 'email-in-use',
  'provider-rejected': 'identity-provider-rejected',
  'provider-unavailable': 'identity-provider-unavailable',
} as const satisfies Record<Failure, ProblemCode>

/** The answer to an attempt that failed, and to the requests that waited for it. */
export function failed(reason: Failure): Problem {
  return problem(failures[reason], reason === 'provider-unavailable' ? { retryAfterSeconds } : {})
}

/**
 * One attempt to create the account and the user. Null if another request of the same key was faster.
 *
 * @throws Problem as `registerUser`
 */
export async function attemptRegistration(
  deps: UserDependencies,
  command: RegisterUser,
  context: CommandContext,
): Promise<Registered | null> {
  const { store, now } = deps
  const { userId, attemptId, fingerprint, changedBy, membership, grantor, ...profile } = command
  const target = users.of(userId)
  const named = (name: string) => ({ ...context, commandId: v5(name, context.commandId) })

  if (membership !== null && namesErased(profile, [membership.organisationId], deps.vault))
    throw problem('subject-erased')
  const assign = membership && { ...membership, userId, fingerprint, changedBy, grantor, now: now() }
  const assigned = assign && (await assignRoleFirst(deps, assign, context))
  try {
    const claimed = await reserve(addressKey(command.email), 'address', () => problem('email-in-use'))
    const leaseUntil = new Date(now().getTime() + leaseMs)
    const start = { userId, attemptId, fingerprint, changedBy, leaseUntil, now: now() }
    const started = await execute(store, target, (state) => answering(startRegistration(start, state)), named('start'))
    if (started.events.length === 0) return null
    // Another user may be about to end the claim of an earlier attempt. A claim of this one is not its to end.
    const isTaken = () => abandoned('address-in-use')
    const address = claimed.isNew ? claimed : await reserve(addressKey(command.email), 'address again', isTaken, true)
    if (!(await address.confirm())) throw await isTaken()
    return await complete(assigned?.roleId)
  } finally {
    const { state } = await store.load(target)
    // A repeat of the same key has the same claim, and its attempt may still complete. The process resolves the claim later.
    if (assign !== null && state.status !== 'registering') await resolveMembership(deps, assign, state, context)
  }

  async function complete(roleId: string | undefined): Promise<Registered> {
    const { externalId } = await createAccount()
    const isForeign = () => abandoned('provider-rejected')
    const subject = await reserve(subjectKey(externalId), 'subject', isForeign)
    if (!(await subject.confirm())) throw await isForeign()
    const added =
      membership === null || roleId === undefined
        ? null
        : { membershipId: membership.membershipId, organisationId: membership.organisationId, roleId }
    const by = { userId, attemptId, fingerprint, changedBy }
    const create = { ...profile, ...by, externalId, membership: added, now: now() }
    const done = await execute(store, target, (state) => answering(createUser(create, state)), named('create'))
    return { ...done, state: createdUser(done.state) }
  }

  async function createAccount(): Promise<{ readonly externalId: string }> {
    const { email, displayName, locale } = command
    try {
      const signal = AbortSignal.timeout(providerTimeoutMs)
      return await deps.identityProvider.create({ userId, email, displayName, locale }, signal)
    } catch (error) {
      if (error instanceof IdentityProviderRejectedError) throw await abandoned('provider-rejected')
      if (error instanceof IdentityProviderUnavailableError) throw await abandoned('provider-unavailable')
      throw error
    }
  }

  async function reserve(
    key: string,
    name: string,
    refusal: () => Problem | Promise<Problem>,
    isRenewing = false,
  ): Promise<Extract<ReservationResult, { kind: 'reserved' }>> {
    const result = await reserveForUser(deps, { userId, key, fingerprint, isRenewing }, named(name))
    if (result.kind === 'reserved') return result
    throw await refusal()
  }

  /** The stream refuses to complete this attempt from now on. The process removes the account, if there is one. */
  async function abandoned(reason: Failure): Promise<Problem> {
    const command = { attemptId, reason, now: now() }
    await execute(store, target, (state) => abandonRegistration(command, state), named('abandon'))
    return failed(reason)
  }
}

export function createdUser(state: UserState): User {
  if (!('externalId' in state)) throw new Error('an accepted registration has no user')
  return state
}
