import { Type } from 'typebox'
import { usersAdmin } from '../../contracts/users/access.ts'
import {
  toUserRecord,
  UserContactRecord,
  UserDetailRecord,
  UserRecord,
  UserStatus,
} from '../../contracts/users/record.ts'
import { toRecord } from '../../engine/reads/records.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { Uuid } from '../../platform/http/members.ts'
import { orgAliases } from '../../platform/http/parameters.ts'
import { invalidMember, problem } from '../../platform/http/problems.ts'
import { variantFor } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { usersProjector } from '../../projections/users/users.projector.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import {
  readRoute,
  requireCurrent,
  wantsCurrent,
  type Members,
  type ReadDependencies,
  type ReadRequest,
} from '../../engine/reads/read-route.ts'
import { getUser, getUserByExternalId, getUserOfPatient, listUsers, placeOfUser } from './queries.ts'
import { toDetail, versioned } from './records.ts'

const usual = { servedBy: [usersProjector], tenancy: 'optional' } as const
const visibility = 'Callers of an organisation see its members, and no membership of another organisation.'
const current = 'With `Cache-Control: no-cache` the answer is current, or a 503.'
const { userType } = UserRecord.properties

/** Users for administrators, and look-ups for products. */
export function userReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  listRoute(app, deps, {
    ...usual,
    access: usersAdmin,
    path: '/admin/users',
    operationId: 'listUsers',
    summary: 'Users, the oldest first',
    description: `${visibility} \`organisationId\` is also \`org\`, \`org_id\` or \`orgId\`; \`userType\` is also \`type\`; \`roleId\` is also \`role\`.`,
    query: {
      ...orgAliases,
      userType: Type.Optional(userType),
      type: Type.Optional(userType),
      status: Type.Optional(UserStatus),
      roleId: Type.Optional(Uuid),
      role: Type.Optional(Uuid),
    },
    list: 'users',
    sort: 'createdAt',
    pageName: 'UserPage',
    casing: 'camel',
    item: UserRecord,
    rows: ({ tenant, query }, page) => {
      const filters = {
        userType: oneOf('userType', query.userType, query.type),
        status: query.status,
        roleId: oneOf('roleId', query.roleId, query.role),
      }
      return listUsers(deps, tenant, filters, page)
    },
    placeOf: placeOfUser,
    toItem: toUserRecord,
  })

  readRoute(app, {
    ...usual,
    access: usersAdmin,
    path: '/admin/users/:id',
    operationId: 'getUser',
    summary: 'A user with memberships',
    description: `${visibility} The ETag is \`"<revision of the user>.<revision of the roles>.<organisation>"\`; If-Match compares the first.`,
    params: { id: Uuid },
    reply: UserDetailRecord,
    problems: ['user-erased'],
    find: async ({ tenant, params }) => {
      const user = await getUser(deps, tenant, params.id)
      const { variant, ...found } = versioned(user, toDetail(user))
      return { ...found, variant: variantFor(tenant, variant) }
    },
  })

  readRoute(app, {
    ...usual,
    access: 'token',
    path: '/users/by-external-id/:externalId',
    operationId: 'getUserByExternalId',
    summary: 'The user with a subject of the identity provider',
    description: `${visibility} \`email\` is null for clients without the scope \`users:contact\`.`,
    params: { externalId: Type.String({ minLength: 1, maxLength: 255 }) },
    reply: UserDetailRecord,
    problems: ['user-erased'],
    find: async ({ tenant, params, caller }) => {
      const user = await getUserByExternalId(deps, tenant, params.externalId)
      const showsAddress = caller.scopes.has('users:contact')
      const detail = toDetail(user)
      const { variant, ...found } = versioned(user, { ...detail, email: showsAddress ? detail.email : null })
      // A client that gets the scope later must not receive a 304 for the version without the address.
      return { ...found, variant: 2 * variant + Number(showsAddress) }
    },
  })

  readRoute(app, {
    ...usual,
    access: { scopes: ['users:contact'] },
    path: '/users/:id/contact',
    operationId: 'getUserContact',
    summary: 'Address and name of a user, for messages',
    description: `For platform clients only. With \`org_id\` the user must be a member. ${current}`,
    params: { id: Uuid },
    reply: UserContactRecord,
    shows: ({ userId }) => ({ userId }),
    problems: ['user-erased', 'platform-client-required'],
    handle: async (request) => {
      await allowContact(request)
      return toRecord(UserContactRecord, await getUser(deps, request.tenant, request.params.id))
    },
  })

  readRoute(app, {
    access: { scopes: ['users:contact'] },
    servedBy: [usersProjector],
    path: '/users/by-clinical-patient/:patientId/contact',
    operationId: 'getPatientContact',
    summary: 'Address and name of the only active member of an organisation who is this clinical patient',
    description: `For platform clients only. 404 if there is no such member, or more than one. ${current}`,
    params: { patientId: Type.String({ minLength: 1, maxLength: 255 }) },
    reply: UserContactRecord,
    shows: ({ userId }, { params }) => ({
      userId,
      patientId: isUuid(params.patientId) ? params.patientId.toLowerCase() : null,
    }),
    problems: ['platform-client-required'],
    handle: async (request) => {
      await allowContact(request)
      const { patientId } = request.params
      const id = isUuid(patientId) ? patientId.toLowerCase() : patientId
      return toRecord(UserContactRecord, await getUserOfPatient(deps, request.tenant, id))
    },
  })

  /** Nobody else reads addresses. A message must not go to a user who was erased a moment ago. */
  async function allowContact({ caller, headers }: Pick<ReadRequest<Members, Members>, 'caller' | 'headers'>) {
    if (caller.orgId !== null) throw problem('platform-client-required')
    if (wantsCurrent(headers['cache-control'])) await requireCurrent(deps, usersProjector)
  }
}

/** The value of a filter with two names. */
function oneOf<Value extends string>(name: string, first: Value | undefined, second: Value | undefined) {
  if (first !== undefined && second !== undefined && first !== second)
    throw invalidMember(`/${name}`, 'must not have two values', 'ambiguous')
  return first ?? second
}
