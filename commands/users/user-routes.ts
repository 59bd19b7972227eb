import { Type, type Static } from 'typebox'
import { v7 } from 'uuid'
import { usersAdmin } from '../../contracts/users/access.ts'
import { UserDetailRecord, UserRecord } from '../../contracts/users/record.ts'
import { changedByOf, requireActor, type Caller } from '../../platform/http/access.ts'
import { Uuid, Instant } from '../../platform/http/members.ts'
import { problem } from '../../platform/http/problems.ts'
import { requireMatch } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'
import { users } from '../../streams/user/aggregate.ts'
import { usersProjector } from '../../projections/users/users.projector.ts'
import { accepted, changed, created } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import { ChangeMeBody, ChangeUserBody, CreateUserBody } from './bodies.ts'
import { changeUser, userOf } from './change-user.ts'
import { eraseUserEverywhere } from './erase-user.ts'
import { newProfiles } from './profile.ts'
import { registerUser } from './register-user.ts'
import type { UserDependencies } from './registration-attempt.ts'
import { requestPasswordReset } from './reset-password.ts'
import { grantorOf } from './restricted-permission.ts'
import { maySee, requireAuthorityOver, type UserAdministration } from './user-visibility.ts'
import { userDetailOf, userRecordOf } from './user-records.ts'

const usual = { access: usersAdmin, tenancy: 'optional', readBy: [usersProjector] } as const

const ErasedReply = Type.Object(
  { id: Uuid, status: Type.Literal('erased'), erasedAt: Instant },
  { $id: 'ErasedUserReply' },
)

const ResetReply = Type.Object({ status: Type.Literal('requested') }, { $id: 'PasswordResetReply' })

function administrationOf(by: {
  tenant: TenantId | null
  isPlatformWide: boolean
  caller: Caller
}): UserAdministration {
  return { tenant: by.tenant, mayChangeShared: by.isPlatformWide, grantor: grantorOf(by) }
}

