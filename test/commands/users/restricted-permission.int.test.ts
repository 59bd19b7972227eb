import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  givenMember,
  givenOrganisation,
  type GivenMembership,
  type GivenOrganisation,
} from '../../read-api/users/given-users.ts'
import { bootstrap, openUsersApi, unsigned, type UsersApi, type UsersProcess } from '../../read-api/users/users-api.ts'
import { newPerson, recordOf, refusalOf } from './write-callers.ts'

type Headers = Readonly<Record<string, string>>

let api: UsersApi
let one: UsersProcess
let clinic: GivenOrganisation
/** An actor with `users:admin` alone, and one who holds `auth:admin`, too. Both know their own user id. */
let lacking: Headers
let holding: Headers
let attacker: GivenMembership
let holder: GivenMembership

beforeAll(async () => {
  api = await openUsersApi()
  one = await api.startProcess()
  clinic = await givenOrganisation(api, api.world.orgId)
  holder = await givenMember(api, clinic, clinic.administrator)
  attacker = await givenMember(api, clinic)
  lacking = await actorOf(attacker, ['users:admin'])
  holding = await actorOf(holder, ['auth:admin', 'users:admin'])
})
afterAll(() => api.close())

function actorOf({ userId, organisationId }: GivenMembership, permissions: readonly string[]): Promise<Headers> {
  return api.actor(unsigned({ user_id: userId, org_id: organisationId, permissions }), organisationId)
}

const refusal = '403 permission-missing'
const userPath = ({ userId }: Pick<GivenMembership, 'userId'>) => `/admin/users/${userId}`
const memberPath = (member: GivenMembership) => `${userPath(member)}/memberships/${member.membershipId}`
const create = (more: object, headers: Headers) =>
  one.call('POST', '/admin/users', newPerson({ organisationId: clinic.orgId, ...more }), headers)
const patch = (member: GivenMembership, body: object, headers: Headers) =>
  one.call('PATCH', userPath(member), body, headers)
const move = (member: GivenMembership, roleId: string, headers: Headers) =>
  one.call('PATCH', memberPath(member), { roleId }, headers)
const createRole = (more: object, headers: Headers) =>
  one.call('POST', '/admin/roles', { organisationId: clinic.orgId, name: randomUUID(), ...more }, headers)
const patchRole = (roleId: string, body: object, headers: Headers) =>
  one.call('PATCH', `/admin/roles/${roleId}`, body, headers)
const freshAddress = () => ({ email: `${randomUUID()}@example.org` })

describe('assigning a role that holds auth:admin', () => {
  test('is refused to whoever lacks it: a promotion of the own user, a new user', async () => {
    const answer = await move(attacker, clinic.administrator, lacking)
    expect([refusalOf(answer), answer.body]).toEqual([
      refusal,
      expect.objectContaining({ required_permission: 'auth:admin' }),
    ])
    expect(refusalOf(await create({ roleId: clinic.administrator }, lacking))).toBe(refusal)
  })

  test('by adding a membership is for platform callers, because others do not see the user', async () => {
    const { userId } = await givenMember(api, await givenOrganisation(api))
    const body = { organisationId: clinic.orgId, roleId: clinic.administrator }
    const add = (headers: Headers) => one.call('POST', `/admin/users/${userId}/memberships`, body, headers)
    for (const headers of [lacking, holding]) expect(refusalOf(await add(headers))).toBe('404 not-found')
    expect((await add(bootstrap)).status).toBe(201)
  })

  test('leaves no user, no address and no membership behind after the refusal', async () => {
    const { email } = freshAddress()
    expect(refusalOf(await create({ email, roleId: clinic.administrator }, lacking))).toBe(refusal)
    expect((await create({ email }, lacking)).status).toBe(201)
  })

  test('is open to its holders and to platform callers', async () => {
    for (const headers of [holding, bootstrap]) {
      expect((await create({ roleId: clinic.administrator }, headers)).status).toBe(201)
      const member = await givenMember(api, clinic)
      expect((await move(member, clinic.administrator, headers)).status).toBe(200)
      expect((await move(member, clinic.clinician, headers)).status).toBe(200)
    }
    expect((await create({ roleId: clinic.clinician }, lacking)).status).toBe(201)
  })

  test('counts a default role as named', async () => {
    const practice = await givenOrganisation(api)
    const member = await givenMember(api, practice, practice.administrator)
    expect((await patchRole(practice.administrator, { isDefault: true }, bootstrap)).status).toBe(200)
    const person = () => newPerson({ organisationId: practice.orgId })
    const [without, withIt] = [
      await actorOf(member, ['users:admin']),
      await actorOf(member, ['users:admin', 'auth:admin']),
    ]
    expect(refusalOf(await one.call('POST', '/admin/users', person(), without))).toBe(refusal)
    expect((await one.call('POST', '/admin/users', person(), withIt)).status).toBe(201)
  })
})

