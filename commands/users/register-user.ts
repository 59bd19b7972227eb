import { v5 } from 'uuid'
import {
  IdentityProviderRejectedError,
  IdentityProviderUnavailableError,
  type IdentityProvider,
} from '../../contracts/users/identity-provider.ts'
import { problem } from '../../platform/http/problems.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import { users, type User, type UserState } from '../../streams/user/aggregate.ts'
import type { UserEvent } from '../../streams/user/events.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute, type Executed } from '../handling/execute.ts'
import { answeringRefusals } from '../handling/refusals.ts'
import type { ReservationResult } from '../handling/reservations.ts'
import { assignRoleFirst, settleMembership } from './organisation-membership.ts'
import { abandonRegistration, createUser, startRegistration, type CreateUser } from './registration.ts'
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
const providerTimeoutMs = 10_000
const retryAfterSeconds = 5
const answering = answeringRefusals({})

type Registered = Omit<Executed<User, UserEvent>, 'state'> & { readonly state: User }

/**
 * Creates the account at the identity provider and then the user. The user's stream contains the attempt before the call. A
 * crash thus leaves an attempt whose lease ends, and the process `users` removes its account. Every outcome but success
 * leaves neither an account nor a reservation.
 *
 * @throws Problem `email-in-use`, `idempotency-key-reused`, `registration-under-way`, `identity-provider-unavailable`,
 * `identity-provider-rejected`, those of `assignRoleFirst`
 */
export async function registerUser(
  deps: UserDependencies,
  command: RegisterUser,
  context: CommandContext,
): Promise<Registered> {
  const { store, now } = deps
  const { userId, attemptId, fingerprint, changedBy, membership, grantor, ...profile } = command
  const target = users.of(userId)
  const named = (name: string) => ({ ...context, commandId: v5(name, context.commandId) })

  const { state: before } = await store.load(target)
  if ('externalId' in before) return repeat()
  if (before.status === 'registering') throw problem('registration-under-way', { retryAfterSeconds })

  const assigned =
    membership === null
      ? null
      : await assignRoleFirst(deps, { ...membership, userId, fingerprint, changedBy, grantor, now: now() }, context)
  try {
    const address = await reserve(addressKey(command.email), 'address')
    const leaseUntil = new Date(now().getTime() + leaseMs)
    const start = { userId, attemptId, fingerprint, changedBy, leaseUntil, now: now() }
    const started = await execute(store, target, (state) => answering(startRegistration(start, state)), named('start'))
    if ('externalId' in started.state) return await repeat()
    if (!(await address.confirm())) throw await abandoned('address-in-use', 'email-in-use')
    return await complete(assigned?.roleId)
  } finally {
    const { state } = await store.load(target)
    // A repeat of the same key has the same claim, and its attempt may still complete. The process settles the claim later.
    if (membership !== null && state.status !== 'registering') await settleMembership(deps, membership, state, context)
  }

  async function complete(roleId: string | undefined): Promise<Registered> {
    const { externalId } = await createAccount()
    const subject = await reserve(subjectKey(externalId), 'subject')
    if (!(await subject.confirm())) throw await abandoned('provider-rejected', 'identity-provider-rejected')
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
      if (error instanceof IdentityProviderRejectedError)
        throw await abandoned('provider-rejected', 'identity-provider-rejected')
      if (error instanceof IdentityProviderUnavailableError)
        throw await abandoned('provider-unavailable', 'identity-provider-unavailable')
      throw error
    }
  }

  async function reserve(key: string, name: string): Promise<Extract<ReservationResult, { kind: 'reserved' }>> {
    const result = await reserveForUser(deps, { userId, key, fingerprint }, named(name))
    if (result.kind === 'reserved') return result
    throw name === 'address'
      ? problem('email-in-use')
      : await abandoned('provider-rejected', 'identity-provider-rejected')
  }

  /** The stream refuses to complete this attempt from now on. The process removes the account, if there is one. */
  async function abandoned(
    reason: Parameters<typeof abandonRegistration>[0]['reason'],
    code: 'email-in-use' | 'identity-provider-rejected' | 'identity-provider-unavailable',
  ) {
    const command = { attemptId, reason, now: now() }
    await execute(store, target, (state) => abandonRegistration(command, state), named('abandon'))
    return problem(code, code === 'identity-provider-unavailable' ? { retryAfterSeconds } : {})
  }

  /** The answer to a repeat of the same key. */
  async function repeat(): Promise<Registered> {
    const start = { userId, attemptId: userId, fingerprint, changedBy, leaseUntil: now(), now: now() }
    const done = await execute(store, target, (state) => answering(startRegistration(start, state)), named('repeat'))
    return { ...done, state: createdUser(done.state) }
  }
}

function createdUser(state: UserState): User {
  if (!('externalId' in state)) throw new Error('an accepted registration has no user')
  return state
}
