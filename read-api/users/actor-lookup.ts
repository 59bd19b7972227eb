import type { AskContext } from '../../contracts/users/client.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { Problem } from '../../platform/http/problems.ts'
import { tenantOfFact } from '../../platform/kit/tenants.ts'
import { usersProjector } from '../../projections/users/users.projector.ts'
import type { ReadDependencies } from '../read-route.ts'
import { getUser, type UserView } from './queries.ts'

/**
 * The present permissions of a user in an organisation, from the read model. The answer includes everything recorded
 * before the question, or is `unavailable`.
 */
export function createActorLookup({ pool, isCurrent }: Pick<ReadDependencies, 'pool' | 'isCurrent'>): AskContext {
  return async ({ userId, orgId }) => {
    if (!isUuid(userId) || !isUuid(orgId)) return { kind: 'refused', code: 'actor-context-invalid' }
    if (!(await isCurrent(usersProjector.name))) return { kind: 'unavailable' }
    const user = await seenUser(() => getUser(pool, tenantOfFact(orgId), userId))
    const membership = user?.memberships.find((one) => one.organisationId === orgId)
    if (user === undefined || membership === undefined) return { kind: 'refused', code: 'actor-context-invalid' }
    if (user.status !== 'active') return { kind: 'refused', code: 'user-not-active' }
    const { roleName: role, permissions, products: productIds } = membership
    const { userType } = user
    return { kind: 'actor', actor: { userId, orgId, userType, role, permissions: new Set(permissions), productIds } }
  }
}

/** Undefined for a user that does not exist for the organisation, or was erased. */
async function seenUser(find: () => Promise<UserView>): Promise<UserView | undefined> {
  try {
    return await find()
  } catch (error) {
    if (error instanceof Problem && (error.code === 'not-found' || error.code === 'user-erased')) return undefined
    throw error
  }
}