describe.each(['operations:read', 'operations:write'])('a role that holds %s', (permission) => {
  test('is made and given by platform callers only, and nobody else decides about its holders', async () => {
    for (const headers of [lacking, holding]) {
      const answer = await createRole({ permissions: [permission] }, headers)
      expect([refusalOf(answer), answer.body]).toEqual([
        refusal,
        expect.objectContaining({ required_permission: 'operations:write' }),
      ])
      expect(refusalOf(await patchRole(clinic.clinician, { permissions: [permission] }, headers))).toBe(refusal)
    }
    const made = await createRole({ permissions: [permission] }, bootstrap)
    const { id: roleId } = made.body as { id: string }
    const operator = await givenMember(api, clinic, roleId)
    const member = await givenMember(api, clinic)
    for (const headers of [lacking, holding]) {
      expect(refusalOf(await create({ roleId }, headers))).toBe(refusal)
      expect(refusalOf(await move(member, roleId, headers))).toBe(refusal)
      expect(refusalOf(await move(operator, clinic.clinician, headers))).toBe(refusal)
      expect(refusalOf(await patch(operator, freshAddress(), headers))).toBe(refusal)
      expect(refusalOf(await patchRole(roleId, { isDefault: true }, headers))).toBe(refusal)
      expect(refusalOf(await patchRole(roleId, { permissions: [] }, headers))).toBe(refusal)
      expect(refusalOf(await one.call('DELETE', memberPath(operator), undefined, headers))).toBe(refusal)
    }
    expect((await patch(operator, freshAddress(), bootstrap)).status).toBe(200)
    expect((await move(operator, clinic.clinician, bootstrap)).status).toBe(200)
    expect((await move(member, roleId, bootstrap)).status).toBe(200)
  })
})

describe('a role that holds auth:admin', () => {
  test('is made by platform callers only, and gets auth:admin from them only', async () => {
    for (const headers of [lacking, holding]) {
      expect(refusalOf(await createRole({ permissions: ['auth:admin'] }, headers))).toBe(refusal)
      expect(refusalOf(await patchRole(clinic.clinician, { permissions: ['auth:admin'] }, headers))).toBe(refusal)
    }
  })

  test('changed while it is assigned, decides about the next assignment', async () => {
    const { id: roleId } = (await createRole({ permissions: ['users:admin'] }, lacking)).body as { id: string }
    const member = await givenMember(api, clinic, roleId)
    expect((await patch(member, freshAddress(), lacking)).status).toBe(200)
    expect((await patchRole(roleId, { permissions: ['users:admin', 'auth:admin'] }, bootstrap)).status).toBe(200)
    expect(refusalOf(await patch(member, freshAddress(), lacking))).toBe(refusal)
    expect(refusalOf(await move(attacker, roleId, lacking))).toBe(refusal)
    expect(refusalOf(await patchRole(roleId, { permissions: ['users:admin'] }, lacking))).toBe(refusal)
    expect((await patchRole(roleId, { permissions: ['users:admin'] }, holding)).status).toBe(200)
    expect(refusalOf(await patchRole(roleId, { permissions: ['users:admin', 'auth:admin'] }, lacking))).toBe(refusal)
    expect((await patch(member, freshAddress(), lacking)).status).toBe(200)
  })

  test('becomes the default by its holders only, because everybody assigns the default', async () => {
    expect(refusalOf(await patchRole(clinic.administrator, { isDefault: true }, lacking))).toBe(refusal)
    expect((await patchRole(clinic.administrator, { isDefault: true }, holding)).status).toBe(200)
    expect((await patchRole(clinic.clinician, { isDefault: true }, lacking)).status).toBe(200)
    expect((await patchRole(clinic.administrator, { description: 'Renamed' }, lacking)).status).toBe(200)
  })
})

