import { v4, v5, v7 } from 'uuid'
import { administers } from '../commands/users/administrators.ts'
import { platformPermissions } from '../commands/users/permissions.ts'
import { registerUser } from '../commands/users/register-user.ts'
import type { UserDependencies } from '../commands/users/registration-attempt.ts'
import { abandonRegistration } from '../commands/users/registration.ts'
import { assignmentOf } from '../commands/users/role-assignments.ts'
import { operatorPermissions, restrictedAnswer } from '../commands/users/restricted-permission.ts'
import { createRole } from '../commands/users/roles.ts'
import { addressKey, holderOfAddress } from '../commands/users/user-reservations.ts'
import { execute } from '../engine/commands/execute.ts'
import { mintId } from '../engine/commands/mint-id.ts'
import { answeringRefusals } from '../engine/commands/refusals.ts'
import type { Configuration } from '../platform/configuration/configuration.ts'
import { problem, Problem } from '../platform/http/problems.ts'
import { tenantOfFact, type CommandContext, type TenantId } from '../platform/kit/tenants.ts'
import type { Logger } from '../platform/observability/logging.ts'
import { createEgress } from '../platform/outbound/egress.ts'
import { organisationRoles, type OrganisationRolesState, type Role } from '../streams/organisation-roles/aggregate.ts'
import { users } from '../streams/user/aggregate.ts'
import { seedPermissions } from './client-registration.ts'
import { onConfiguredServers } from './configured-servers.ts'
import type { AdministratorOrder, OperatorOrder } from './client-orders.ts'
import { createIdentityProvider } from './identity-provider.ts'
import { recordAction } from './operations/record-action.ts'
import { operatorAccount } from './operator-account.ts'

const changedBy = 'platform'

/** What a person is made, and the role for it. */
interface Post {
  /** Part of the names of minted ids. Never changed. */
  readonly key: string
  readonly roleName: string
  readonly description: string
  readonly permissions: string[]
  readonly hasRole: (role: Pick<Role, 'permissions'> | undefined) => boolean
  /** The creation is an action of operators. */
  readonly isRecorded: boolean
  /** For the operator, if the role is another one. */
  readonly lacking: string
}

const administratorPost: Post = {
  key: 'administrator',
  roleName: 'Administrator',
  description: 'Administers users, consent types, clients and notifications',
  permissions: platformPermissions
    .map(({ permission }) => permission)
    .filter((permission) => !operatorPermissions.includes(permission)),
  hasRole: administers,
  isRecorded: false,
  lacking: 'users:admin',
}

function operatorPost(isReadOnly: boolean): Post {
  const permissions = isReadOnly ? ['operations:read'] : [...operatorPermissions]
  return {
    key: isReadOnly ? 'reading operator' : 'operator',
    roleName: isReadOnly ? 'Operator (read only)' : 'Operator',
    description: `${isReadOnly ? 'Sees' : 'Sees and repairs'} the whole installation`,
    permissions,
    hasRole: (role) =>
      operatorPermissions.every((one) => role?.permissions.includes(one) === permissions.includes(one)),
    isRecorded: true,
    lacking: permissions.join(' and '),
  }
}

const answering = answeringRefusals({ 'role-deleted': { code: 'conflict' }, ...restrictedAnswer })

