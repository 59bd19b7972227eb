import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createUser, startRegistration } from '../../../commands/users/registration.ts'
import { registerUser } from '../../../commands/users/register-user.ts'
import { assignRole } from '../../../commands/users/role-assignments.ts'
import { execute } from '../../../engine/commands/execute.ts'
import { answeringRefusals } from '../../../engine/commands/refusals.ts'
import {
  IdentityProviderRejectedError,
  IdentityProviderUnavailableError,
  type IdentityProvider,
} from '../../../contracts/users/identity-provider.ts'
import { createMockIdentityProvider } from '../../../processes/adapters/mock-identity-provider.ts'
import { organisationRoles } from '../../../streams/organisation-roles/aggregate.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { givenOrganisation, type GivenOrganisation } from '../../read-api/users/given-users.ts'
import { bootstrap, openUsersApi, type UsersApi, type UsersProcess } from '../../read-api/users/users-api.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { administratorOf, newPerson, recordOf, refusalOf } from './write-callers.ts'

type Headers = Readonly<Record<string, string>>

let api: UsersApi
let one: UsersProcess
let clinic: GivenOrganisation
let hospital: GivenOrganisation
let clinicAdmin: Headers
let hospitalAdmin: Headers
/** What the next creates of an account fail with. */
let fault: Error | null = null
/** The subject of the next accounts, instead of one of their own. */
let subject: string | null = null
/** User ids of the accounts that were asked for. */
let asked: string[] = []
/** The provider answers after this. */
let hold = Promise.resolve()
/** The provider was asked for an account. */
let isAsked = Promise.withResolvers<void>()

const mock = createMockIdentityProvider()
const provider: IdentityProvider = {
  ...mock,
  async create(account, signal) {
    asked.push(account.userId)
    isAsked.resolve()
    await hold
    if (fault !== null) throw fault
    return subject === null ? mock.create(account, signal) : { externalId: subject }
  },
}

beforeAll(async () => {
  api = await openUsersApi({ identityProvider: provider })
  one = await api.startProcess()
  clinic = await givenOrganisation(api, api.world.orgId)
  hospital = await givenOrganisation(api)
  clinicAdmin = await administratorOf(api, clinic)
  hospitalAdmin = await administratorOf(api, hospital)
})
afterAll(() => api.close())
beforeEach(() => {
  fault = null
  subject = null
  asked = []
  hold = Promise.resolve()
  isAsked = Promise.withResolvers()
})

const create = (body: object, headers: Headers = clinicAdmin) => one.call('POST', '/admin/users', body, headers)
const keyed = (key: string, headers: Headers = clinicAdmin) => ({ ...headers, 'idempotency-key': key })

