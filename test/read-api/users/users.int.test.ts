import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { platformPermissions } from '../../../commands/users/permissions.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { organisationRoles } from '../../../streams/organisation-roles/aggregate.ts'
import { permissions } from '../../../streams/permission/aggregate.ts'
import { at, ids } from '../../streams/facts.ts'
import { patientAccount, permissionFact, roleFact, userFact } from '../../streams/user-facts.ts'
import {
  changeStatus,
  givenMember,
  givenOrganisation,
  givenUser,
  revoke,
  type GivenMembership,
  type GivenOrganisation,
  type GivenUser,
} from './given-users.ts'
import { openUsersApi, outcomeOf, unsigned, type Answer, type UsersApi, type UsersProcess } from './users-api.ts'

let api: UsersApi
let one: UsersProcess
let clinic: GivenOrganisation
let hospital: GivenOrganisation
/** A member of both organisations, one of the hospital only, and a user without any. */
let shared: GivenMembership
let foreign: GivenMembership
let loner: GivenUser
let administrator: GivenMembership
let clinicAdmin: Readonly<Record<string, string>>
let hospitalAdmin: Readonly<Record<string, string>>

beforeAll(async () => {
  api = await openUsersApi()
  one = await api.startProcess()
  clinic = await givenOrganisation(api, api.world.orgId)
  hospital = await givenOrganisation(api)
  shared = await givenMember(api, clinic)
  await givenMember(api, hospital, hospital.administrator, shared)
  foreign = await givenMember(api, hospital)
  loner = await givenUser(api)
  administrator = await givenMember(api, clinic, clinic.administrator)
  clinicAdmin = await adminOf(clinic)
  hospitalAdmin = await adminOf(hospital)
  await api.append(permissions.of(), permissionFact('PermissionsRegistered'))
})
afterAll(() => api.close())

function adminOf({ orgId }: GivenOrganisation) {
  return api.actor(unsigned({ user_id: randomUUID(), org_id: orgId, permissions: ['users:admin'] }), orgId)
}

function idsOf({ body }: Answer): string[] {
  return (body as { data: { id: string }[] }).data.map(({ id }) => id)
}

function organisationsOf({ body }: Answer): string[] {
  return (body as { memberships: { organisationId: string }[] }).memberships.map((each) => each.organisationId)
}

