import { ActorContextRecord, toContextClaims } from '../../contracts/users/context.ts'
import { OwnUserRecord } from '../../contracts/users/record.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { Uuid } from '../../platform/http/members.ts'
import { problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { signActorContext } from '../../platform/http/signed-actor-context.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { usersProjector } from '../../projections/users/users.projector.ts'
import { readRoute, requireCurrent, type ReadDependencies } from '../read-route.ts'
import { getUser, type MembershipView, type UserView } from './queries.ts'
import { roleOf, toDetail, versioned } from './records.ts'

const usual = { access: 'token', servedBy: [usersProjector], tenancy: 'optional' } as const

/** What a user has: the own profile, and the context that a product sends with its calls. */
export function ownReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool, vault, now, configuration } = deps

  readRoute(app, {
    ...usual,
    path: '/users/me',
    operationId: 'getOwnUser',
    summary: 'The user of X-Actor-Context, with memberships, roles and permissions',
    description: "`permissions` are those of the actor's organisation.",
    reply: OwnUserRecord,
    problems: ['actor-context-missing', 'user-erased'],
    find: async ({ tenant, caller: { actor } }) => {
      if (actor === null) throw problem('actor-context-missing')
      if (!isUuid(actor.userId)) throw problem('not-found')
      const user = await getUser(pool, tenant, actor.userId)
      const own = user.memberships.find((one) => one.organisationId === actor.orgId)
      const roles = user.memberships.map(roleOf)
      return versioned(user, { ...toDetail(user), roles, permissions: [...(own?.permissions ?? [])] })
    },
  })

  readRoute(app, {
    ...usual,
    path: '/users/:id/context',
    operationId: 'getActorContext',
    summary: 'The actor context of a user in an organisation',
    description:
      'The answer is current, or a 503. Without `org_id` it is the organisation of the token, or the only one of the user. `token` has the type actor-context+jwt and is signed with a key of /v1/auth/.well-known/jwks.json.',
    params: { id: Uuid },
    reply: ActorContextRecord,
    problems: ['user-erased', 'user-not-active'],
    handle: async ({ tenant, params }) => {
      await requireCurrent(deps, usersProjector)
      const user = await getUser(pool, tenant, params.id)
      const claims = toContextClaims(user, membershipIn(user, tenant))
      if (user.status !== 'active') throw problem('user-not-active')
      // Tokens contain whole seconds.
      const issuedAt = new Date(Math.floor(now().getTime() / 1000) * 1000)
      const expiresAt = new Date(issuedAt.getTime() + configuration.actorContextTtlSeconds * 1000)
      const token = await signActorContext(claims, await vault.signingKey('actor-context'), { issuedAt, expiresAt })
      return { ...claims, issued_at: issuedAt.toISOString(), expires_at: expiresAt.toISOString(), token }
    },
  })
}

/** @throws Problem `not-found` without a membership, `org-required` with several */
function membershipIn({ memberships }: UserView, tenant: TenantId | null): MembershipView {
  const [first, second] = memberships.filter((one) => tenant === null || one.organisationId === tenant)
  if (first === undefined) throw problem('not-found')
  if (second !== undefined) throw problem('org-required')
  return first
}
