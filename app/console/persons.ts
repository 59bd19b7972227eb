import type { Actor, Caller } from '../../platform/http/access.ts'
import { consoleClient } from '../../platform/http/access.ts'
import { Problem } from '../../platform/http/problems.ts'
import type { OpeningReads } from '../../engine/reads/opened.ts'
import { getUser, getUserByExternalId, type MembershipView, type UserView } from '../../read-api/users/queries.ts'
import type { SignedIn } from './sessions.ts'

export interface Person extends SignedIn {
  readonly displayName: string | null
  readonly permissions: ReadonlySet<string>
  readonly actor: Actor
}

/** The scopes of the routes at the console. Each of these routes needs the permission of the same name too. */
const scopes: ReadonlySet<string> = new Set(['operations:read', 'operations:write', 'audit:read', 'audit:read-phi'])

/** What operators see is the whole installation. Every other right of the person is one in its organisation. */
export function callerOf({ actor, orgId }: Person, isOfOperators: boolean): Caller {
  return {
    clientId: consoleClient,
    orgId: isOfOperators ? null : orgId,
    productId: null,
    scopes,
    trustedActorContext: false,
    actor,
    isBootstrapAdmin: false,
  }
}

/** The person of a session as the read model has it. Undefined unless the user is active. */
export async function presentPerson(reads: OpeningReads, { userId, orgId }: SignedIn): Promise<Person | undefined> {
  const user = await activeUser(getUser(reads, null, userId))
  const membership = user?.memberships.find(({ organisationId }) => organisationId === orgId)
  return user === undefined ? undefined : personOf(user, orgId, membership)
}

/** For a sign-in: the person in the first organisation whose role lets operators in. Undefined if there is none. */
export async function operatorOf(
  reads: OpeningReads,
  known: { readonly userId: string } | { readonly externalId: string },
): Promise<Person | undefined> {
  const user = await activeUser(
    'userId' in known ? getUser(reads, null, known.userId) : getUserByExternalId(reads, null, known.externalId),
  )
  const membership = user?.memberships.find((one) => permissionsOf(one).has('operations:read'))
  return user === undefined || membership === undefined
    ? undefined
    : personOf(user, membership.organisationId, membership)
}

async function activeUser(found: Promise<UserView>): Promise<UserView | undefined> {
  try {
    const user = await found
    return user.status === 'active' ? user : undefined
  } catch (error) {
    if (error instanceof Problem && (error.code === 'not-found' || error.code === 'user-erased')) return undefined
    throw error
  }
}

function personOf(
  { userId, displayName, userType }: UserView,
  orgId: string,
  membership: MembershipView | undefined,
): Person {
  const permissions = permissionsOf(membership)
  const { roleName: role = null, products: productIds = [] } = membership ?? {}
  const actor = { userId, orgId, userType, role, permissions, productIds, auditId: userId }
  return { userId, orgId, displayName, permissions, actor }
}

/** Whoever may repair may look. */
function permissionsOf(membership: MembershipView | undefined): ReadonlySet<string> {
  const permissions = new Set(membership?.permissions)
  if (permissions.has('operations:write')) permissions.add('operations:read')
  return permissions
}
