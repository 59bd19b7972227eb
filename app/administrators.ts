import { v4, v7 } from 'uuid'
import { administers } from '../commands/users/administrators.ts'
import { platformPermissions } from '../commands/users/permissions.ts'
import { registerUser } from '../commands/users/register-user.ts'
import type { UserDependencies } from '../commands/users/registration-attempt.ts'
import { abandonRegistration } from '../commands/users/registration.ts'
import { assignmentOf } from '../commands/users/role-assignments.ts'
import { restrictedAnswer } from '../commands/users/restricted-permission.ts'
import { createRole } from '../commands/users/roles.ts'
import { addressKey } from '../commands/users/user-reservations.ts'
import { execute } from '../engine/commands/execute.ts'
import { mintId } from '../engine/commands/mint-id.ts'
import { answeringRefusals } from '../engine/commands/refusals.ts'
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

const roleName = 'Administrator'
const changedBy = 'platform'
const answering = answeringRefusals({ 'role-deleted': { code: 'conflict' }, ...restrictedAnswer })

export interface NewAdministrator {
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

/** The address of the one administrator that a development start creates in an organisation. */
export function demoAddressOf(orgId: string): string {
  return `administrator@${orgId}.example`
}

/**
 * Creates an administrator of an organisation by the same steps as the route. Repeated it changes nothing: the ids are
 * minted once for the organisation and the address. A user that exists stays as administrators have left it.
 *
 * @throws Problem those of `registerUser`
 */
export async function createAdministrator(
  deps: UserDependencies,
  { orgId, email, displayName, isAlone }: NewAdministrator,
): Promise<Administrator> {
  const organisationId = tenantOfFact(orgId)
  const context = contextOf(organisationId)
  const idOf = (part: string) =>
    mintId(deps, organisationId, `administrator\0${part}\0${orgId}\0${addressKey(email)}`, context)
  const userId = await idOf('user')
  const administrator = { org_id: orgId, user_id: userId, email }
  if ('externalId' in (await deps.store.load(users.of(userId))).state) return administrator
  await seedPermissions(deps.store, deps.now())
  const role = await administratorRole(deps, organisationId)
  await endFormerAttempt(deps, userId, isAlone, organisationId)
  const command = {
    userId,
    attemptId: v7(),
    email,
    displayName,
    userType: 'admin',
    locale: null,
    practitionerProfile: null,
    patientAccount: null,
    membership: { membershipId: await idOf('membership'), organisationId, roleId: role.roleId },
    // The same at each repeat, so a repeat finds the membership of the first run.
    fingerprint: deps.vault.fingerprint(`administrator ${organisationId} ${userId}`),
    changedBy,
    grantor: 'platform',
  } as const
  await registerUser(deps, command, context)
  return administrator
}

/** The role that administers users, created if the organisation has none. */
async function administratorRole({ store, now }: UserDependencies, organisationId: TenantId): Promise<Role> {
  const created = {
    roleId: v7(),
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
      return roleIn(before) === undefined ? answering(createRole(created, before)) : []
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
  userId: string,
  isAlone: boolean,
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
      const ordered = { orgId, email, displayName: name ?? roleName, isAlone: false }
      const administrator = await createAdministrator(deps, ordered).catch((error: unknown) => {
        throw explained(error)
      })
      await requireAdministrator(deps, administrator)
      return administrator
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
async function requireAdministrator(
  { store }: UserDependencies,
  { org_id: orgId, user_id: userId }: Administrator,
): Promise<void> {
  const { state: user } = await store.load(users.of(userId))
  if (user.status !== 'active')
    throw new Error(`the user ${userId} of this address is ${user.status}: an administrator must change that`)
  const { state } = await store.load(organisationRoles.of(tenantOfFact(orgId)))
  const roleId = assignmentOf(state, userId)?.roleId
  if (!administers(state.roles.get(roleId ?? '')))
    throw new Error(`the user ${userId} of this address has another role now: give it one with users:admin`)
}