describe('a user', () => {
  const path = (id: string) => `/v1/user-management/admin/users/${id}`

  test('has the profile, and the memberships that the caller may see', async () => {
    await api.append(
      users.of(shared.userId),
      userFact('UserProductAccessGranted', { ...membershipOf(shared), productId: 'z' }),
      userFact('UserProductAccessGranted', { ...membershipOf(shared), productId: ids.product }),
    )
    const { status, body } = await one.get(path(shared.userId), clinicAdmin)
    const { createdAt, updatedAt, ...practitioner } = userFact('UserCreated').data.practitionerProfile ?? {}
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        id: shared.userId,
        externalId: shared.externalId,
        email: 'canary-address@example.org',
        displayName: 'canary-name',
        locale: 'en-GB',
        userType: 'clinician',
        status: 'active',
        createdAt: at(1),
        updatedAt: at(1),
        memberships: [
          {
            id: shared.membershipId,
            userId: shared.userId,
            organisationId: clinic.orgId,
            roleId: clinic.clinician,
            role: { id: clinic.clinician, name: 'Clinician' },
            products: [ids.product, 'z'],
            createdAt: at(1),
          },
        ],
        practitionerProfile: { ...practitioner, userId: shared.userId, createdAt, updatedAt },
      },
    })
    expect(organisationsOf(await one.get(path(shared.userId), hospitalAdmin))).toEqual([hospital.orgId])
    const all = organisationsOf(await one.get(path(shared.userId)))
    expect(all.toSorted()).toEqual([clinic.orgId, hospital.orgId].toSorted())
    expect(organisationsOf(await one.get(`${path(shared.userId)}?orgId=${hospital.orgId}`))).toEqual([hospital.orgId])
  })

  test('of no or another organisation does not exist for callers of an organisation', async () => {
    for (const id of [foreign.userId, loner.userId, randomUUID(), 'no-id'])
      expect(outcomeOf(await one.get(path(id), clinicAdmin))).toBe('404 not-found')
    expect(outcomeOf(await one.get(path(loner.userId)))).toBe('200')
    expect(outcomeOf(await one.get(`${path(foreign.userId)}?org_id=${hospital.orgId}`, clinicAdmin))).toBe(
      '404 not-found',
    )
  })

  test('needs the permission users:admin', async () => {
    const nobody = await api.actor(unsigned({ user_id: 'u', org_id: clinic.orgId, permissions: ['auth:admin'] }))
    expect(outcomeOf(await one.get(path(shared.userId), nobody))).toBe('403 permission-missing')
    expect(outcomeOf(await one.get(path(shared.userId), await api.token(clinic.orgId)))).toBe(
      '403 actor-context-missing',
    )
  })

  test('has an ETag that changes with the user and with the name of a role', async () => {
    const member = await givenMember(api, clinic)
    const etags = [(await one.get(path(member.userId), clinicAdmin)).etag]
    const changed = { userId: member.userId, organisationIds: [clinic.orgId] }
    await api.append(users.of(member.userId), userFact('UserChanged', changed))
    etags.push((await one.get(path(member.userId), clinicAdmin)).etag)
    const renamed = { roleId: clinic.clinician, organisationId: clinic.orgId, name: 'Doctor' }
    await api.append(organisationRoles.of(clinic.orgId), roleFact('RoleChanged', renamed))
    const { etag } = await one.get(path(member.userId), clinicAdmin)
    expect(etags.every((each) => /^"\d+\.\d+\.[\da-f-]{36}"$/.test(String(each)))).toBe(true)
    expect(new Set([...etags, etag]).size).toBe(3)
    const unchanged = await one.get(path(member.userId), { ...clinicAdmin, 'if-none-match': String(etag) })
    expect(unchanged.status).toBe(304)
    const back = { roleId: clinic.clinician, organisationId: clinic.orgId }
    await api.append(organisationRoles.of(clinic.orgId), roleFact('RoleChanged', back))
  })

  test('that was erased is a 410 for former organisations and platform callers, and a 404 for others', async () => {
    const member = await givenMember(api, clinic)
    await changeStatus(api, member, 'UserDeactivated', [clinic.orgId])
    await changeStatus(api, member, 'UserErasureStarted', [clinic.orgId])
    await revoke(api, member)
    const url = `/v1/users/by-external-id/${encodeURIComponent(member.externalId)}`
    expect(outcomeOf(await one.get(url, await api.token(null)))).toBe('410 user-erased')
    for (const each of [path(member.userId), url, `/v1/users/${member.userId}/context`]) {
      expect(outcomeOf(await one.get(each, clinicAdmin))).toBe('410 user-erased')
      expect(outcomeOf(await one.get(each, hospitalAdmin))).toBe('404 not-found')
    }
    expect(outcomeOf(await one.get(path(member.userId)))).toBe('410 user-erased')
    expect(idsOf(await one.get('/v1/admin/users?limit=200', clinicAdmin))).not.toContain(member.userId)
  })
})

describe('the list of users', () => {
  const list = async (query = '', headers = clinicAdmin) => idsOf(await one.get(`/v1/admin/users${query}`, headers))

  test('has the members of the organisation, or everybody for platform callers', async () => {
    const own = await list()
    expect(own).toEqual(expect.arrayContaining([shared.userId, administrator.userId]))
    expect(own).not.toContain(foreign.userId)
    expect(own).not.toContain(loner.userId)
    const everybody = idsOf(await one.get('/v1/user-management/v1/admin/users?limit=200'))
    expect(everybody).toEqual(expect.arrayContaining([shared.userId, foreign.userId, loner.userId]))
    expect(new Set(everybody).size).toBe(everybody.length)
  })

  test('takes each filter under each of its names', async () => {
    for (const name of ['organisationId', 'org', 'org_id', 'orgId']) {
      const found = idsOf(await one.get(`/v1/admin/users?${name}=${hospital.orgId}`))
      expect([name, found.toSorted()]).toEqual([name, [shared.userId, foreign.userId].toSorted()])
      expect(outcomeOf(await one.get(`/v1/admin/users?${name}=${hospital.orgId}`, clinicAdmin))).toBe('404 not-found')
    }
    for (const name of ['roleId', 'role']) {
      expect(await list(`?${name}=${clinic.administrator}`)).toEqual([administrator.userId])
      expect(await list(`?${name}=${hospital.administrator}`)).toEqual([])
    }
    for (const name of ['userType', 'type']) {
      expect(await list(`?${name}=clinician`)).toContain(shared.userId)
      expect(await list(`?${name}=patient`)).toEqual([])
    }
    expect(outcomeOf(await one.get('/v1/admin/users?type=patient&userType=admin', clinicAdmin))).toBe(
      '400 validation-failed',
    )
    const suspended = await givenMember(api, clinic)
    await changeStatus(api, suspended, 'UserSuspended', [clinic.orgId])
    expect(await list('?status=suspended')).toEqual([suspended.userId])
  })

  test('is read by pages, in camelCase', async () => {
    const whole = await list('?limit=200')
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const { body } = await one.get(`/v1/admin/users?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`, clinicAdmin)
      const page = body as { data: { id: string }[]; nextCursor: string | null }
      seen.push(...page.data.map(({ id }) => id))
      cursor = page.nextCursor
    }
    expect(seen).toEqual(whole)
  })
})

