import { v4, v5, v7 } from 'uuid'
import { administers } from '../commands/users/administrators.ts'
import { platformPermissions } from '../commands/users/permissions.ts'
import { registerUser } from '../commands/users/register-user.ts'
import type { UserDependencies } from '../commands/users/registration-attempt.ts'
import { abandonRegistration } from '../commands/users/registration.ts'
import { assignmentOf } from '../commands/users/role-assignments.ts'
import { restrictedAnswer } from '../commands/users/restricted-permission.ts'
import { createRole } from '../commands/users/roles.ts'
import { addressKey } from '../commands/users/user-reservations.ts'
import { execute } from '../commands/handling/execute.ts'
import { answeringRefusals } from '../commands/handling/refusals.ts'
import type { Configuration } from '../platform/configuration/configuration.ts'
import { Problem } from '../platform/http/problems.ts'
import { tenantOfFact, type CommandContext, type TenantId } from '../platform/kit/tenants.ts'
import type { Logger } from '../platform/observability/logging.ts'
import { createEgress } from '../platform/outbound/egress.ts'
import { organisationRoles, type OrganisationRolesState, type Role } from '../streams/organisation-roles/aggregate.ts'
import { users } from '../streams/user/aggregate.ts'
import { seedPermissions } from './client-registration.ts'
import { onConfiguredServers } from './configured-servers.ts'
import type { AdministratorOrder } from './command-line.ts'
import { createIdentityProvider } from './identity-provider.ts'

const administratorIds = '6f1d3c1e-2b5a-5b0c-9a57-3c9c0e7a5d42'
const roleName = 'Administrator'
const changedBy = 'platform'
const answering = answeringRefusals({ 'role-deleted': { code: 'conflict' }, ...restrictedAnswer })

export interface NewAdministrator {
  readonly userId: string
  readonly orgId: string
  readonly email: string
  readonly displayName: string
  /** No other process can be creating this user, so an attempt that is under way has died. */
  readonly isAlone: boolean
}

/** As printed, and in `credentials.json`. */
export interface Administrator {
  readonly org_id: string
  readonly user_id: string
  readonly email: string
}

/** The id of the one administrator that a development start creates in an organisation. */
export function demoAdministratorOf(orgId: string): Administrator {
  return {
    org_id: orgId,
    user_id: v5(`demo ${orgId}`, administratorIds),
    email: `administrator@${orgId}.example`,
  }
}

/**
 * Creates an administrator of an organisation by the same steps as the route. Repeated it changes nothing: the ids are
 * the same each time. A user that exists stays as administrators have left it.
 *
 * @throws Problem those of `registerUser`
 */
export async function createAdministrator(deps: UserDependencies, ordered: NewAdministrator): Promise<void> {
  const { userId, email, displayName } = ordered
  const organisationId = tenantOfFact(ordered.orgId)
  const context = contextOf(organisationId)
  if ('externalId' in (await deps.store.load(users.of(userId))).state) return
  await seedPermissions(deps.store, deps.now())
  const role = await administratorRole(deps, organisationId)
  await endFormerAttempt(deps, ordered, organisationId)
  const command = {
    userId,
    attemptId: v7(),
    email,
    displayName,
    userType: 'admin',
    locale: null,
    practitionerProfile: null,
    patientAccount: null,
    membership: {
      membershipId: v5(`membership ${organisationId} ${userId}`, administratorIds),
      organisationId,
      roleId: role.roleId,
    },
    // A repeat has the same one, so it meets its own membership.
    fingerprint: deps.vault.fingerprint(`administrator ${organisationId} ${userId}`),
    changedBy,
    grantor: 'platform',
  } as const
  await registerUser(deps, command, context)
}

