import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { givenMember, givenOrganisation, type GivenOrganisation } from '../../read-api/users/given-users.ts'
import { bootstrap, openUsersApi, type UsersApi, type UsersProcess } from '../../read-api/users/users-api.ts'
import { administratorOf, refusalOf } from './write-callers.ts'

type Headers = Readonly<Record<string, string>>

let api: UsersApi
let one: UsersProcess
let clinic: GivenOrganisation
let hospital: GivenOrganisation
let clinicAdmin: Headers

beforeAll(async () => {
  api = await openUsersApi()
  one = await api.startProcess()
  clinic = await givenOrganisation(api, api.world.orgId)
  hospital = await givenOrganisation(api)
  clinicAdmin = await administratorOf(api, clinic)
})
afterAll(() => api.close())

const create = (body: object = {}, headers: Headers = clinicAdmin) =>
  one.call('POST', '/admin/roles', { organisationId: clinic.orgId, name: randomUUID(), ...body }, headers)
const patch = (id: string, body: object, headers: Headers = clinicAdmin) =>
  one.call('PATCH', `/admin/roles/${id}`, body, headers)
const remove = (id: string, headers: Headers = clinicAdmin) =>
  one.call('DELETE', `/admin/roles/${id}`, undefined, headers)
const read = (id: string) => one.get(`/v1/admin/roles/${id}`, clinicAdmin)
const idOf = ({ body }: { readonly body: unknown }) => (body as { id: string }).id

describe('POST /admin/roles', () => {
  test('answers 201 with the role, and the key repeats', async () => {
    const headers = { ...clinicAdmin, 'idempotency-key': randomUUID() }
    const body = { name: 'Nurse', description: 'Takes photographs', permissions: ['users:admin'] }
    const answer = await create(body, headers)
    const id = idOf(answer)
    expect(answer).toMatchObject({
      status: 201,
      etag: expect.stringMatching(/^"\d+"$/),
      headers: { location: `/v1/admin/roles/${id}` },
      body: { ...body, organisationId: clinic.orgId, isDefault: false },
    })
    const got = await read(id)
    expect([got.body, got.etag]).toEqual([answer.body, answer.etag])
    const again = await create(body, headers)
    expect([again.status, again.body, again.headers['idempotency-replayed']]).toEqual([201, answer.body, 'true'])
    expect(refusalOf(await create({ name: 'Other' }, headers))).toBe('409 idempotency-key-reused')
    expect(refusalOf(await create({ name: 'Nurse' }))).toBe('409 role-name-in-use')
    const elsewhere = { name: 'Nurse', organisationId: hospital.orgId }
    expect(refusalOf(await create(elsewhere))).toBe('404 not-found')
    expect((await create(elsewhere, bootstrap)).status).toBe(201)
    expect((await remove(id)).status).toBe(204)
    expect(refusalOf(await create(body, headers))).toBe('409 idempotency-key-reused')
  })

  test('refuses unknown permissions with a pointer at each, and auth:admin from an organisation', async () => {
    const permissions = ['users:admin', 'nobody:knows:this', 'users:*']
    const refused = await create({ permissions })
    expect(refusalOf(refused)).toBe('400 unknown-permission /permissions/1')
    expect(refused.body).toMatchObject({ errors: [{ pointer: '/permissions/1' }, { pointer: '/permissions/2' }] })
    expect(refusalOf(await create({ permissions: ['auth:admin'] }))).toBe('403 permission-missing')
    expect((await create({ permissions: ['auth:admin'] }, bootstrap)).status).toBe(201)
    expect(refusalOf(await create({ permissions: ['users:admin', 'users:admin'] }))).toMatch(/^400 validation-failed/)
    expect(refusalOf(await create({ name: '' }))).toBe('400 validation-failed /name')
  })
})