describe('look-ups', () => {
  test('by the subject of the identity provider follow the same visibility', async () => {
    const url = `/v1/users/by-external-id/${encodeURIComponent(shared.externalId)}`
    expect(organisationsOf(await one.get(url, await api.token(clinic.orgId)))).toEqual([clinic.orgId])
    expect(organisationsOf(await one.get(url, await api.token(null)))).toHaveLength(2)
    const unseen = `/v1/users/by-external-id/${encodeURIComponent(foreign.externalId)}`
    expect(outcomeOf(await one.get(unseen, await api.token(clinic.orgId)))).toBe('404 not-found')
  })

  test('by the subject of the identity provider take each subject that a user can have', async () => {
    for (const externalId of ['s'.repeat(255), '\u{1D4B3}'.repeat(255)]) {
      const userId = randomUUID()
      await api.append(users.of(userId), userFact('UserCreated', { userId, externalId }))
      const url = `/v1/users/by-external-id/${encodeURIComponent(externalId)}`
      expect(await one.get(url, await api.token(null))).toMatchObject({ status: 200, body: { id: userId } })
      expect(outcomeOf(await one.get(`${url}s`, await api.token(null)))).toBe('404 not-found')
    }
  })

  test('by the subject of the identity provider show the address to clients with users:contact only', async () => {
    const url = `/v1/users/by-external-id/${encodeURIComponent(shared.externalId)}`
    for (const orgId of [null, clinic.orgId]) {
      const without = await one.get(url, await api.token(orgId, ['users:admin']))
      expect(without).toMatchObject({ status: 200, body: { id: shared.userId, email: null } })
      const known = { 'if-none-match': String(without.etag) }
      const withIt = await one.get(url, { ...(await api.token(orgId, ['users:contact'])), ...known })
      expect(withIt).toMatchObject({ status: 200, body: { email: 'canary-address@example.org' } })
    }
    // The header of an actor adds no scope.
    expect((await one.get(url, clinicAdmin)).body).toMatchObject({ email: null })
  })

  test('of a contact need the scope users:contact and a platform client', async () => {
    const url = `/v1/users/${foreign.userId}/contact`
    expect(await one.get(url, await api.token(null, ['users:contact']))).toMatchObject({
      status: 200,
      body: {
        userId: foreign.userId,
        email: 'canary-address@example.org',
        displayName: 'canary-name',
        locale: 'en-GB',
        status: 'active',
      },
    })
    expect(outcomeOf(await one.get(url, await api.token(null)))).toBe('403 insufficient-scope')
    expect(outcomeOf(await one.get(url, await api.token(hospital.orgId, ['users:contact'])))).toBe(
      '403 platform-client-required',
    )
  })

  test('of a patient find the only active member, and nobody if there are two', async () => {
    const reader = await api.token(null, ['users:contact'])
    const patientId = randomUUID()
    const url = `/v1/users/by-clinical-patient/${patientId}/contact`
    const inClinic = `${url}?org_id=${clinic.orgId}`
    const changed = { patientAccount: patientAccount(patientId), members: ['patientAccount'] }
    const become = async (user: GivenUser) =>
      api.append(users.of(user.userId), userFact('UserChanged', { ...changed, userId: user.userId }))
    expect(outcomeOf(await one.get(inClinic, reader))).toBe('404 not-found')
    const patient = await givenMember(api, clinic)
    const twin = await givenMember(api, clinic)
    const abroad = await givenMember(api, hospital)
    for (const user of [patient, twin, abroad]) await become(user)
    expect(outcomeOf(await one.get(inClinic, reader))).toBe('404 not-found')
    await changeStatus(api, twin, 'UserDeactivated', [clinic.orgId])
    const current = { ...reader, 'cache-control': 'no-cache' }
    for (const either of [inClinic, inClinic.replace(patientId, patientId.toUpperCase())])
      expect(await one.get(either, current)).toMatchObject({ status: 200, body: { userId: patient.userId } })
    expect(outcomeOf(await one.get(url, reader))).toBe('400 org-required')
    expect(outcomeOf(await one.get(url, await api.token(clinic.orgId, ['users:contact'])))).toBe(
      '403 platform-client-required',
    )
  })

  test('of the own user need an actor context', async () => {
    const context = unsigned({ user_id: administrator.userId, org_id: clinic.orgId, permissions: [] })
    const { status, body } = await one.get('/v1/users/me', await api.actor(context))
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        id: administrator.userId,
        memberships: [{ organisationId: clinic.orgId }],
        roles: [{ id: clinic.administrator, name: 'Administrator' }],
        permissions: ['auth:admin', 'consents:admin', 'notifications:admin', 'users:admin'],
      },
    })
    expect(outcomeOf(await one.get('/v1/users/me', await api.token(clinic.orgId)))).toBe('403 actor-context-missing')
    const outside = unsigned({ user_id: foreign.userId, org_id: clinic.orgId, permissions: [] })
    expect(outcomeOf(await one.get('/v1/users/me', await api.actor(outside)))).toBe('404 not-found')
    const noId = unsigned({ user_id: 'jane', org_id: clinic.orgId, permissions: [] })
    expect(outcomeOf(await one.get('/v1/users/me', await api.actor(noId)))).toBe('404 not-found')
  })
})

