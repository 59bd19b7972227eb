import { ActorContextRecord, toContextClaims, type ContextClaims } from '../../contracts/users/context.ts'
import { OwnUserRecord } from '../../contracts/users/record.ts'
import { longestActorContext } from '../../platform/http/actor-context.ts'
import { requireActor } from '../../platform/http/access.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { Uuid } from '../../platform/http/members.ts'
import { problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { createContextTokens } from '../../platform/http/context-tokens.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { usersProjector } from '../../projections/users/users.projector.ts'
import { readRoute, wantsCurrent, type ReadDependencies } from '../../engine/reads/read-route.ts'
import { createCurrentUsers } from './current-users.ts'
import { getUser, type MembershipView, type UserView } from './queries.ts'
import { roleOf, toDetail, versioned } from './records.ts'

const usual = { access: 'token', servedBy: [usersProjector], tenancy: 'optional' } as const

/** What a user has: the own profile, and the context that a product sends with its calls. */
export function ownReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { vault, now, configuration } = deps
  const userOf = createCurrentUsers(deps)
  const tokens = createContextTokens({ keys: vault, now, ttlSeconds: configuration.actorContextTtlSeconds })

  /** A longer one is refused. The mode `resolve` reads the user and the organisation alone. */
  async function shortToken(claims: ContextClaims) {
    const whole = await tokens.tokenOf(claims)
    const { user_id, org_id } = claims
    return whole.token.length > longestActorContext ? tokens.tokenOf({ user_id, org_id }) : whole
  }

  readRoute(app, {
    ...usual,
    access: 'actor',
    path: '/users/me',
    operationId: 'getOwnUser',
    summary: 'The user of X-Actor-Context, with memberships, roles and permissions',
    description: "`permissions` are those of the actor's organisation.",
    reply: OwnUserRecord,
    problems: ['user-erased'],
    find: async ({ tenant, caller }) => {
      const actor = requireActor(caller)
      if (!isUuid(actor.userId)) throw problem('not-found')
      const user = await getUser(deps, tenant, actor.userId)
      const place = user.memberships.findIndex((one) => one.organisationId === actor.orgId)
      const roles = user.memberships.map(roleOf)
      const permissions = [...(user.memberships[place]?.permissions ?? [])]
      const { variant, ...found } = versioned(user, { ...toDetail(user), roles, permissions })
      // The same address shows the permissions of another organisation to the actor of that one.
      return { ...found, variant: variant * (user.memberships.length + 1) + place + 1 }
    },
  })

  readRoute(app, {
    ...usual,
    path: '/users/:id/context',
    operationId: 'getActorContext',
    summary: 'The actor context of a user in an organisation',
    description:
      'The answer is at most a second old, or a 503. It includes every answered write. With `Cache-Control: no-cache` it includes everything recorded before the request. At least half of the life of `token` is left. Without `org_id` it is the organisation of the token, or the only one of the user. A `token` that would be longer than 8 KiB has `user_id` and `org_id` only, which is enough in the mode `resolve`. `token` has the type actor-context+jwt and is signed with a key of /v1/auth/.well-known/jwks.json.',
    params: { id: Uuid },
    reply: ActorContextRecord,
    problems: ['user-erased', 'user-not-active'],
    handle: async ({ tenant, params, headers }) => {
      const isOfNow = wantsCurrent(headers['cache-control'])
      const user = await userOf({ tenant, userId: params.id, isOfNow })
      const claims = toContextClaims(user, membershipIn(user, tenant))
      if (user.status !== 'active') throw problem('user-not-active')
      const { issuedAt, expiresAt, token } = await shortToken(claims)
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
