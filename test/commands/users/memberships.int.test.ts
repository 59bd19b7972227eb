import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  changeStatus,
  givenMember,
  givenOrganisation,
  givenUser,
  revoke,
  type GivenMembership,
  type GivenOrganisation,
} from '../../read-api/users/given-users.ts'
import { users } from '../../../streams/user/aggregate.ts'
import type { UserEvent } from '../../../streams/user/events.ts'
import { bootstrap, openUsersApi, type UsersApi, type UsersProcess } from '../../read-api/users/users-api.ts'
import { administratorOf, refusalOf } from './write-callers.ts'

type Headers = Readonly<Record<string, string>>
type Member = Pick<GivenMembership, 'userId' | 'membershipId'>

let api: UsersApi
let one: UsersProcess
let clinic: GivenOrganisation
let hospital: GivenOrganisation
let clinicAdmin: Headers
let hospitalAdmin: Headers

beforeAll(async () => {
  api = await openUsersApi()
  one = await api.startProcess()
  clinic = await givenOrganisation(api, api.world.orgId)
  hospital = await givenOrganisation(api)
  clinicAdmin = await administratorOf(api, clinic)
  hospitalAdmin = await administratorOf(api, hospital)
  await givenMember(api, clinic, clinic.administrator)
})
afterAll(() => api.close())

const add = (userId: string, body: object, headers: Headers = bootstrap) =>
  one.call('POST', `/admin/users/${userId}/memberships`, body, headers)
const pathOf = ({ userId, membershipId }: Member) => `/admin/users/${userId}/memberships/${membershipId}`
const change = (member: Member, roleId: string, headers: Headers = clinicAdmin) =>
  one.call('PATCH', pathOf(member), { roleId }, headers)
const remove = (member: Member, headers: Headers = clinicAdmin) =>
  one.call('DELETE', pathOf(member), undefined, headers)
const grant = (member: Member, productId: unknown, headers: Headers = clinicAdmin) =>
  one.call('POST', `${pathOf(member)}/products`, { productId }, headers)
const withdraw = (member: Member, productId: string, headers: Headers = clinicAdmin) =>
  one.call('DELETE', `${pathOf(member)}/products/${encodeURIComponent(productId)}`, undefined, headers)
const keyed = (headers: Headers = bootstrap) => ({ ...headers, 'idempotency-key': randomUUID() })

describe('POST memberships', () => {
  test('answers 201 with the membership and the Location of the user', async () => {
    const { userId } = await givenUser(api)
    const headers = keyed()
    const body = { organisationId: clinic.orgId, roleId: clinic.administrator }
    const answer = await add(userId, body, headers)
    expect(answer).toMatchObject({
      status: 201,
      headers: { location: `/v1/admin/users/${userId}` },
      body: { userId, ...body, role: { name: 'Administrator' }, products: [] },
    })
    const again = await add(userId, body, headers)
    expect([again.status, again.body, again.headers['idempotency-replayed']]).toEqual([201, answer.body, 'true'])
    expect(refusalOf(await add(userId, { organisationId: clinic.orgId }, headers))).toBe('409 idempotency-key-reused')
    expect(refusalOf(await add(userId, body))).toBe('409 membership-exists')
    const { id: membershipId } = answer.body as { id: string }
    expect((await remove({ userId, membershipId }, bootstrap)).status).toBe(204)
    expect(refusalOf(await add(userId, body, headers))).toBe('409 idempotency-key-reused')
    expect((await add(userId, { organisationId: clinic.orgId })).body).toMatchObject({ roleId: clinic.clinician })
  })

  test('refuses foreign and unknown roles alike, and an organisation without a default role', async () => {
    const { userId } = await givenUser(api)
    for (const roleId of [hospital.clinician, randomUUID()])
      expect(refusalOf(await add(userId, { organisationId: clinic.orgId, roleId }))).toBe(
        '400 role-organisation-mismatch /roleId',
      )
    expect(refusalOf(await add(userId, { organisationId: randomUUID() }))).toBe('400 no-default-role')
    expect(refusalOf(await add(userId, { organisationId: 'x' }))).toBe('400 validation-failed /organisationId')
  })

  test('of a second organisation is for platform callers, and shows other callers no user', async () => {
    const member = await givenMember(api, hospital)
    const body = { organisationId: clinic.orgId }
    expect(refusalOf(await add(member.userId, body, clinicAdmin))).toBe('404 not-found')
    expect(refusalOf(await add(randomUUID(), body, clinicAdmin))).toBe('404 not-found')
    expect(refusalOf(await add(member.userId, body, hospitalAdmin))).toBe('404 not-found')
    expect(refusalOf(await add(randomUUID(), body))).toBe('404 not-found')
    expect(refusalOf(await add(member.userId, body, await api.token(null)))).toBe('403 actor-context-missing')
    expect((await add(member.userId, body)).status).toBe(201)
    expect(refusalOf(await add(member.userId, body, clinicAdmin))).toBe('409 membership-exists')
  })

  test('of an erased user is a 410', async () => {
    const member = await givenMember(api, clinic)
    await changeStatus(api, member, 'UserDeactivated', [clinic.orgId])
    await changeStatus(api, member, 'UserErasureStarted', [clinic.orgId])
    expect(refusalOf(await add(member.userId, { organisationId: clinic.orgId }))).toBe('410 user-erased')
  })
})

