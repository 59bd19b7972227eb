import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { givenMember, givenOrganisation, givenUser, type GivenOrganisation } from '../../read-api/users/given-users.ts'
import { openUsersApi, unsigned, type UsersApi, type UsersProcess } from '../../read-api/users/users-api.ts'
import { newPerson, recordOf, refusalOf } from './write-callers.ts'

type Headers = Readonly<Record<string, string>>

let api: UsersApi
let one: UsersProcess
let clinic: GivenOrganisation
let hospital: GivenOrganisation
/** A platform client with the scope `users:admin`, and no actor. */
let platform: Headers

beforeAll(async () => {
  api = await openUsersApi()
  one = await api.startProcess()
  clinic = await givenOrganisation(api, api.world.orgId)
  hospital = await givenOrganisation(api)
  platform = await api.token(null, ['users:admin'])
})
afterAll(() => api.close())

const idsOf = ({ body }: { readonly body: unknown }) => (body as { data: { id: string }[] }).data.map(({ id }) => id)
const everyRead = (userId: string) => ['/v1/admin/users?limit=200', `/v1/admin/users/${userId}`, '/v1/admin/roles']

test('a platform client with users:admin reads the users and roles of all organisations, or of one', async () => {
  const [here, there] = [await givenMember(api, clinic), await givenMember(api, hospital)]
  const { userId } = await givenUser(api)
  expect(idsOf(await one.get('/v1/admin/users?limit=200', platform))).toEqual(
    expect.arrayContaining([here.userId, there.userId, userId]),
  )
  const ofHospital = idsOf(await one.get(`/v1/admin/users?limit=200&org_id=${hospital.orgId}`, platform))
  expect(ofHospital).toContain(there.userId)
  expect(ofHospital).not.toContain(here.userId)
  expect((await one.get(`/v1/admin/users/${userId}`, platform)).status).toBe(200)
  expect((await one.get(`/v1/admin/roles/${hospital.clinician}`, platform)).status).toBe(200)
})

test('it changes shared users, adds second memberships and grants the restricted permission', async () => {
  const shared = await givenMember(api, clinic)
  await givenMember(api, hospital, hospital.administrator)
  const body = { organisationId: hospital.orgId, roleId: hospital.administrator }
  const path = `/admin/users/${shared.userId}`
  const added = await one.call('POST', `${path}/memberships`, body, platform)
  expect([added.status, added.body]).toEqual([201, expect.objectContaining(body)])
  for (const change of [
    { displayName: 'Other' },
    { email: `${randomUUID()}@example.org` },
    { status: 'suspended' },
    { status: 'active' },
  ])
    expect((await one.call('PATCH', path, change, platform)).status).toBe(200)
  expect((await one.call('POST', `${path}/reset-password`, undefined, platform)).status).toBe(202)
  const role = { organisationId: clinic.orgId, name: randomUUID(), permissions: ['auth:admin'] }
  expect((await one.call('POST', '/admin/roles', role, platform)).status).toBe(201)
  const created = await one.call('POST', '/admin/users', newPerson({ organisationId: clinic.orgId }), platform)
  expect(created.status).toBe(201)
  expect((await one.call('POST', '/admin/users', newPerson(), platform)).status).toBe(201)
  expect((await one.call('DELETE', `/admin/users/${recordOf(created).id}`, undefined, platform)).status).toBe(200)
  expect((await one.call('POST', `/admin/users/${recordOf(created).id}/erase`, undefined, platform)).status).toBe(200)
})

test('the scope counts for platform clients only, and no other scope counts', async () => {
  const { userId } = await givenMember(api, hospital)
  for (const headers of [
    await api.token(clinic.orgId, ['users:admin']),
    await api.token(null, ['auth:admin', 'users:contact', 'users:permissions']),
  ]) {
    for (const url of everyRead(userId))
      expect(refusalOf(await one.get(url, headers))).toBe('403 actor-context-missing')
    for (const [method, path, body] of [
      ['PATCH', `/admin/users/${userId}`, { status: 'suspended' }],
      ['POST', '/admin/users', newPerson({ organisationId: hospital.orgId })],
      ['POST', '/admin/roles', { organisationId: hospital.orgId, name: 'Mine' }],
    ] as const)
      expect(refusalOf(await one.call(method, path, body, headers))).toBe('403 actor-context-missing')
  }
})

test('an actor stays in its organisation behind a platform client without the scope', async () => {
  const foreign = await givenMember(api, hospital)
  const context = unsigned({ user_id: randomUUID(), org_id: clinic.orgId, permissions: ['users:admin', 'auth:admin'] })
  const actor = await api.actor(context, null)
  expect(refusalOf(await one.get(`/v1/admin/users/${foreign.userId}`, actor))).toBe('404 not-found')
  expect(idsOf(await one.get('/v1/admin/users?limit=200', actor))).not.toContain(foreign.userId)
  const role = { organisationId: clinic.orgId, name: randomUUID(), permissions: ['auth:admin'] }
  expect(refusalOf(await one.call('POST', '/admin/roles', role, actor))).toBe('403 permission-missing')
  // With the scope, the token itself administers, whatever its actor.
  const both = await api.actor(context, null, ['users:admin'])
  expect((await one.get(`/v1/admin/users/${foreign.userId}`, both)).status).toBe(200)
})