describe('PATCH /admin/roles/{id}', () => {
  test('changes a role with an ETag of its own, and one default role stays', async () => {
    const first = await create({ isDefault: true })
    const id = idOf(first)
    expect((await read(clinic.clinician)).body).toMatchObject({ isDefault: false })
    const ifMatch = { ...clinicAdmin, 'if-match': String(first.etag) }
    const changed = await patch(id, { description: 'New' }, ifMatch)
    expect(changed).toMatchObject({ status: 200, body: { description: 'New', isDefault: true } })
    expect(refusalOf(await patch(id, { description: 'Newer' }, ifMatch))).toBe('412 precondition-failed')
    expect(refusalOf(await remove(id, ifMatch))).toBe('412 precondition-failed')
    await create()
    expect((await read(id)).etag).toBe(changed.etag)
    expect((await patch(clinic.clinician, { isDefault: true })).body).toMatchObject({ isDefault: true })
    expect((await read(id)).body).toMatchObject({ isDefault: false })
    expect((await patch(clinic.clinician, { isDefault: false })).body).toMatchObject({ isDefault: false })
    expect((await patch(clinic.clinician, { isDefault: true })).status).toBe(200)
  })

  test('refuses names in use and unknown permissions, and keeps what is left out', async () => {
    const { body } = await create({ description: 'Stays' })
    const id = idOf({ body })
    expect(refusalOf(await patch(id, { name: 'Clinician' }))).toBe('409 role-name-in-use')
    expect(refusalOf(await patch(id, { permissions: ['a:b:c'] }))).toBe('400 unknown-permission /permissions/0')
    expect(refusalOf(await patch(id, { permissions: ['auth:admin'] }))).toBe('403 permission-missing')
    expect(refusalOf(await patch(id, { organisationId: hospital.orgId }))).toBe('400 validation-failed /organisationId')
    expect((await patch(id, {})).body).toEqual(body)
    expect((await patch(id, { description: null })).body).toMatchObject({ description: null })
    // A role keeps what a platform caller put into it.
    const known = ['auth:admin', 'consents:admin', 'notifications:admin', 'users:admin']
    expect((await patch(clinic.administrator, { permissions: known, name: 'Head' })).status).toBe(200)
    expect(refusalOf(await patch(clinic.administrator, { permissions: ['auth:admin', 'nobody:knows:this'] }))).toBe(
      '400 unknown-permission /permissions/1',
    )
  })

  test('refuses to take users:admin from the last administrators', async () => {
    const { administrator } = hospital
    await givenMember(api, hospital, administrator)
    await givenMember(api, hospital, administrator)
    expect(refusalOf(await patch(administrator, { permissions: [] }, bootstrap))).toBe('409 last-administrator')
    const other = idOf(await create({ organisationId: hospital.orgId, permissions: ['users:admin'] }, bootstrap))
    await givenMember(api, hospital, other)
    expect((await patch(administrator, { permissions: [] }, bootstrap)).body).toMatchObject({ permissions: [] })
  })
})

test('DELETE refuses a role in use, and takes an unused default role', async () => {
  const id = idOf(await create({ isDefault: true }))
  await givenMember(api, clinic, id)
  expect(refusalOf(await remove(id))).toBe('409 role-in-use')
  const unused = idOf(await create({ isDefault: true }))
  expect(await remove(unused)).toMatchObject({ status: 204, body: null })
  expect(refusalOf(await remove(unused))).toBe('404 not-found')
  expect(refusalOf(await remove(unused, bootstrap))).toBe('404 not-found')
})

test('a process that read the roles before changes and deletes one that another process made since', async () => {
  const other = await api.startProcess()
  const of = (id: string) => `/admin/roles/${id}?org_id=${clinic.orgId}`
  const made = async () => {
    expect((await other.call('DELETE', of(randomUUID()))).status).toBe(404)
    const { body, etag } = await create()
    return { id: idOf({ body }), match: { ...bootstrap, 'if-match': String(etag) } }
  }
  const [changed, name] = [await made(), randomUUID()]
  expect(await other.call('PATCH', of(changed.id), { name }, changed.match)).toMatchObject({ status: 200 })
  const deleted = await made()
  expect(await other.call('DELETE', of(deleted.id), undefined, deleted.match)).toMatchObject({ status: 204 })
})

