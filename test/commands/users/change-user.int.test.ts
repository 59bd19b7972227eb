import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { v5 } from 'uuid'
import { changeUser } from '../../../commands/users/change-user.ts'
import { recordPasswordReset, attemptPasswordReset } from '../../../commands/users/reset-password.ts'
import { execute } from '../../../engine/commands/execute.ts'
import { users } from '../../../streams/user/aggregate.ts'
import {
  givenMember,
  givenOrganisation,
  givenUser,
  type GivenMembership,
  type GivenOrganisation,
} from '../../read-api/users/given-users.ts'
import { bootstrap, openUsersApi, unsigned, type UsersApi, type UsersProcess } from '../../read-api/users/users-api.ts'
import { contextOf, problemOf, withReads } from '../../engine/commands/decision-world.ts'
import { administratorOf, newPerson, recordOf, refusalOf } from './write-callers.ts'

type Headers = Readonly<Record<string, string>>

let api: UsersApi
let one: UsersProcess
let clinic: GivenOrganisation
let hospital: GivenOrganisation
let clinicAdmin: Headers
let hospitalAdmin: Headers
/** A member of both organisations, and the only administrator of the hospital. */
let shared: GivenMembership
let foreign: GivenMembership

beforeAll(async () => {
  api = await openUsersApi()
  one = await api.startProcess()
  clinic = await givenOrganisation(api, api.world.orgId)
  hospital = await givenOrganisation(api)
  clinicAdmin = await administratorOf(api, clinic)
  hospitalAdmin = await administratorOf(api, hospital)
  shared = await givenMember(api, clinic)
  await givenMember(api, hospital, hospital.administrator, shared)
  foreign = await givenMember(api, hospital)
})
afterAll(() => api.close())

const path = ({ userId }: { readonly userId: string }) => `/admin/users/${userId}`
const patch = (user: { readonly userId: string }, body: object, headers: Headers = clinicAdmin) =>
  one.call('PATCH', path(user), body, headers)
const deactivate = (user: { readonly userId: string }, headers: Headers = clinicAdmin) =>
  one.call('DELETE', path(user), undefined, headers)
const erase = (user: { readonly userId: string }, headers: Headers = clinicAdmin) =>
  one.call('POST', `${path(user)}/erase`, undefined, headers)
const statusOf = ({ body }: { readonly body: unknown }) => (body as { status: string }).status

async function created(more: object = {}): Promise<{ userId: string }> {
  return { userId: recordOf(await one.call('POST', '/admin/users', newPerson(more), clinicAdmin)).id }
}