export interface NewPerson {
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

/** The address of the operator that a development start creates. */
export function operatorAddressOf(orgId: string): string {
  return `operator@${orgId}.example`
}

/** The operator of the development sign-in at the console. */
export function createDemoOperator(deps: UserDependencies, person: NewPerson): Promise<Administrator> {
  return createPerson(deps, operatorPost(false), person)
}

export function createAdministrator(deps: UserDependencies, person: NewPerson): Promise<Administrator> {
  return createPerson(deps, administratorPost, person)
}

/**
 * Creates a person with a role of an organisation by the same steps as the route. Repeated it changes nothing: the ids are
 * minted once for the organisation and the address. A user that exists stays as administrators have left it, unless it was
 * erased.
 *
 * @throws Problem those of `registerUser`
 */
async function createPerson(
  deps: UserDependencies,
  post: Post,
  { orgId, email, displayName, isAlone }: NewPerson,
): Promise<Administrator> {
  const organisationId = tenantOfFact(orgId)
  const context = contextOf(organisationId)
  const idOf = (part: string) =>
    mintId(deps, organisationId, `${post.key}\0${part}\0${orgId}\0${addressKey(email)}`, context)
  const stateOf = async (id: string) => (await deps.store.load(users.of(id))).state
  let again = ''
  let userId = await idOf('user')
  let state = await stateOf(userId)
  // The address of an erased user may be used again. Whoever has it then is another user.
  while (state.status === 'erased') {
    again += ' again'
    userId = await idOf(`user${again}`)
    state = await stateOf(userId)
  }
  const person = { org_id: orgId, user_id: userId, email }
  if ('externalId' in state) return person
  await seedPermissions(deps.store, deps.now())
  const role = await roleOf(deps, post, organisationId)
  await endFormerAttempt(deps, userId, isAlone, organisationId)
  if (post.isRecorded) await recordOperator(deps, userId, email, context)
  const command = {
    userId,
    attemptId: v7(),
    email,
    displayName,
    userType: 'admin',
    locale: null,
    practitionerProfile: null,
    patientAccount: null,
    membership: { membershipId: await idOf(`membership${again}`), organisationId, roleId: role.roleId },
    // The same at each repeat, so a repeat finds the membership of the first run.
    fingerprint: deps.vault.fingerprint(`${post.key} ${organisationId} ${userId}`),
    changedBy,
    grantor: 'platform',
  } as const
  await registerUser(deps, command, context)
  return person
}

/** Before the user exists. Nothing is recorded of a user who will be refused. A repeat after a crash is the same action. */
async function recordOperator(
  deps: UserDependencies,
  userId: string,
  email: string,
  context: CommandContext,
): Promise<void> {
  const holder = await holderOfAddress(deps, email)
  if (holder !== null && holder !== userId) throw problem('email-in-use')
  const action = {
    actionId: v5('operator.create', userId),
    action: 'operator.create',
    actor: { kind: 'command', id: operatorAccount() },
    subject: { kind: 'user', id: userId },
    reason: null,
    count: 1,
    retried: null,
    projection: null,
    at: deps.now().toISOString(),
  } as const
  await recordAction(deps.store, action, { ...context, commandId: v4() })
}

/** The role of the post, created if the organisation has none. */
async function roleOf({ store, now }: UserDependencies, post: Post, organisationId: TenantId): Promise<Role> {
  const created = {
    roleId: v7(),
    organisationId,
    name: post.roleName,
    description: post.description,
    isDefault: false,
    permissions: post.permissions,
    fingerprint: null,
    changedBy,
    grantor: 'platform',
    now: now(),
  } as const
  const { state } = await execute(
    store,
    organisationRoles.of(organisationId),
    (before) => {
      return roleIn(before, post) === undefined ? answering(createRole(created, before)) : []
    },
    contextOf(organisationId),
  )
  const role = roleIn(state, post)
  if (role === undefined) throw new Error('an accepted role is missing')
  return role
}

/** The role with the usual name comes first. */
function roleIn({ roles }: OrganisationRolesState, { roleName, hasRole }: Post): Role | undefined {
  const all = [...roles.values()].filter(hasRole)
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
export function createOrdered(
  configuration: Configuration,
  order: AdministratorOrder,
  logger: Logger,
): Promise<Administrator> {
  return createOn(configuration, administratorPost, order, logger)
}

/** The same for an operator. */
export function createOperator(
  configuration: Configuration,
  { isReadOnly, ...order }: OperatorOrder,
  logger: Logger,
): Promise<Administrator> {
  return createOn(configuration, operatorPost(isReadOnly), order, logger)
}

async function createOn(
  configuration: Configuration,
  post: Post,
  { orgId, email, name }: AdministratorOrder,
  logger: Logger,
): Promise<Administrator> {
  return onConfiguredServers(configuration, logger, async ({ store, vault }) => {
    const now = () => new Date()
    const egress = createEgress({ configuration, logger })
    try {
      const identityProvider = createIdentityProvider(configuration, egress, now)
      const deps = { store, vault, configuration, now, identityProvider }
      const ordered = { orgId, email, displayName: name ?? post.roleName, isAlone: false }
      const person = await createPerson(deps, post, ordered).catch((error: unknown) => {
        throw explained(error, post)
      })
      await requirePost(deps, post, person)
      return person
    } finally {
      await egress.close()
    }
  })
}

const explanations: Readonly<Partial<Record<string, string>>> = {
  'email-in-use': '--email: another user has this address',
  'registration-under-way': 'an earlier attempt is under way: repeat the command in half a minute',
  'identity-provider-unavailable': 'the identity provider does not answer: repeat the command later',
  'identity-provider-rejected': 'the identity provider refused the account: its log names the reason',
}

function explained(error: unknown, { roleName, lacking }: Post): unknown {
  if (!(error instanceof Problem)) return error
  const isNameTaken = error.code === 'role-name-in-use'
  const ofName = `the organisation has a role ${roleName} without ${lacking}: rename it, or give it ${lacking}`
  return new Error(isNameTaken ? ofName : (explanations[error.code] ?? error.message), { cause: error })
}

/** A user of an earlier run may have changed since. */
async function requirePost(
  { store }: UserDependencies,
  post: Post,
  { org_id: orgId, user_id: userId }: Administrator,
): Promise<void> {
  const { state: user } = await store.load(users.of(userId))
  if (user.status !== 'active')
    throw new Error(`the user ${userId} of this address is ${user.status}: an administrator must change that`)
  const { state } = await store.load(organisationRoles.of(tenantOfFact(orgId)))
  const roleId = assignmentOf(state, userId)?.roleId
  if (!post.hasRole(state.roles.get(roleId ?? '')))
    throw new Error(`the user ${userId} of this address has another role now: give it one with ${post.lacking}`)
}