test('roles of another organisation answer as unknown ones', async () => {
  for (const id of [hospital.clinician, randomUUID(), 'x']) {
    expect(refusalOf(await patch(id, { name: 'Mine' }))).toBe('404 not-found')
    expect(refusalOf(await remove(id))).toBe('404 not-found')
  }
})

describe('POST /permissions/register', () => {
  const register = (body: object, headers: Headers) => one.call('POST', '/permissions/register', body, headers)
  const registrar = (orgId: string | null = null) => api.token(orgId, ['users:permissions'])
  const permission = (name: string, description: string | null = null) => ({ permission: name, description })

  test('binds the service to its client and the first segment to the service', async () => {
    const [first, second] = [await registrar(), await registrar()]
    const list = [permission('derm:images:read', 'Sees images'), permission('derm:images:*')]
    const body = { serviceId: 'derm', permissions: list }
    expect(await register(body, first)).toMatchObject({
      status: 200,
      body: { serviceId: 'derm', created: ['derm:images:read', 'derm:images:*'], updated: [], unchanged: [] },
    })
    const more = [permission('derm:images:read', 'Changed'), permission('derm:images:*'), permission('derm:a:b-1')]
    expect((await register({ service_id: 'derm', permissions: more }, first)).body).toEqual({
      serviceId: 'derm',
      created: ['derm:a:b-1'],
      updated: ['derm:images:read'],
      unchanged: ['derm:images:*'],
    })
    expect(refusalOf(await register(body, second))).toBe('409 service-owned-by-other-client')
    const stolen = { serviceId: 'other', permissions: [permission('other:a:b'), permission('derm:a:c')] }
    expect(refusalOf(await register(stolen, second))).toBe('409 permission-owned-by-other-service')
    expect((await register({ ...stolen, permissions: [permission('other:a:b')] }, second)).body).toMatchObject({
      created: ['other:a:b'],
    })
    expect((await register({ serviceId: 'third', permissions: [permission('third:a:b')] }, first)).status).toBe(200)
    const role = await create({ permissions: ['derm:images:*'] })
    expect([role.status, role.body]).toEqual([201, expect.objectContaining({ permissions: ['derm:images:*'] })])
    expect(refusalOf(await create({ permissions: ['derm:images:write'] }))).toBe(
      '400 unknown-permission /permissions/0',
    )
  })

  test.each(['a:b', 'users:admin', 'a:b:c:d', 'A:b:c', 'a:*:c', '*:b:c', 'a:b:c*', 'a:b:', '1:b:c', 'a:b:c\n'])(
    'refuses the permission %j',
    async (name) => {
      const body = { serviceId: 'grammar', permissions: [permission('a:b:c'), permission(name)] }
      expect(refusalOf(await register(body, await registrar()))).toBe('400 validation-failed /permissions/1/permission')
    },
  )

  test('is for platform clients with users:permissions, takes 1 to 500 distinct permissions and no others', async () => {
    const headers = await registrar()
    const body = { serviceId: 'many', permissions: [permission('many:a:b')] }
    for (const scopes of [[], ['users:admin', 'auth:admin']])
      expect(refusalOf(await register(body, await api.token(null, scopes)))).toBe('403 insufficient-scope')
    expect(refusalOf(await register(body, clinicAdmin))).toBe('403 insufficient-scope')
    expect(refusalOf(await register(body, await registrar(clinic.orgId)))).toBe('403 platform-client-required')
    const listed = (count: number) => Array.from({ length: count }, (_, place) => permission(`many:a:b${place}`))
    for (const permissions of [[], listed(501)])
      expect(refusalOf(await register({ ...body, permissions }, headers))).toBe('400 validation-failed /permissions')
    const twice = [permission('many:a:b'), permission('many:a:b')]
    expect(refusalOf(await register({ ...body, permissions: twice }, headers))).toBe(
      '400 validation-failed /permissions/1/permission',
    )
    expect((await register({ ...body, permissions: listed(500) }, headers)).status).toBe(200)
  })
})