/** The role that administers users, created if the organisation has none. */
async function administratorRole({ store, now }: UserDependencies, organisationId: TenantId): Promise<Role> {
  const details = {
    organisationId,
    name: roleName,
    description: 'Administers users, consent types, clients and notifications',
    isDefault: false,
    permissions: platformPermissions.map(({ permission }) => permission),
    fingerprint: null,
    changedBy,
    grantor: 'platform',
    now: now(),
  } as const
  const { state } = await execute(
    store,
    organisationRoles.of(organisationId),
    (before) => {
      if (roleIn(before) !== undefined) return []
      const roleId = v5(`role ${organisationId} ${before.applied}`, administratorIds)
      return answering(createRole({ ...details, roleId }, before))
    },
    contextOf(organisationId),
  )
  const role = roleIn(state)
  if (role === undefined) throw new Error('an accepted role is missing')
  return role
}

/** The role with the usual name comes first. */
function roleIn({ roles }: OrganisationRolesState): Role | undefined {
  const all = [...roles.values()].filter(administers)
  return all.find(({ name }) => name === roleName) ?? all[0]
}

/** Ends a former attempt: otherwise a start after a kill would wait for its lease. */
async function endFormerAttempt(
  { store, now }: UserDependencies,
  { userId, isAlone }: NewAdministrator,
  organisationId: TenantId,
): Promise<void> {
  const target = users.of(userId)
  const { state: before } = await store.load(target)
  const attemptId = isAlone && before.status === 'registering' ? before.attemptId : null
  const abandon = { attemptId, reason: 'lease-ended', now: now() } as const
  await execute(store, target, (state) => abandonRegistration(abandon, state), contextOf(organisationId))
}

function contextOf(orgId: TenantId): CommandContext {
  const commandId = v4()
  return { commandId, correlationId: commandId, clientId: changedBy, orgId }
}

/**
 * Creates an administrator on the configured servers. A repeat of the same address prints the same user.
 *
 * @throws Error with a text for the operator
 */
export async function createOrdered(
  configuration: Configuration,
  { orgId, email, name }: AdministratorOrder,
  logger: Logger,
): Promise<Administrator> {
  return onConfiguredServers(configuration, logger, async ({ store, vault }) => {
    const now = () => new Date()
    const egress = createEgress({ configuration, logger })
    try {
      const identityProvider = createIdentityProvider(configuration, egress, now)
      const deps = { store, vault, configuration, now, identityProvider }
      // The address is personal data, so the id comes from its keyed digest.
      const userId = v5(`${orgId} ${vault.fingerprint(addressKey(email))}`, administratorIds)
      const ordered = { userId, orgId, email, displayName: name ?? roleName, isAlone: false }
      await createAdministrator(deps, ordered).catch((error: unknown) => {
        throw explained(error)
      })
      await requireAdministrator(deps, ordered)
      return { org_id: orgId, user_id: userId, email }
    } finally {
      await egress.close()
    }
  })
}

const explanations: Readonly<Partial<Record<string, string>>> = {
  'email-in-use': '--email: another user has this address',
  'role-name-in-use': `the organisation has a role ${roleName} without users:admin: rename it, or give it users:admin`,
  'registration-under-way': 'an earlier attempt is under way: repeat the command in half a minute',
  'identity-provider-unavailable': 'the identity provider does not answer: repeat the command later',
  'identity-provider-rejected': 'the identity provider refused the account: its log names the reason',
}

function explained(error: unknown): unknown {
  if (!(error instanceof Problem)) return error
  return new Error(explanations[error.code] ?? error.message, { cause: error })
}

/** A user of an earlier run may have changed since. */
async function requireAdministrator({ store }: UserDependencies, { userId, orgId }: NewAdministrator): Promise<void> {
  const { state: user } = await store.load(users.of(userId))
  if (user.status !== 'active')
    throw new Error(`the user ${userId} of this address is ${user.status}: an administrator must change that`)
  const { state } = await store.load(organisationRoles.of(tenantOfFact(orgId)))
  const roleId = assignmentOf(state, userId)?.roleId
  if (!administers(state.roles.get(roleId ?? '')))
    throw new Error(`the user ${userId} of this address has another role now: give it one with users:admin`)
}