test('the version of a user tells apart the organisations of the actor, whose memberships it shows', async () => {
  const [left, right] = [await givenOrganisation(api), await givenOrganisation(api)]
  const user = await givenMember(api, left)
  await givenMember(api, right, right.clinician, user)
  const answerIn = async ({ orgId }: GivenOrganisation, headers = {}) => {
    const claims = { user_id: randomUUID(), org_id: orgId, permissions: ['users:admin'] }
    return one.get(`/v1/admin/users/${user.userId}`, { ...(await api.actor(unsigned(claims), null)), ...headers })
  }
  const first = await answerIn(left)
  const known = { 'if-none-match': String(first.etag) }
  expect([organisationsOf(first), (await answerIn(left, known)).status]).toEqual([[left.orgId], 304])
  const second = await answerIn(right, known)
  expect([second.status, organisationsOf(second)]).toEqual([200, [right.orgId]])
})

test('the version of the own user tells apart the organisations of the actor, whose permissions it shows', async () => {
  const user = await givenMember(api, clinic)
  await givenMember(api, hospital, hospital.administrator, user)
  const answerIn = async ({ orgId }: GivenOrganisation) =>
    one.get('/v1/users/me', await api.actor(unsigned({ user_id: user.userId, org_id: orgId, permissions: [] }), null))
  const [inClinic, inHospital] = [await answerIn(clinic), await answerIn(hospital)]
  expect([inClinic.status, inHospital.status]).toEqual([200, 200])
  expect(inHospital.body).not.toEqual(inClinic.body)
  expect(inHospital.etag).not.toBe(inClinic.etag)
})

describe('roles and permissions', () => {
  test('of an organisation do not exist for another one', async () => {
    const listed = await one.get('/v1/admin/roles', clinicAdmin)
    expect(idsOf(listed).toSorted()).toEqual([clinic.clinician, clinic.administrator].toSorted())
    for (const name of ['organisationId', 'org_id'])
      expect(idsOf(await one.get(`/v1/admin/roles?${name}=${hospital.orgId}`))).toHaveLength(2)
    expect(outcomeOf(await one.get(`/v1/admin/roles/${hospital.clinician}`, clinicAdmin))).toBe('404 not-found')
    const { etag, body } = await one.get(`/v1/admin/roles/${clinic.administrator}`, clinicAdmin)
    expect(etag).toBe('"1"')
    expect(body).toEqual({
      id: clinic.administrator,
      organisationId: clinic.orgId,
      name: 'Administrator',
      description: 'Sees patients',
      isDefault: false,
      permissions: ['auth:admin', 'consents:admin', 'notifications:admin', 'users:admin'],
      createdAt: at(0),
      updatedAt: at(0),
    })
  })

  test('of the platform are known without registration', async () => {
    const texts = async (query = '') => {
      const { body } = await one.get(`/v1/permissions${query}`, await api.token(clinic.orgId))
      return (body as { data: { permission: string }[] }).data.map(({ permission }) => permission)
    }
    const reserved = platformPermissions.map(({ permission }) => permission)
    expect(reserved).toContain('human-review:decide')
    expect(await texts()).toEqual(['clinic:patients:read', ...reserved].toSorted())
    for (const name of ['service_id', 'serviceId']) {
      expect(await texts(`?${name}=platform`)).toEqual(reserved)
      expect(await texts(`?${name}=clinic`)).toEqual(['clinic:patients:read'])
      expect(await texts(`?${name}=none`)).toEqual([])
    }
  })
})

function membershipOf({ userId, membershipId, organisationId }: GivenMembership) {
  return { userId, membershipId, organisationId }
}