describe('address, password and status of a holder of auth:admin', () => {
  const acts = (member: GivenMembership, headers: Headers) =>
    [
      () => patch(member, freshAddress(), headers),
      () => one.call('POST', `${userPath(member)}/reset-password`, undefined, headers),
      () => patch(member, { status: 'suspended' }, headers),
      () => patch(member, { status: 'active' }, headers),
      () => one.call('DELETE', userPath(member), undefined, headers),
      () => one.call('POST', `${userPath(member)}/erase`, undefined, headers),
    ] as const

  test('are changed by holders and platform callers only, and so is the end of its membership', async () => {
    const member = await givenMember(api, clinic, clinic.administrator)
    for (const act of acts(member, lacking).filter((_, place) => place !== 3))
      expect(refusalOf(await act())).toBe(refusal)
    expect(refusalOf(await move(member, clinic.clinician, lacking))).toBe(refusal)
    expect(refusalOf(await one.call('DELETE', memberPath(member), undefined, lacking))).toBe(refusal)
    // The rest of the profile is free, and so is what changes nothing.
    expect((await patch(member, { displayName: 'Joan', status: 'active' }, lacking)).status).toBe(200)
    const done: number[] = []
    for (const act of acts(member, holding)) done.push((await act()).status)
    expect(done).toEqual([200, 202, 200, 200, 200, 200])
  })

  test('stay closed while the holder is suspended or deactivated: nobody lacking it restores the user', async () => {
    for (const status of ['suspended', 'deactivated']) {
      const member = await givenMember(api, clinic, clinic.administrator)
      expect((await patch(member, { status }, holding)).status).toBe(200)
      expect(refusalOf(await patch(member, { status: 'active' }, lacking))).toBe(refusal)
      expect(refusalOf(await patch(member, freshAddress(), lacking))).toBe(refusal)
      expect((await patch(member, { status: 'active' }, holding)).status).toBe(200)
    }
  })

  test('of a holder in another organisation are for platform callers, and the answer names no permission', async () => {
    const hospital = await givenOrganisation(api)
    const shared = await givenMember(api, clinic)
    await givenMember(api, hospital, hospital.administrator, shared)
    for (const headers of [lacking, holding])
      for (const act of acts(shared, headers)) expect(refusalOf(await act())).toBe('409 user-shared')
    const reset = await one.call('POST', `${userPath(shared)}/reset-password`, undefined, bootstrap)
    expect(reset.status).toBe(202)
    const ordinary = await givenMember(api, clinic)
    await givenMember(api, hospital, hospital.clinician, ordinary)
    expect((await one.call('POST', `${userPath(ordinary)}/reset-password`, undefined, lacking)).status).toBe(202)
  })
})

describe('other ways', () => {
  test('access to products is no permission, and reaches the own organisation only', async () => {
    const before = await contextOf(attacker)
    expect((await one.call('POST', `${memberPath(attacker)}/products`, { productId: 'derm' }, lacking)).status).toBe(
      201,
    )
    expect(await contextOf(attacker)).toEqual({ ...before, product_ids: ['derm'] })
    const foreign = await givenMember(api, await givenOrganisation(api))
    const granted = await one.call('POST', `${memberPath(foreign)}/products`, { productId: 'derm' }, lacking)
    expect(refusalOf(granted)).toBe('404 not-found')
  })

  test('a user changes nothing but the own name, language and contact preferences', async () => {
    for (const body of [{ status: 'active' }, freshAddress(), { roleId: clinic.administrator }, { userType: 'admin' }])
      expect(refusalOf(await one.call('PATCH', '/users/me', body, lacking))).toMatch(/^400 validation-failed/)
  })

  test('the type admin of a user holds nothing', async () => {
    const { id } = recordOf(await create({ userType: 'admin', roleId: clinic.clinician }, lacking))
    const { permissions } = await contextOf({ userId: id, organisationId: clinic.orgId })
    expect(permissions).not.toContain('users:admin')
  })

  async function contextOf({ userId, organisationId }: Pick<GivenMembership, 'userId' | 'organisationId'>) {
    const answer = await one.get(`/v1/users/${userId}/context`, await api.token(organisationId))
    expect(answer.status).toBe(200)
    const { permissions, product_ids } = answer.body as { permissions: string[]; product_ids: string[] }
    return { permissions, product_ids }
  }
})