describe('PATCH /admin/users/{id}', () => {
  test('makes the allowed changes of status, and refuses deactivated to suspended', async () => {
    const user = await created()
    const events = async () => (await api.world.store.load(users.of(user.userId))).revision
    for (const status of ['suspended', 'active', 'suspended', 'deactivated', 'active', 'deactivated']) {
      const answer = await patch(user, { status })
      expect([answer.status, statusOf(answer)]).toEqual([200, status])
    }
    expect(refusalOf(await patch(user, { status: 'suspended' }))).toBe('409 invalid-status-transition')
    const before = await events()
    expect((await patch(user, { status: 'deactivated' })).status).toBe(200)
    expect(await events()).toBe(before)
  })

  test.each([
    ['an address', { profile: { email: 'other@example.org' }, status: null }],
    ['a name', { profile: { displayName: 'Other' }, status: null }],
    ['a status', { profile: null, status: 'suspended' }],
  ] as const)('that changes %s reads as much for a foreign user as for an unknown one', async (_, change) => {
    const { counting, reads } = withReads(api.world.otherStore)
    const deps = { ...api.world, store: counting }
    const by = { changedBy: randomUUID(), now: api.world.now() }
    const command = {
      profile: change.profile === null ? null : { ...change.profile, newProfileId: randomUUID(), ...by },
      status: change.status === null ? null : { to: change.status, holdId: randomUUID(), ...by },
      administration: { tenant: clinic.orgId, mayChangeShared: false, grantor: 'other' },
      requireMatch: () => undefined,
    } as const
    const readsFor = async (userId: string) => {
      expect(await problemOf(changeUser(deps, userId, command, contextOf(api.world)))).toBe('not-found')
      return reads.splice(0).map((stream) => stream.replace(userId, 'id'))
    }
    const ofUnknown = await readsFor(randomUUID())
    expect(await readsFor(foreign.userId)).toEqual(ofUnknown)
    // The same again, from the memory of the process.
    expect((await readsFor(foreign.userId)).length).toBe(ofUnknown.length)
  })

  test('answers the user without memberships, with the ETag of a GET accepted in If-Match', async () => {
    const user = await created()
    const { etag } = await one.get(`/v1${path(user)}`, clinicAdmin)
    const answer = await patch(user, { displayName: 'Joan' }, { ...clinicAdmin, 'if-match': String(etag) })
    expect(answer).toMatchObject({ status: 200, body: { id: user.userId, displayName: 'Joan', status: 'active' } })
    expect(answer.body).not.toHaveProperty('memberships')
    const stale = { ...clinicAdmin, 'if-match': String(etag) }
    for (const body of [{ displayName: 'Jo' }, { displayName: 'Joan' }, { status: 'suspended' }])
      expect(refusalOf(await patch(user, body, stale))).toBe('412 precondition-failed')
    expect(refusalOf(await deactivate(user, stale))).toBe('412 precondition-failed')
    const now = await one.get(`/v1${path(user)}`, clinicAdmin)
    expect(now.body).toMatchObject({ displayName: 'Joan', status: 'active' })
    expect((await deactivate(user, { ...clinicAdmin, 'if-match': String(now.etag) })).status).toBe(200)
  })

  test('changes the address, which frees the old one', async () => {
    const [email, next] = [`${randomUUID()}@example.org`, `${randomUUID()}@example.org`]
    const user = await created({ email })
    const other = await created()
    expect(refusalOf(await patch(other, { email: email.toUpperCase() }))).toBe('409 email-in-use')
    expect((await patch(user, { email: ` ${next} ` })).body).toMatchObject({ email: next })
    expect(refusalOf(await patch(user, { email: 'jane@localhost' }))).toBe('400 validation-failed /email')
    expect((await patch(other, { email: email.toUpperCase() })).body).toMatchObject({ email: email.toUpperCase() })
    expect(refusalOf(await patch(user, { email }))).toBe('409 email-in-use')
  })

  test('refuses profiles of another type and unknown members, with a pointer', async () => {
    const patient = await created({ userType: 'patient' })
    const clinician = await created()
    expect(refusalOf(await patch(patient, { practitionerProfile: {} }))).toBe(
      '400 validation-failed /practitionerProfile',
    )
    expect(refusalOf(await patch(clinician, { patientAccount: {} }))).toBe('400 validation-failed /patientAccount')
    expect(refusalOf(await patch(clinician, { userType: 'admin' }))).toBe('400 validation-failed /userType')
    expect(refusalOf(await patch(clinician, { status: 'erased' }))).toBe('400 validation-failed /status')
    const changed = await patch(patient, { patientAccount: { contactPreferences: { sms: true } } })
    expect(changed.status).toBe(200)
    expect((await one.get(`/v1${path(patient)}`, clinicAdmin)).body).toMatchObject({
      patientAccount: { contactPreferences: { sms: true }, clinicalPatientId: null },
    })
  })

  test('keeps the id of a patient in lower case, by which an erasure and messages find the account', async () => {
    const [first, second] = [randomUUID(), randomUUID()]
    const account = (id: string) => ({ patientAccount: { clinicalPatientId: id.toUpperCase() } })
    const user = await created({ userType: 'patient', ...account(first) })
    const idOf = async () =>
      ((await one.get(`/v1${path(user)}`, clinicAdmin)).body as ReturnType<typeof account>).patientAccount
        .clinicalPatientId
    expect(await idOf()).toBe(first)
    expect((await patch(user, account(second))).status).toBe(200)
    expect(await idOf()).toBe(second)
    expect((await patch(user, account('mrn-A'))).status).toBe(200)
    expect(await idOf()).toBe('MRN-A')
  })

  test('refuses a new link to a patient whose erasure has begun, and leaves the old one to the erasure', async () => {
    const patientAccount = { clinicalPatientId: randomUUID() }
    const [linked, other] = [
      await created({ userType: 'patient', patientAccount }),
      await created({ userType: 'patient' }),
    ]
    api.world.vault.closeSubject(clinic.orgId, patientAccount.clinicalPatientId)
    expect(refusalOf(await patch(other, { patientAccount }))).toBe('410 subject-erased')
    expect((await patch(linked, { displayName: 'Jo' })).status).toBe(200)
    expect((await patch(linked, { patientAccount: { clinicalPatientId: null } })).status).toBe(200)
  })

  test('of users of another organisation answers as of unknown ones', async () => {
    const unknown = { userId: randomUUID() }
    const loner = await givenUser(api)
    for (const user of [foreign, unknown, loner, { userId: 'no-id' }]) {
      const refusals = [
        await patch(user, { status: 'suspended', email: `${randomUUID()}@example.org` }),
        await deactivate(user),
        await erase(user),
        await one.call('POST', `${path(user)}/reset-password`, undefined, clinicAdmin),
      ]
      expect(refusals.map(refusalOf)).toEqual(refusals.map(() => '404 not-found'))
    }
    expect((await patch(loner, { displayName: 'Loner' }, bootstrap)).status).toBe(200)
  })

  test('of a shared user is for platform callers only', async () => {
    for (const body of [{ status: 'suspended' }, { displayName: 'Other' }, { email: `${randomUUID()}@example.org` }])
      expect(refusalOf(await patch(shared, body))).toBe('409 user-shared')
    expect(refusalOf(await deactivate(shared))).toBe('409 user-shared')
    expect(refusalOf(await erase(shared))).toBe('409 user-shared')
    expect((await patch(shared, { displayName: 'Other' }, bootstrap)).body).toMatchObject({ displayName: 'Other' })
  })

  test('refuses that the last administrator of any organisation leaves active', async () => {
    for (const status of ['suspended', 'deactivated'])
      expect(refusalOf(await patch(shared, { status }, bootstrap))).toBe('409 last-administrator')
    expect(refusalOf(await deactivate(shared, bootstrap))).toBe('409 last-administrator')
    const second = await givenMember(api, hospital, hospital.administrator)
    expect(statusOf(await patch(shared, { status: 'suspended' }, bootstrap))).toBe('suspended')
    expect(refusalOf(await deactivate(second, hospitalAdmin))).toBe('409 last-administrator')
    expect(statusOf(await patch(shared, { status: 'active' }, bootstrap))).toBe('active')
    const both = await Promise.all([
      deactivate(second, hospitalAdmin),
      patch(shared, { status: 'suspended' }, bootstrap),
    ])
    expect(both.map(({ status }) => String(status)).toSorted()).toEqual(['200', '409'])
  })
})

