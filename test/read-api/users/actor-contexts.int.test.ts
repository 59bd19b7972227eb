import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { organisationRoles } from '../../../streams/organisation-roles/aggregate.ts'
import { consentTypesProjector } from '../../../projections/consent/consent-types.projector.ts'
import { oauthClientsProjector } from '../../../projections/auth/oauth-clients.projector.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { execute } from '../../../engine/commands/execute.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { ids } from '../../streams/facts.ts'
import { roleFact, userFact } from '../../streams/user-facts.ts'
import {
  changeRole,
  changeStatus,
  givenMember,
  givenOrganisation,
  givenUser,
  revoke,
  type GivenMembership,
  type GivenOrganisation,
} from './given-users.ts'
import { openUsersApi, outcomeOf, serviceClient, unsigned, type UsersApi, type UsersProcess } from './users-api.ts'

let api: UsersApi
let clinic: GivenOrganisation
let administrator: GivenMembership

beforeAll(async () => {
  api = await openUsersApi({
    services: ['user-management', 'consent', 'auth'],
    moreReadModels: [consentTypesProjector, oauthClientsProjector],
  })
  clinic = await givenOrganisation(api, api.world.orgId)
})
afterAll(() => api.close())
beforeEach(async () => {
  administrator = await givenMember(api, clinic, clinic.administrator)
})

/** One route for each permission of the platform. */
const adminRoutes = ['/v1/admin/users', '/v1/admin/consent-types', '/v1/auth/clients']

/** A context that claims everything. */
const claiming = ({ userId, organisationId }: GivenMembership) =>
  unsigned({
    user_id: userId,
    org_id: organisationId,
    permissions: ['auth:admin', 'consents:admin', 'notifications:admin', 'users:admin'],
  })

async function outcome(process: UsersProcess, context: string, path = '/v1/admin/users'): Promise<string> {
  return outcomeOf(await process.get(path, await api.actor(context)))
}

async function tokenOf(process: UsersProcess, { userId }: GivenMembership): Promise<string> {
  const { body } = await process.get(`/v1/users/${userId}/context`, await api.token(clinic.orgId))
  return (body as { token: string }).token
}

describe('an actor context', () => {
  let one: UsersProcess
  beforeAll(async () => {
    one = await api.startProcess()
  })
  const contextOf = async (userId: string, query = '', orgId: string | null = clinic.orgId) =>
    one.get(`/v1/user-management/users/${userId}/context${query}`, await api.token(orgId))

  test('has the claims of the specification, and a token with the same', async () => {
    const { userId, membershipId, organisationId } = administrator
    const product = { userId, membershipId, organisationId, productId: ids.product }
    await api.append(users.of(userId), userFact('UserProductAccessGranted', product))
    const { status, body } = await contextOf(userId)
    const claims = {
      user_id: userId,
      external_user_id: administrator.externalId,
      display_name: 'canary-name',
      user_type: 'clinician',
      org_id: clinic.orgId,
      role: 'Administrator',
      permissions: ['auth:admin', 'consents:admin', 'notifications:admin', 'users:admin'],
      product_ids: [ids.product],
      practitioner: {
        professional_id: 'canary-professional-id',
        professional_id_type: 'GMC',
        speciality: 'canary-speciality',
      },
    }
    const issued_at = api.world.now().toISOString()
    const expires_at = new Date(Date.parse(issued_at) + 300_000).toISOString()
    expect({ status, body }).toEqual({
      status: 200,
      body: { ...claims, issued_at, expires_at, token: expect.any(String) },
    })
    const [header, payload] = (body as { token: string }).token
      .split('.', 2)
      .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as object)
    expect(header).toMatchObject({ alg: 'EdDSA', typ: 'actor-context+jwt' })
    const iat = Date.parse(issued_at) / 1000
    expect(payload).toEqual({ ...claims, iat, exp: iat + 300 })
  })

  test('needs an organisation unless there is only one', async () => {
    const other = await givenOrganisation(api)
    const { userId } = administrator
    expect(outcomeOf(await contextOf(userId, '', null))).toBe('200')
    await givenMember(api, other, other.clinician, administrator)
    expect(outcomeOf(await contextOf(userId, '', null))).toBe('400 org-required')
    expect(await contextOf(userId, `?org_id=${other.orgId}`, null)).toMatchObject({ body: { role: 'Clinician' } })
    expect(await contextOf(userId)).toMatchObject({ body: { role: 'Administrator' } })
    expect(outcomeOf(await contextOf(userId, `?org_id=${other.orgId}`))).toBe('404 not-found')
  })

  test('does not exist without a membership, nor for a user who is not active', async () => {
    const { userId: loner } = await givenUser(api)
    expect(outcomeOf(await contextOf(loner, '', null))).toBe('404 not-found')
    expect(outcomeOf(await contextOf(randomUUID()))).toBe('404 not-found')
    const claim = { userId: loner, membershipId: randomUUID(), organisationId: clinic.orgId, roleId: clinic.clinician }
    await api.append(organisationRoles.of(clinic.orgId), roleFact('MembershipRoleAssigned', claim))
    expect(outcomeOf(await contextOf(loner))).toBe('404 not-found')
    await changeStatus(api, administrator, 'UserSuspended', [clinic.orgId])
    expect(outcomeOf(await contextOf(administrator.userId))).toBe('403 user-not-active')
    await changeStatus(api, administrator, 'UserReactivated', [clinic.orgId])
    expect(outcomeOf(await contextOf(administrator.userId))).toBe('200')
  })
})

