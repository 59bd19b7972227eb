import { randomUUID } from 'node:crypto'
import { version } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { givenMember, givenOrganisation, givenUser, type GivenOrganisation } from '../../read-api/users/given-users.ts'
import { bootstrap, openUsersApi, type UsersApi, type UsersProcess } from '../../read-api/users/users-api.ts'
import { newPerson, recordOf, refusalOf } from './write-callers.ts'

/* Specification 2.4: the identifiers of users and of their parts are UUIDs v7, also under an Idempotency-Key. */

let api: UsersApi
let processes: readonly [UsersProcess, UsersProcess]
let clinic: GivenOrganisation

beforeAll(async () => {
  api = await openUsersApi()
  processes = [await api.startProcess(), await api.startProcess()]
  clinic = await givenOrganisation(api, api.world.orgId)
})
afterAll(() => api.close())

interface Create {
  readonly path: string
  readonly body: object
  /** Another body for the same key. */
  readonly other: object
}

const creates: Readonly<Record<string, () => Promise<Create>>> = {
  'a user': async () => ({
    path: '/admin/users',
    body: newPerson({ organisationId: clinic.orgId, practitionerProfile: {} }),
    other: newPerson({ organisationId: clinic.orgId }),
  }),
  'a role': async () => {
    const role = (name: string) => ({ organisationId: clinic.orgId, name })
    return { path: '/admin/roles', body: role(randomUUID()), other: role(randomUUID()) }
  },
  'a membership': async () => {
    const { userId } = await givenUser(api)
    const body = { organisationId: clinic.orgId }
    return { path: `/admin/users/${userId}/memberships`, body, other: { ...body, roleId: clinic.administrator } }
  },
  'a product access': async () => {
    const { userId, membershipId } = await givenMember(api, clinic)
    const path = `/admin/users/${userId}/memberships/${membershipId}/products`
    return { path, body: { productId: 'lesion' }, other: { productId: 'scar' } }
  },
}

test.each(Object.entries(creates))(
  '%s gets one UUID v7 from simultaneous requests of a key in two processes, and repeats get the same',
  async (_, given) => {
    const { path, body, other } = await given()
    const headers = { ...bootstrap, 'idempotency-key': randomUUID() }
    const answers = await Promise.all([0, 1, 0, 1].map((of) => processes[of]!.call('POST', path, body, headers)))
    answers.push(await processes[1].call('POST', path, body, headers))
    const [first] = answers
    for (const answer of answers) expect([answer.status, answer.body]).toEqual([201, first?.body])
    expect(refusalOf(await processes[0].call('POST', path, other, headers))).toContain('409 idempotency-key-reused')
    const ids = [...JSON.stringify(first?.body).matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id ?? '')
    expect(ids).toContain(recordOf(first ?? { body: null }).id)
    for (const id of ids.filter((one) => one !== clinic.clinician)) expect(version(id)).toBe(7)
  },
)

test('a refused create leaves its key free for another body', async () => {
  const name = randomUUID()
  const role = (changes: object = {}) => ({ organisationId: clinic.orgId, name, ...changes })
  await processes[0].call('POST', '/admin/roles', role())
  const headers = { ...bootstrap, 'idempotency-key': randomUUID() }
  expect(refusalOf(await processes[0].call('POST', '/admin/roles', role(), headers))).toContain('409 role-name-in-use')
  const named = role({ name: randomUUID() })
  expect((await processes[1].call('POST', '/admin/roles', named, headers)).status).toBe(201)
})

test('a permission gets a UUID v7 at its first registration, and keeps it', async () => {
  const [process] = processes
  const platform = await api.token(null, ['users:permissions'])
  const permission = 'warts:images:read'
  const register = (description: string) =>
    process.call(
      'POST',
      '/permissions/register',
      { serviceId: 'warts', permissions: [{ permission, description }] },
      platform,
    )
  const idOf = async () => {
    const { body } = await process.get('/v1/permissions?service_id=warts', platform)
    return [...JSON.stringify(body).matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id ?? '')
  }
  expect((await register('one')).status).toBe(200)
  const ids = await idOf()
  expect(ids.map(version)).toEqual([7])
  expect((await register('two')).status).toBe(200)
  expect(await idOf()).toEqual(ids)
})