describe('DELETE and erase', () => {
  test('deactivate, and again the same', async () => {
    const user = await created()
    const first = await deactivate(user)
    expect([first.status, statusOf(first)]).toEqual([200, 'deactivated'])
    expect((await deactivate(user)).body).toEqual(first.body)
  })

  test('erase a deactivated user for ever', async () => {
    const email = `${randomUUID()}@example.org`
    const key = { ...clinicAdmin, 'idempotency-key': randomUUID() }
    const body = newPerson({ email })
    const { id: userId } = recordOf(await one.call('POST', '/admin/users', body, key))
    const user = { userId }
    expect(refusalOf(await erase(user))).toBe('409 user-not-deactivated')
    await deactivate(user)
    const erased = await erase(user)
    expect(erased).toMatchObject({ status: 200, body: { id: userId, status: 'erased', erasedAt: expect.any(String) } })
    for (const headers of [clinicAdmin, bootstrap]) {
      expect((await erase(user, headers)).body).toEqual(erased.body)
      expect(refusalOf(await patch(user, { displayName: 'x' }, headers))).toBe('410 user-erased')
      expect(refusalOf(await deactivate(user, headers))).toBe('410 user-erased')
      expect(refusalOf(await one.call('POST', `${path(user)}/reset-password`, undefined, headers))).toBe(
        '410 user-erased',
      )
    }
    expect(refusalOf(await erase(user, hospitalAdmin))).toBe('404 not-found')
    expect(refusalOf(await patch(user, { displayName: 'x' }, hospitalAdmin))).toBe('404 not-found')
    expect(refusalOf(await one.call('POST', '/admin/users', body, key))).toBe('410 user-erased')
    expect((await one.call('POST', '/admin/users', newPerson({ email }), hospitalAdmin)).status).toBe(201)
  })
})