test('a context shows each answered write in the next request, also of another process', async () => {
  const [one, other] = [await api.startProcess(), await api.startProcess()]
  const hospital = await givenOrganisation(api)
  await givenMember(api, hospital, hospital.administrator)
  const member = await givenMember(api, hospital)
  const headers = await api.token(hospital.orgId)
  const contextOf = async (process: UsersProcess) => process.get(`/v1/users/${member.userId}/context`, headers)
  const known = await contextOf(other)
  expect((await contextOf(other)).body).toEqual(known.body)

  const user = `/admin/users/${member.userId}`
  const membership = `${user}/memberships/${member.membershipId}`
  const writes = [
    ['PATCH', `/admin/roles/${hospital.clinician}`, { name: 'Nurse' }, { body: { role: 'Nurse' } }],
    [
      'PATCH',
      `/admin/roles/${hospital.clinician}`,
      { permissions: ['users:admin'] },
      { body: { permissions: ['users:admin'] } },
    ],
    ['PATCH', user, { displayName: 'New name' }, { body: { display_name: 'New name' } }],
    ['POST', `${membership}/products`, { productId: 'product-1' }, { body: { product_ids: ['product-1'] } }],
    ['PATCH', membership, { roleId: hospital.administrator }, { body: { role: 'Administrator' } }],
    ['PATCH', user, { status: 'suspended' }, { status: 403 }],
    ['PATCH', user, { status: 'active' }, { status: 200 }],
    ['DELETE', membership, undefined, { status: 404 }],
  ] as const
  for (const [method, path, body, expected] of writes) {
    expect((await one.call(method, path, body)).status).toBeLessThan(300)
    const { status, body: shown } = await contextOf(other)
    expect({ path, status, body: shown }).toMatchObject({ path, ...expected })
    if (status === 200) expect((shown as { token: string }).token).not.toBe((known.body as { token: string }).token)
  }
})

test('trust takes the claims of the context', async () => {
  const one = await api.startProcess({ ACTOR_CONTEXT_MODE: 'trust' })
  const clinician = await givenMember(api, clinic)
  for (const path of adminRoutes) {
    expect([path, await outcome(one, claiming(clinician), path)]).toEqual([path, '200'])
    const none = unsigned({ user_id: clinician.userId, org_id: clinic.orgId, permissions: [] })
    expect([path, await outcome(one, none, path)]).toEqual([path, '403 permission-missing'])
  }
})