/** Users, for administrators and for themselves. */
export function userWriteRoutes(app: ServiceApp, deps: UserDependencies): void {
  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/admin/users',
    operationId: 'createUser',
    summary: 'Create a user with an account at the identity provider',
    description:
      'Without `roleId` the user gets the default role of the organisation. A role that holds `auth:admin` needs a caller who holds it. A platform caller may create a user without an organisation.',
    body: CreateUserBody,
    hasEtag: true,
    reply: created(UserDetailRecord, ({ id }) => `/admin/users/${id}`),
    problems: [
      'email-in-use',
      'role-organisation-mismatch',
      'no-default-role',
      'membership-exists',
      'registration-under-way',
      'user-erased',
      'subject-erased',
      'identity-provider-unavailable',
      'identity-provider-rejected',
    ],
    handle: async ({ tenant, isPlatformWide, caller, body, keyed, newId, now, context }) => {
      const { email, displayName, userType, locale = null, roleId } = body
      if (roleId !== undefined && tenant === null) throw problem('org-required')
      const profiles = profilesOf(body, now)
      const command = {
        userId: await newId(),
        attemptId: v7(),
        email,
        displayName,
        userType,
        locale,
        ...profiles,
        membership:
          tenant === null ? null : { membershipId: await newId('membership'), organisationId: tenant, roleId },
        fingerprint: keyed.fingerprint,
        changedBy: changedByOf(caller),
        grantor: grantorOf({ isPlatformWide, caller }),
      }
      const done = await registerUser(deps, command, context)
      // A repeat may come after the user has left the organisation.
      const unseen = maySee(tenant, done.state)
      if (unseen !== null) throw problem(unseen.refused)
      return { ...done, record: await userDetailOf(deps, done.state, tenant) }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'PATCH',
    path: '/admin/users/:id',
    operationId: 'changeUser',
    summary: 'Change the status or the profile of a user',
    description:
      'Members that are left out stay as they are. Only callers who hold `auth:admin` change the address or the status of a user whose role holds it.',
    body: ChangeUserBody,
    hasEtag: true,
    ifMatch: 'record',
    reply: changed(UserRecord),
    problems: [
      'email-in-use',
      'invalid-status-transition',
      'last-administrator',
      'user-shared',
      'user-erased',
      'subject-erased',
    ],
    handle: async ({ tenant, isPlatformWide, caller, params, body, now, context, request }) => {
      const { status, ...profile } = body
      const changedBy = changedByOf(caller)
      const hasProfile = Object.keys(body).some((member) => member !== 'status')
      const command = {
        profile: hasProfile ? { ...profile, newProfileId: v7(), changedBy, now } : null,
        status: status === undefined ? null : { to: status, holdId: v7(), changedBy, now },
        administration: administrationOf({ tenant, isPlatformWide, caller }),
        requireMatch: (revision: bigint | 'no_stream') => requireMatch(request, revision),
      }
      const done = await changeUser(deps, params.id, command, context)
      return { ...done, record: userRecordOf(done.state) }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'DELETE',
    path: '/admin/users/:id',
    operationId: 'deactivateUser',
    summary: 'Deactivate a user and disable its account',
    description:
      'The user stays. Deactivated again, nothing changes. A user whose role holds `auth:admin` needs a caller who holds it.',
    hasEtag: true,
    ifMatch: 'record',
    reply: changed(UserRecord),
    problems: ['last-administrator', 'user-shared', 'user-erased'],
    handle: async ({ tenant, isPlatformWide, caller, params, now, context, request }) => {
      const status = { to: 'deactivated', holdId: v7(), changedBy: changedByOf(caller), now } as const
      const administration = administrationOf({ tenant, isPlatformWide, caller })
      const matching = (revision: bigint | 'no_stream') => requireMatch(request, revision)
      const command = { profile: null, status, administration, requireMatch: matching }
      const done = await changeUser(deps, params.id, command, context)
      return { ...done, record: userRecordOf(done.state) }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/admin/users/:id/erase',
    operationId: 'eraseUser',
    summary: 'Erase the personal data of a deactivated user for ever',
    reply: changed(ErasedReply),
    problems: ['user-shared', 'user-not-deactivated'],
    handle: async ({ tenant, isPlatformWide, caller, params, context }) => {
      const administration = administrationOf({ tenant, isPlatformWide, caller })
      const done = await eraseUserEverywhere(
        deps,
        params.id,
        { changedBy: changedByOf(caller), administration },
        context,
      )
      const { userId: id, updatedAt: erasedAt } = userOf(done.state)
      return { ...done, isReplayed: false, record: { id, status: 'erased' as const, erasedAt } }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/admin/users/:id/reset-password',
    operationId: 'resetPassword',
    summary: 'Let the identity provider send the user a message to choose a new password',
    description:
      'The message follows later. A request while one is under way sends no second message. A user whose role holds `auth:admin` needs a caller who holds it.',
    reply: accepted(ResetReply, (_, { id }: { readonly id: string }) => `/admin/users/${id}`),
    problems: ['user-erased', 'user-shared'],
    handle: async ({ tenant, isPlatformWide, caller, params, keyed, now, run }) => {
      const command = { requestId: keyed.id, isKeyed: keyed.isKeyed, changedBy: changedByOf(caller), now }
      const { state: before } = await deps.store.load(users.of(params.id))
      const administration = administrationOf({ tenant, isPlatformWide, caller })
      await requireAuthorityOver(deps, { ...administration, mayChangeShared: true }, before)
      const done = await run(
        users.of(params.id),
        (state) => maySee(tenant, state) ?? requestPasswordReset(command, state),
      )
      return { ...done, isReplayed: false, record: { status: 'requested' as const }, retryAfterSeconds: 1 }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    access: 'actor',
    method: 'PATCH',
    path: '/users/me',
    operationId: 'changeMe',
    summary: 'Change your own display name, locale and contact preferences',
    body: ChangeMeBody,
    hasEtag: true,
    ifMatch: 'record',
    reply: changed(UserDetailRecord),
    problems: ['user-erased'],
    handle: async ({ caller, body, now, context, request }) => {
      const actor = requireActor(caller)
      const { contactPreferences, ...names } = body
      const patientAccount = contactPreferences === undefined ? {} : { patientAccount: { contactPreferences } }
      const own = tenantOfFact(actor.orgId)
      const command = {
        profile: { ...names, ...patientAccount, newProfileId: v7(), changedBy: actor.auditId, now },
        status: null,
        accountMember: 'contactPreferences',
        administration: { tenant: own, mayChangeShared: true, grantor: 'other' as const },
        requireMatch: (revision: bigint | 'no_stream') => requireMatch(request, revision),
      }
      const done = await changeUser(deps, actor.userId.toLowerCase(), command, context)
      return { ...done, record: await userDetailOf(deps, done.state, own) }
    },
  })
}

/** @throws Problem `validation-failed` for a profile that does not fit the type */
function profilesOf(
  {
    userType,
    practitionerProfile,
    patientAccount,
  }: Pick<Static<typeof CreateUserBody>, 'userType' | 'practitionerProfile' | 'patientAccount'>,
  now: Date,
) {
  requireFitting('practitionerProfile', practitionerProfile, userType === 'clinician', 'clinicians')
  requireFitting('patientAccount', patientAccount, userType === 'patient', 'patients')
  const given = {
    practitionerProfile: userType === 'clinician' ? (practitionerProfile ?? {}) : undefined,
    patientAccount: userType === 'patient' ? (patientAccount ?? {}) : undefined,
  }
  return newProfiles(given, { newProfileId: v7(), now })
}

function requireFitting(member: string, value: object | undefined, isFitting: boolean, who: string): void {
  if (value === undefined || isFitting) return
  const error = { pointer: `/${member}`, detail: `is only for ${who}`, code: 'user-type' }
  throw problem('validation-failed', { errors: [error] })
}