describe('POST /admin/users/{id}/reset-password', () => {
  test('answers 202, and a repeat of a key asks for no second message', async () => {
    const user = await created()
    const ask = (key: string) =>
      one.call('POST', `${path(user)}/reset-password`, undefined, { ...clinicAdmin, 'idempotency-key': key })
    const requests = async () => (await api.world.store.load(users.of(user.userId))).state
    expect(await ask('once')).toMatchObject({
      status: 202,
      headers: { 'retry-after': '1' },
      body: { status: 'requested' },
    })
    expect((await ask('meanwhile')).status).toBe(202)
    const state = await requests()
    const requestId = 'externalId' in state ? (state.passwordReset?.requestId ?? '') : ''
    const attemptId = v5('attempt', requestId)
    const now = api.world.now()
    const attempt = { requestId, attemptId, now, leaseUntil: new Date(now.getTime() + 1000) }
    const target = users.of(user.userId)
    await execute(api.world.store, target, (before) => attemptPasswordReset(attempt, before), contextOf(api.world))
    const sent = { requestId, attemptId, outcome: 'sent' as const, now }
    await execute(api.world.store, target, (before) => recordPasswordReset(sent, before), contextOf(api.world))
    expect([(await ask('once')).status, (await ask('meanwhile')).status]).toEqual([202, 202])
    expect(await requests()).toMatchObject({ passwordReset: null })
    expect((await ask('twice')).status).toBe(202)
    expect(await requests()).toMatchObject({ passwordReset: { attempts: 0 } })
  })
})

describe('PATCH /users/me', () => {
  const me = async (user: { readonly userId: string }, body: object, headers: Headers = {}) =>
    one.call('PATCH', '/users/me', body, {
      ...(await api.actor(unsigned({ user_id: user.userId, org_id: clinic.orgId, permissions: [] }))),
      ...headers,
    })

  test('changes the own name, locale and contact preferences, also of a shared user', async () => {
    expect((await me(shared, { displayName: 'Me', locale: 'fr' })).body).toMatchObject({
      displayName: 'Me',
      locale: 'fr',
      memberships: [{ organisationId: clinic.orgId }],
    })
    const patient = await created({ userType: 'patient' })
    const answer = await me(patient, { contactPreferences: { email: false } })
    expect(answer.body).toMatchObject({ patientAccount: { contactPreferences: { email: false } } })
    const stale = await me(patient, { displayName: 'x' }, { 'if-match': '"0"' })
    expect(refusalOf(stale)).toBe('412 precondition-failed')
  })

  test('refuses preferences without a patient account, other members and callers without an actor', async () => {
    const user = await created()
    expect(refusalOf(await me(user, { contactPreferences: {} }))).toBe('400 validation-failed /contactPreferences')
    expect(refusalOf(await me(user, { email: 'a@example.org' }))).toBe('400 validation-failed /email')
    const bare = await one.call('PATCH', '/users/me', {}, await api.token(clinic.orgId))
    expect(refusalOf(bare)).toBe('403 actor-context-missing')
    for (const userId of [foreign.userId, randomUUID(), 'jane', 'a b\u00e9'])
      expect(refusalOf(await me({ userId }, { displayName: 'x' }))).toBe('404 not-found')
  })
})