test('signed takes the claims that the platform signed, for five minutes', async () => {
  const one = await api.startProcess({ ACTOR_CONTEXT_MODE: 'signed' })
  const clinician = await givenMember(api, clinic)
  const [able, unable] = [await tokenOf(one, administrator), await tokenOf(one, clinician)]
  for (const path of adminRoutes) {
    expect([path, await outcome(one, able, path)]).toEqual([path, '200'])
    expect([path, await outcome(one, unable, path)]).toEqual([path, '403 permission-missing'])
    expect([path, await outcome(one, claiming(administrator), path)]).toEqual([path, '403 actor-context-invalid'])
  }
  const { userId: id, organisationId } = clinician
  expect(await one.get('/v1/users/me', await api.actor(unable))).toMatchObject({ status: 200, body: { id } })
  const [head = '', , signature = ''] = able.split('.')
  const [, payload = ''] = claiming(clinician).split('.')
  expect(await outcome(one, [head, payload, signature].join('.'))).toBe('403 actor-context-invalid')
  const { kid } = await api.world.vault.rotateSigningKey('actor-context')
  expect(kid).toBeTypeOf('string')
  expect(await outcome(one, await tokenOf(one, administrator))).toBe('200')
  expect(await outcome(one, able)).toBe('200')
  // Whatever happens to the user meanwhile.
  await changeStatus(api, administrator, 'UserDeactivated', [organisationId])
  expect(await outcome(one, able)).toBe('200')
  api.world.pass(310)
  expect(await outcome(one, able)).toBe('403 actor-context-invalid')
})

