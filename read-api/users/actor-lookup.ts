import type { AskContext, ContextAnswer } from '../../contracts/users/client.ts'
import type { SelectedActor } from '../../platform/http/actor-context.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { Problem } from '../../platform/http/problems.ts'
import { pause } from '../../platform/kit/backoff.ts'
import { tenantOfFact } from '../../platform/kit/tenants.ts'
import { usersProjector } from '../../projections/users/users.projector.ts'
import type { ReadDependencies } from '../../engine/reads/read-route.ts'
import { findUser } from './queries.ts'

/** The event store may need longer to say that it is away. */
const longestMs = 5_000

/**
 * The present permissions of a user in an organisation, from the read model. The answer includes everything recorded
 * before the question, or is `unavailable`.
 */
export function createActorLookup({ pool, isCurrent }: Pick<ReadDependencies, 'pool' | 'isCurrent'>): AskContext {
  return (selected) => inTime(lookUp(selected))

  async function lookUp({ userId, orgId }: SelectedActor): Promise<ContextAnswer> {
    if (!isUuid(userId) || !isUuid(orgId)) return { kind: 'refused', code: 'actor-context-invalid' }
    if (!(await isCurrent(usersProjector.name))) return { kind: 'unavailable' }
    const user = await seenUser(() => findUser(pool, tenantOfFact(orgId), userId))
    const membership = user?.memberships.find((one) => one.organisationId === orgId)
    if (user === undefined || membership === undefined) return { kind: 'refused', code: 'actor-context-invalid' }
    if (user.status !== 'active') return { kind: 'refused', code: 'user-not-active' }
    const { roleName: role, permissions, products: productIds } = membership
    const { userType } = user
    return { kind: 'actor', actor: { userId, orgId, userType, role, permissions: new Set(permissions), productIds } }
  }
}

async function inTime(answer: Promise<ContextAnswer>): Promise<ContextAnswer> {
  const done = new AbortController()
  const late = pause(longestMs, done.signal).then((): ContextAnswer => ({ kind: 'unavailable' }))
  try {
    return await Promise.race([answer, late])
  } finally {
    done.abort()
  }
}

type FoundUser = Awaited<ReturnType<typeof findUser>>

/** Undefined for a user that does not exist for the organisation, or was erased. */
async function seenUser(find: () => Promise<FoundUser>): Promise<FoundUser | undefined> {
  try {
    return await find()
  } catch (error) {
    if (error instanceof Problem && (error.code === 'not-found' || error.code === 'user-erased')) return undefined
    throw error
  }
}