describe('POST /admin/users', () => {
  test('refuses a patient of the organisation whose erasure has begun, before there is an account', async () => {
    const patientAccount = { clinicalPatientId: randomUUID() }
    api.world.vault.closeSubject(clinic.orgId, patientAccount.clinicalPatientId)
    const person = () => newPerson({ userType: 'patient', patientAccount })
    expect(refusalOf(await create(person()))).toBe('410 subject-erased')
    expect(asked).toEqual([])
    // Of another organisation, it is another patient.
    expect((await create(person(), hospitalAdmin)).status).toBe(201)
  })

  test('answers 201 with the user, its membership and its profile, and a GET answers the same', async () => {
    const practitionerProfile = { professionalId: '1', professionalIdType: 'GMC' }
    const person = newPerson({ locale: 'en-GB', practitionerProfile })
    const answer = await create({ ...person, roleId: clinic.administrator })
    const { id } = recordOf(answer)
    expect(answer).toMatchObject({
      status: 201,
      etag: expect.stringMatching(/^"\d+"$/),
      headers: { location: `/v1/admin/users/${id}` },
      body: {
        ...person,
        status: 'active',
        practitionerProfile: { ...practitionerProfile, userId: id, speciality: null, credentials: null },
        memberships: [{ userId: id, organisationId: clinic.orgId, role: { name: 'Administrator' }, products: [] }],
      },
    })
    expect(answer.body).not.toHaveProperty('roleId')
    expect(answer.body).not.toHaveProperty('patientAccount')
    expect((await one.get(`/v1/admin/users/${id}`, clinicAdmin)).body).toEqual(answer.body)
  })

  test('gives the default role without roleId, and none without an organisation', async () => {
    expect(recordOf(await create(newPerson())).memberships).toMatchObject([{ roleId: clinic.clinician }])
    expect(recordOf(await create(newPerson(), bootstrap)).memberships).toEqual([])
    const named = newPerson({ organisationId: hospital.orgId })
    expect(recordOf(await create(named, bootstrap)).memberships).toMatchObject([{ organisationId: hospital.orgId }])
  })

  test('refuses a role without an organisation, of another one, unknown ones and a missing default role', async () => {
    expect(refusalOf(await create(newPerson({ roleId: clinic.clinician }), bootstrap))).toBe('400 org-required')
    const unknown = await create(newPerson({ roleId: randomUUID() }))
    const foreign = await create(newPerson({ roleId: hospital.clinician }))
    expect(refusalOf(unknown)).toBe('400 role-organisation-mismatch /roleId')
    const said = ({ body }: { readonly body: unknown }) => {
      const { detail, errors } = body as { detail: string; errors: unknown }
      return { detail, errors }
    }
    expect([refusalOf(foreign), said(foreign)]).toEqual([refusalOf(unknown), said(unknown)])
    const empty = newPerson({ organisationId: randomUUID() })
    expect(refusalOf(await create(empty, bootstrap))).toBe('400 no-default-role')
    expect(asked).toEqual([])
  })

  test('answers another organisation as an unknown one', async () => {
    expect(refusalOf(await create(newPerson({ organisationId: hospital.orgId })))).toBe('404 not-found')
  })

  test('needs the permission users:admin', async () => {
    expect(refusalOf(await create(newPerson(), await api.token(clinic.orgId)))).toBe('403 actor-context-missing')
  })

  test.each([
    [{ practitionerProfile: {}, userType: 'admin' }, '/practitionerProfile'],
    [{ practitionerProfile: {}, userType: 'patient' }, '/practitionerProfile'],
    [{ patientAccount: {}, userType: 'clinician' }, '/patientAccount'],
    [{ userType: 'robot' }, '/userType'],
    [{ email: 'jane' }, '/email'],
    [{ email: 'jane@home@example.org' }, '/email'],
    [{ email: 'jane doe@example.org' }, '/email'],
    [{ email: 'jane\u0007@example.org' }, '/email'],
    [{ email: 'jane\u0085@example.org' }, '/email'],
    [{ email: `${'x'.repeat(250)}@e.org` }, '/email'],
    [{ email: 'jane@localhost' }, '/email'],
    [{ email: 'j\u00e4ne@example.org' }, '/email'],
    [{ email: 'jane%other.test@example.org' }, '/email'],
    [{ email: 'jane.@example.org' }, '/email'],
    [{ email: 'jane@[127.0.0.1]' }, '/email'],
    [{ displayName: '' }, '/displayName'],
    [{ locale: 'en_GB' }, '/locale'],
    [
      { patientAccount: { contactPreferences: { sms: 'yes' } }, userType: 'patient' },
      '/patientAccount/contactPreferences/sms',
    ],
    [{ colour: 'red' }, '/colour'],
  ])('refuses %j', async (members, pointer) => {
    expect(refusalOf(await create(newPerson(members)))).toBe(`400 validation-failed ${pointer}`)
  })

  test('keeps an address without blanks, and a domain in another script in its A-label form', async () => {
    const name = randomUUID()
    const headers = keyed(randomUUID())
    const person = newPerson({ email: ` Jane-${name}@B\u00fccher.example\t` })
    const first = await create(person, headers)
    expect(first).toMatchObject({ status: 201, body: { email: `Jane-${name}@xn--bcher-kva.example` } })
    const again = await create({ ...person, email: `Jane-${name}@xn--bcher-kva.example` }, headers)
    expect([again.status, again.body]).toEqual([201, first.body])
    expect(refusalOf(await create(newPerson({ email: `jane-${name}@BU\u0308CHER.example` })))).toBe('409 email-in-use')
  })

  test('refuses an address in use in any case, also of another organisation', async () => {
    const name = randomUUID()
    const { id } = recordOf(await create(newPerson({ email: `Rene-${name}@Example.org` })))
    const again = newPerson({ email: `RENE-${name}@example.ORG ` })
    expect(refusalOf(await create(again))).toBe('409 email-in-use')
    const refused = await create(again, hospitalAdmin)
    expect(refusalOf(refused)).toBe('409 email-in-use')
    expect(JSON.stringify(refused.body)).not.toMatch(new RegExp(`${id}|${name}`, 'i'))
    expect(asked).toEqual([id])
  })

  test('answers a repeat of the key alike and makes one account', async () => {
    const headers = keyed(randomUUID())
    const person = newPerson()
    const first = await create(person, headers)
    const again = await create(person, headers)
    expect([again.status, again.body, again.headers['location']]).toEqual([201, first.body, first.headers['location']])
    expect(again.headers['idempotency-replayed']).toBe('true')
    expect(refusalOf(await create(newPerson(), headers))).toBe('409 idempotency-key-reused')
    expect(asked).toHaveLength(1)
  })

  test('answers a repeat as an unknown user once the user has left the organisation', async () => {
    const headers = keyed(randomUUID())
    const person = newPerson()
    const { id, memberships } = recordOf(await create(person, headers))
    const path = `/admin/users/${id}`
    const joined = await one.call('POST', `${path}/memberships`, { organisationId: hospital.orgId }, bootstrap)
    expect(joined.status).toBe(201)
    const [membership] = memberships as readonly { readonly id: string }[]
    expect((await one.call('DELETE', `${path}/memberships/${membership?.id}`, undefined, clinicAdmin)).status).toBe(204)
    expect((await one.call('PATCH', path, { displayName: 'Another name' }, hospitalAdmin)).status).toBe(200)
    expect(refusalOf(await create(person, headers))).toBe('404 not-found')
  })

  test('completes on a repeat what an attempt left that ended after it had created the user', async () => {
    const { store, vault, configuration } = api.world
    const now = () => new Date()
    const [userId, attemptId, externalId, membershipId] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
    const answering = answeringRefusals<string>({})
    const by = { userId, fingerprint: '0'.repeat(64), changedBy: 'someone' }
    const membership = { membershipId, organisationId: clinic.orgId, roleId: clinic.clinician }
    const profile = {
      displayName: 'Ada',
      email: 'ada@example.org',
      userType: 'admin' as const,
      locale: null,
      patientAccount: null,
      practitionerProfile: null,
    }
    const organisation = organisationRoles.of(clinic.orgId)
    const role = { ...by, ...membership, grantor: 'platform' as const, now: now() }
    const start = { ...by, attemptId, leaseUntil: now(), now: now() }
    const created = { ...by, ...profile, attemptId, externalId, membership, now: now() }
    await execute(store, organisation, (state) => answering(assignRole(role, state)), contextOf(api.world))
    await execute(store, users.of(userId), (state) => answering(startRegistration(start, state)), contextOf(api.world))
    await execute(store, users.of(userId), (state) => answering(createUser(created, state)), contextOf(api.world))
    const isConfirmed = async () => (await store.load(organisation)).state.assignments.get(membershipId)?.isConfirmed
    expect(await isConfirmed()).toBe(false)

    const deps = { store, vault, configuration, now, identityProvider: provider }
    const command = { ...by, ...profile, attemptId: randomUUID(), membership }
    await registerUser(deps, { ...command, grantor: 'platform' }, contextOf(api.world))
    expect(await isConfirmed()).toBe(true)
  })

  test('answers twenty simultaneous requests of one key with the one user and its membership', async () => {
    const person = newPerson()
    const headers = keyed(randomUUID())
    const held = Promise.withResolvers<void>()
    hold = held.promise
    const requests = Array.from({ length: 20 }, () => create(person, headers))
    await isAsked.promise
    const other = await create(newPerson(), headers)
    held.resolve()
    const answers = await Promise.all(requests)
    const [user] = answers
    expect(answers.map(({ status, body }) => [status, body])).toEqual(answers.map(() => [201, user?.body]))
    expect(answers.filter(({ headers: of }) => of['idempotency-replayed'] === 'true')).toHaveLength(19)
    expect(recordOf(user ?? other).memberships).toHaveLength(1)
    expect(refusalOf(other)).toBe('409 idempotency-key-reused')
    expect(asked).toHaveLength(1)
  })

  test('answers simultaneous requests of one key alike if the provider is away', async () => {
    const person = newPerson()
    const headers = keyed(randomUUID())
    const held = Promise.withResolvers<void>()
    hold = held.promise
    const first = create(person, headers)
    await isAsked.promise
    const others = Array.from({ length: 5 }, () => create(person, headers))
    fault = new IdentityProviderUnavailableError('away', { mayHaveHappened: true })
    held.resolve()
    const answers = await Promise.all([first, ...others])
    for (const answer of answers) expect(refusalOf(answer)).toBe('503 identity-provider-unavailable')
    fault = null
    expect((await create(person, headers)).status).toBe(201)
  })

  test('a provider that is away: 503 with Retry-After, and nothing is left of the user', async () => {
    fault = new IdentityProviderUnavailableError('away', { mayHaveHappened: true })
    const person = newPerson()
    const headers = keyed(randomUUID())
    const answer = await create(person, headers)
    expect(refusalOf(answer)).toBe('503 identity-provider-unavailable')
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    fault = null
    const id = asked[0] ?? ''
    expect(refusalOf(await one.get(`/v1/admin/users/${id}`, clinicAdmin))).toBe('404 not-found')
    const organisation = await api.world.store.load(organisationRoles.of(clinic.orgId))
    expect([...organisation.state.assignments.values()].filter(({ userId }) => userId === id)).toEqual([])

    const again = await create(person, headers)
    expect([again.status, recordOf(again).id]).toEqual([201, id])
    expect(recordOf(again).memberships).toHaveLength(1)
  })

  test('a provider that refuses: 502, and the address is free', async () => {
    fault = new IdentityProviderRejectedError('no')
    const person = newPerson()
    expect(refusalOf(await create(person))).toBe('502 identity-provider-rejected')
    fault = null
    expect((await create(person)).status).toBe(201)
  })

  test('a subject that another user has: 502, and the address is free', async () => {
    subject = randomUUID()
    expect((await create(newPerson())).status).toBe(201)
    const person = newPerson()
    expect(refusalOf(await create(person))).toBe('502 identity-provider-rejected')
    expect(refusalOf(await one.get(`/v1/admin/users/${asked.at(-1)}`, clinicAdmin))).toBe('404 not-found')
    subject = null
    expect((await create(person)).status).toBe(201)
  })

  test('is served below its own mount, below the gateway and bare', async () => {
    for (const mount of ['/v1/user-management', '/v1/user-management/v1', '/v1']) {
      const url = `${mount}/admin/users`
      const { statusCode } = await one.t.app.inject({ method: 'POST', url, payload: newPerson(), headers: clinicAdmin })
      expect([mount, statusCode]).toEqual([mount, 201])
    }
  })
})