/** The users service in the same process, and on another host. */
describe.each(['here', 'elsewhere'] as const)('resolve with the users service %s', (place) => {
  let one: UsersProcess
  /** The process with the users service. */
  let service: UsersProcess
  beforeAll(async () => {
    const resolve = { ...serviceClient, ACTOR_CONTEXT_MODE: 'resolve' }
    if (place === 'here') {
      one = await api.startProcess(resolve)
      service = one
      return
    }
    service = await api.startProcess()
    const address = await api.listen(service)
    one = await api.startProcess({ ...resolve, USERS_BASE_URL: address, AUTH_BASE_URL: address })
  })

  const eventually = (context: string, expected: string) =>
    expect.poll(() => outcome(one, context), { timeout: 15_000 }).toBe(expected)

  test('takes the user and the organisation from the context, and the permissions from the platform', async () => {
    const clinician = await givenMember(api, clinic)
    const bare = unsigned({ user_id: administrator.userId, org_id: clinic.orgId })
    await eventually(bare, '200')
    for (const path of adminRoutes) {
      expect([path, await outcome(one, bare, path)]).toEqual([path, '200'])
      expect([path, await outcome(one, claiming(clinician), path)]).toEqual([path, '403 permission-missing'])
    }
  })

  test('takes the token that it issued to a user with many permissions', async () => {
    const named = Array.from({ length: 300 }, (_, place) => `recalls:plan-of-the-region-${place}:read`)
    const many = { permissions: ['users:admin', ...named], addedPermissions: named, removedPermissions: [] }
    const region = await givenOrganisation(api)
    const member = await givenMember(api, region, region.administrator)
    const role = { roleId: region.administrator, organisationId: region.orgId, name: 'Administrator', isDefault: false }
    await api.append(organisationRoles.of(region.orgId), roleFact('RoleChanged', { ...role, ...many }))
    const path = `/v1/users/${member.userId}/context`
    const { body } = await service.get(path, await api.token(region.orgId))
    const { token, permissions } = body as { token: string; permissions: string[] }
    expect([permissions.length, token.length <= 8192]).toEqual([301, true])
    const asked = async () => outcomeOf(await one.get('/v1/admin/users', await api.actor(token, region.orgId)))
    await expect.poll(asked, { timeout: 15_000 }).toBe('200')
  })

  test('refuses users without membership, unknown ones and other organisations', async () => {
    await eventually(claiming(administrator), '200')
    const loner = { ...(await givenUser(api)), membershipId: randomUUID(), organisationId: clinic.orgId }
    expect(await outcome(one, claiming(loner))).toBe('403 actor-context-invalid')
    for (const userId of [randomUUID(), 'jane@example.org'])
      expect(await outcome(one, claiming({ ...loner, userId }))).toBe('403 actor-context-invalid')
    const other = await givenMember(api, await givenOrganisation(api))
    expect(await outcome(one, claiming(other))).toBe('403 org-mismatch')
  })

  test('forgets what it kept when the role, its permissions, the membership or the status changes', async () => {
    const context = claiming(administrator)
    await eventually(context, '200')
    await changeRole(api, administrator, clinic.clinician)
    await eventually(context, '403 permission-missing')
    await changeRole(api, administrator, clinic.administrator)
    await eventually(context, '200')

    const role = { roleId: clinic.administrator, organisationId: clinic.orgId, name: 'Administrator', isDefault: false }
    const all = ['auth:admin', 'consents:admin', 'notifications:admin', 'users:admin']
    const less = { ...role, permissions: ['auth:admin'], addedPermissions: [], removedPermissions: ['users:admin'] }
    await api.append(organisationRoles.of(clinic.orgId), roleFact('RoleChanged', less))
    await eventually(context, '403 permission-missing')
    await api.append(
      organisationRoles.of(clinic.orgId),
      roleFact('RoleChanged', { ...role, permissions: all, addedPermissions: ['users:admin'] }),
    )
    await eventually(context, '200')

    await changeStatus(api, administrator, 'UserSuspended', [clinic.orgId])
    await eventually(context, '403 user-not-active')
    await changeStatus(api, administrator, 'UserReactivated', [clinic.orgId])
    await eventually(context, '200')
    await changeStatus(api, administrator, 'UserDeactivated', [clinic.orgId])
    await eventually(context, '403 user-not-active')
    await changeStatus(api, administrator, 'UserReactivated', [clinic.orgId])
    await eventually(context, '200')
    await revoke(api, administrator)
    await eventually(context, '403 actor-context-invalid')
  })

  test('keeps no permission from before a change whose event came before the read model had it', async () => {
    const context = claiming(administrator)
    await eventually(context, '200')
    const release = await api.holdUsers()
    // The users service has just found its read model current.
    await tokenOf(service, administrator)
    const { membershipId, userId, organisationId } = administrator
    const other = { membershipId, userId, organisationId, roleId: clinic.clinician }
    const fact = roleFact('MembershipRoleChanged', other)
    await execute(api.world.store, organisationRoles.of(organisationId), () => [fact], contextOf(api.world))
    const asked: Promise<string>[] = []
    for (let turn = 1; turn <= 20; turn += 1) {
      asked.push(outcome(one, context))
      await sleep(25)
    }
    await release()
    await Promise.all(asked)
    await eventually(context, '403 permission-missing')
  })

  test('gives no permission while the event store is away, also to actors that it knew', async () => {
    const context = claiming(administrator)
    await eventually(context, '200')
    await tokenOf(one, administrator)
    await one.line.close()
    await expect.poll(() => outcome(one, context), { timeout: 30_000 }).toMatch(/^503 /)
    expect(await outcome(one, context)).toMatch(/^503 /)
    const path = `/v1/users/${administrator.userId}/context`
    const asked = async () => outcomeOf(await one.get(path, await api.token(clinic.orgId)))
    await expect.poll(asked, { timeout: 30_000 }).toMatch(/^503 /)
  })
})
