import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { organisationRoles } from '../../../streams/organisation-roles/aggregate.ts'
import { permissions } from '../../../streams/permission/aggregate.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { givenMember, givenOrganisation, type GivenOrganisation } from '../../read-api/users/given-users.ts'
import { bootstrap, openUsersApi, unsigned, type UsersApi, type UsersProcess } from '../../read-api/users/users-api.ts'
import { newPerson, recordOf } from './write-callers.ts'

let api: UsersApi
let one: UsersProcess
let clinic: GivenOrganisation

beforeAll(async () => {
  api = await openUsersApi()
  one = await api.startProcess()
  clinic = await givenOrganisation(api, api.world.orgId)
  await givenMember(api, clinic, clinic.administrator)
})
afterAll(() => api.close())

/** The events that name who caused them, in the order of the streams. */
async function authorsIn(...streams: readonly string[]) {
  const found: { readonly type: string; readonly changedBy: unknown }[] = []
  for (const stream of streams)
    for await (const { type, data } of api.world.store.readStream(stream))
      if (typeof data === 'object' && data !== null && 'changedBy' in data)
        found.push({ type, changedBy: data.changedBy })
  return found
}

test('each change of a user, a membership and a role is an event with the actor', async () => {
  const author = randomUUID()
  const actor = { user_id: author, org_id: clinic.orgId, permissions: ['users:admin'] }
  const headers = await api.actor(unsigned(actor), clinic.orgId)
  const write = async (method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) => {
    const answer = await one.call(method, path, body, headers)
    expect([method, path, answer.status < 300]).toEqual([method, path, true])
    return recordOf(answer)
  }
  const role = await write('POST', '/admin/roles', { organisationId: clinic.orgId, name: 'Nurse' })
  const { id: userId, memberships } = await write('POST', '/admin/users', newPerson({ roleId: role.id }))
  const user = `/admin/users/${userId}`
  const membership = `${user}/memberships/${memberships[0]?.id}`
  await write('PATCH', user, { displayName: 'Other' })
  await write('POST', `${membership}/products`, { productId: 'p' })
  await write('DELETE', `${membership}/products/p`)
  await write('PATCH', membership, { roleId: clinic.clinician })
  await write('PATCH', `/admin/roles/${role.id}`, { name: 'Doctor' })
  await write('DELETE', `/admin/roles/${role.id}`)
  await write('POST', `${user}/reset-password`)
  await write('PATCH', user, { status: 'suspended' })
  await write('PATCH', user, { status: 'active' })
  await write('DELETE', membership)

  const ofUser = await authorsIn(users.of(userId).stream)
  expect(new Set(ofUser.map(({ type }) => type))).toEqual(
    new Set([
      'UserRegistrationStarted',
      'UserCreated',
      'UserMembershipAdded',
      'UserChanged',
      'UserProductAccessGranted',
      'UserProductAccessRevoked',
      'UserPasswordResetRequested',
      'UserSuspended',
      'UserReactivated',
      'UserMembershipRemoved',
    ]),
  )
  expect(new Set(ofUser.map(({ changedBy }) => changedBy))).toEqual(new Set([author]))
  const ofRoles = await authorsIn(organisationRoles.of(clinic.orgId).stream)
  expect(ofRoles.filter(({ changedBy }) => changedBy === author).map(({ type }) => type)).toEqual([
    'RoleCreated',
    'MembershipRoleAssigned',
    'MembershipRoleChanged',
    'RoleChanged',
    'RoleDeleted',
    'MembershipRevoked',
  ])
})

test('without an actor it is the client, and `bootstrap` for the administrator secret', async () => {
  const permission = { permission: 'recalls:plans:read', description: 'Read' }
  await one.call(
    'POST',
    '/permissions/register',
    { serviceId: 'recalls', permissions: [permission] },
    await api.token(null, ['users:permissions']),
  )
  expect((await authorsIn(permissions.of().stream)).at(-1)).toEqual({
    type: 'PermissionsRegistered',
    changedBy: expect.stringMatching(/^[0-9a-f-]{36}$/),
  })
  const created = await one.call('POST', '/admin/users', newPerson({ organisationId: clinic.orgId }), bootstrap)
  const authors = await authorsIn(users.of(recordOf(created).id).stream)
  expect(authors).toContainEqual({ type: 'UserCreated', changedBy: 'bootstrap' })
})