describe('PATCH and DELETE memberships', () => {
  test('change the role, and keep the last administrator', async () => {
    const practice = await givenOrganisation(api)
    const headers = await administratorOf(api, practice)
    const member = await givenMember(api, practice)
    expect((await change(member, practice.administrator, headers)).body).toMatchObject({
      id: member.membershipId,
      role: { id: practice.administrator, name: 'Administrator' },
    })
    expect((await change(member, practice.administrator, headers)).status).toBe(200)
    expect(refusalOf(await change(member, practice.clinician, headers))).toBe('409 last-administrator')
    expect(refusalOf(await remove(member, headers))).toBe('409 last-administrator')
    const second = await givenMember(api, practice, practice.administrator)
    const both = await Promise.all([change(member, practice.clinician, headers), remove(second, headers)])
    expect(both.map(({ status }) => status).filter((status) => status === 409)).toHaveLength(1)
    for (const roleId of [hospital.clinician, randomUUID()])
      expect(refusalOf(await change(member, roleId, headers))).toBe('400 role-organisation-mismatch /roleId')
  })

  test('removes the membership once, and then it is unknown', async () => {
    const member = await givenMember(api, clinic)
    expect(await remove(member)).toMatchObject({ status: 204, body: null })
    expect(refusalOf(await remove(member))).toBe('404 not-found')
    expect(refusalOf(await change(member, clinic.clinician))).toBe('404 not-found')
    expect(refusalOf(await one.get(`/v1/admin/users/${member.userId}`, clinicAdmin))).toBe('404 not-found')
    expect((await one.get(`/v1/admin/users/${member.userId}`)).status).toBe(200)
  })

  test('completes a removal that the organisation has recorded already', async () => {
    const member = await givenMember(api, clinic)
    await revoke(api, member)
    expect(refusalOf(await change(member, clinic.administrator))).toBe('404 not-found')
    expect((await one.call('PATCH', `/admin/users/${member.userId}`, { displayName: 'Jo' }, clinicAdmin)).status).toBe(
      200,
    )
    expect((await remove(member)).status).toBe(204)
  })

  test('of another organisation answer as unknown ones, also of a shared user', async () => {
    const shared = await givenMember(api, clinic)
    const elsewhere = await givenMember(api, hospital, hospital.clinician, shared)
    const foreign = await givenMember(api, hospital)
    for (const member of [
      elsewhere,
      foreign,
      { ...shared, membershipId: randomUUID() },
      { ...shared, membershipId: 'x' },
    ]) {
      const answers = [
        await change(member, clinic.clinician),
        await remove(member),
        await grant(member, 'p'),
        await withdraw(member, 'p'),
      ]
      expect(answers.map(refusalOf)).toEqual(answers.map(() => '404 not-found'))
    }
    expect((await remove(shared)).status).toBe(204)
    expect((await change(elsewhere, hospital.administrator, bootstrap)).status).toBe(200)
  })
})

describe('products', () => {
  test.each(['.', '..'])('cannot be named %s, which no path has as a segment', async (productId) => {
    const member = await givenMember(api, clinic)
    expect(refusalOf(await grant(member, productId))).toBe('400 validation-failed /productId')
    expect((await grant(member, `${productId}a`)).status).toBe(201)
  })

  test('are granted once and revoked once', async () => {
    const member = await givenMember(api, clinic)
    const headers = keyed(clinicAdmin)
    const first = await grant(member, 'derm/ü 1', headers)
    expect(first).toMatchObject({
      status: 201,
      headers: { location: `/v1/admin/users/${member.userId}` },
      body: { orgMembershipId: member.membershipId, productId: 'derm/ü 1' },
    })
    const again = await grant(member, 'derm/ü 1', headers)
    expect([again.status, again.body]).toEqual([201, first.body])
    const found = await grant(member, 'derm/ü 1')
    expect([found.status, found.body]).toEqual([200, first.body])
    expect(refusalOf(await grant(member, 'other', headers))).toBe('409 idempotency-key-reused')
    expect((await withdraw(member, 'derm/ü 1')).status).toBe(204)
    expect(refusalOf(await withdraw(member, 'derm/ü 1'))).toBe('404 not-found')
    // A late repeat must not give back what was revoked meanwhile.
    expect(refusalOf(await grant(member, 'derm/ü 1', headers))).toBe('409 idempotency-key-reused')
    expect((await grant(member, 'derm/ü 1')).status).toBe(201)
  })

  test('that were granted already are not given back by a late repeat of the request that found them', async () => {
    const member = await givenMember(api, clinic)
    const first = await grant(member, 'derm')
    const headers = keyed(clinicAdmin)
    for (const replayed of [undefined, 'true']) {
      const found = await grant(member, 'derm', headers)
      expect([found.status, found.body, found.headers['idempotency-replayed']]).toEqual([200, first.body, replayed])
    }
    expect(refusalOf(await grant(member, 'other', headers))).toBe('409 idempotency-key-reused')
    expect((await withdraw(member, 'derm')).status).toBe(204)
    expect(refusalOf(await grant(member, 'derm', headers))).toBe('409 idempotency-key-reused')
    expect((await one.get(`/v1/admin/users/${member.userId}`)).body).toMatchObject({ memberships: [{ products: [] }] })
  })

  test('are granted and revoked with the role of the membership at that moment', async () => {
    const member = await givenMember(api, clinic)
    await grant(member, 'derm')
    expect((await change(member, clinic.administrator)).status).toBe(200)
    await withdraw(member, 'derm')
    const roles: unknown[] = []
    for await (const { type, data } of api.world.store.readStream<UserEvent>(users.of(member.userId).stream))
      if (type.startsWith('UserProductAccess')) roles.push('roleId' in data ? data.roleId : undefined)
    expect(roles).toEqual([clinic.clinician, clinic.administrator])
  })

  test('have an id of 1 to 255 characters', async () => {
    const member = await givenMember(api, clinic)
    for (const productId of ['', 'x'.repeat(256), 7])
      expect(refusalOf(await grant(member, productId))).toBe('400 validation-failed /productId')
    expect((await grant(member, 'x'.repeat(255))).status).toBe(201)
  })
})
