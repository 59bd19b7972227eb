import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isOptedOut } from '../../../commands/notifications/preferences.ts'
import { notificationPreferences } from '../../../streams/notification-preferences/aggregate.ts'
import { changeStatus, givenMember } from '../../read-api/users/given-users.ts'
import { unsigned } from '../../read-api/users/users-api.ts'
import { refusalOf } from '../users/write-callers.ts'
import { openSettingsApi, preferenceScopes, type Headers, type SettingsApi } from './settings-api.ts'

let s: SettingsApi
beforeAll(async () => {
  s = await openSettingsApi()
})
afterAll(() => s.close())

const get = (userId: string, headers: Headers = s.clinicAdmin) => s.call('GET', `/preferences/${userId}`, headers)
const put = (userId: string, entries: unknown, headers: Headers = s.clinicAdmin) =>
  s.call('PUT', `/preferences/${userId}`, headers, entries)

const noMarketing = { category: 'marketing', channel: 'email', optedOut: true } as const
const categories = ['transactional', 'clinical', 'marketing', 'operational'] as const

function entryIn({ body }: { readonly body: unknown }, category: string, channel = 'email') {
  const { data } = body as { data: { category: string; channel: string }[] }
  return data.find((one) => one.category === category && one.channel === channel)
}

describe('GET and PUT /v1/notifications/preferences/{userId}', () => {
  test('show every category with every channel, and change the given ones only', async () => {
    const { userId } = await givenMember(s.api, s.clinic)
    const unset = { userId, orgId: null, optedOut: false, effective: false, updatedAt: null }
    const before = await get(userId)
    const all = categories.flatMap((category) =>
      (['email', 'slack'] as const).map((channel) => ({ ...unset, category, channel })),
    )
    expect([before.status, before.etag, before.body]).toEqual([200, '"-1"', { data: all }])

    const beforeFirst = { ...s.clinicAdmin, 'if-match': '"-1"' }
    expect(await put(userId, [], beforeFirst)).toMatchObject({ status: 200, etag: '"-1"' })
    const first = await put(userId, [noMarketing], beforeFirst)
    expect(first).toMatchObject({ status: 200, etag: '"0"' })
    const expected = { ...noMarketing, userId, orgId: s.clinic.orgId, effective: true, updatedAt: expect.any(String) }
    expect(entryIn(first, 'marketing')).toEqual(expected)
    expect(entryIn(first, 'marketing', 'slack')).toMatchObject({ optedOut: false, updatedAt: null })
    expect(await get(userId)).toMatchObject({ etag: `"0.${s.clinic.orgId}"`, body: first.body })

    expect(refusalOf(await put(userId, [], beforeFirst))).toBe('412 precondition-failed')
    const second = await put(userId, [{ category: 'clinical', channel: 'slack', optedOut: true }])
    expect(second).toMatchObject({ status: 200, etag: '"1"' })
    expect(entryIn(second, 'marketing')).toEqual(expected)
    expect(entryIn(second, 'clinical', 'slack')).toMatchObject({ optedOut: true, effective: true })
    expect(await put(userId, [noMarketing])).toMatchObject({ status: 200, etag: '"1"', body: second.body })
    expect(await put(userId, [])).toMatchObject({ status: 200, etag: '"1"' })
    expect(refusalOf(await put(userId, [], { ...s.clinicAdmin, 'if-match': '"0"' }))).toBe('412 precondition-failed')
    expect((await put(userId, [{ ...noMarketing, optedOut: false }])).etag).toBe('"2"')
    expect(entryIn(await get(userId), 'marketing')).toMatchObject({ optedOut: false, effective: false })
  })

  test('store an opt-out of transactional messages, which has no effect', async () => {
    const { userId } = await givenMember(s.api, s.clinic)
    const answer = await put(userId, [
      { category: 'transactional', channel: 'email', optedOut: true },
      { category: 'operational', channel: 'email', optedOut: true },
    ])
    expect(entryIn(answer, 'transactional')).toMatchObject({ optedOut: true, effective: false })
    const { state } = await s.api.world.store.load(notificationPreferences.of(userId))
    expect(categories.filter((category) => isOptedOut(state, category, 'email'))).toEqual(['operational'])
    expect(categories.filter((category) => isOptedOut(state, category, 'slack'))).toEqual([])
  })

  test.each([
    [[{ ...noMarketing, category: 'news' }], '/0/category'],
    [[noMarketing, { ...noMarketing, channel: 'sms' }], '/1/channel'],
    [[{ ...noMarketing, optedOut: 'yes' }], '/0/optedOut'],
    [[{ ...noMarketing, orgId: null }], '/0/orgId'],
    [[{ category: 'marketing', channel: 'email' }], '/0/optedOut'],
    [[noMarketing, { ...noMarketing, optedOut: false }], '/1'],
    [{ data: [noMarketing] }, ''],
  ])('refuse %j', async (entries, pointer) => {
    expect(refusalOf(await put(s.member.userId, entries))).toBe(`400 validation-failed ${pointer}`)
  })

  test('refuse more than 50 entries', async () => {
    const entries = Array.from({ length: 51 }, () => noMarketing)
    expect(refusalOf(await put(s.member.userId, entries))).toBe('400 validation-failed ')
  })

  test('are for the user itself and for administrators', async () => {
    const { userId } = s.member
    const self = await s.actor(userId.toUpperCase())
    expect((await put(userId, [noMarketing], self)).status).toBe(200)
    expect((await get(userId, self)).status).toBe(200)
    expect((await get(userId, await s.actor(randomUUID(), ['notifications:admin']))).status).toBe(200)
    expect(
      (await get(userId, await s.actor(randomUUID(), [], [...preferenceScopes, 'notifications:admin']))).status,
    ).toBe(200)
    for (const headers of [
      await s.actor(randomUUID()),
      await s.actor(randomUUID(), ['users:admin']),
      await s.api.token(s.clinic.orgId, preferenceScopes),
    ]) {
      expect(refusalOf(await get(userId, headers))).toBe('403 permission-missing')
      expect(refusalOf(await put(userId, [noMarketing], headers))).toBe('403 permission-missing')
    }
    const admin = await s.api.token(s.clinic.orgId, ['notifications:admin'])
    expect(refusalOf(await get(userId, admin))).toBe('403 insufficient-scope')
    const reader = await s.api.token(s.clinic.orgId, ['notifications:admin', 'notifications:preferences:read'])
    expect((await get(userId, reader)).status).toBe(200)
    expect(refusalOf(await put(userId, [noMarketing], reader))).toBe('403 insufficient-scope')
  })

  test('answer 404 for users of other organisations, and do not show where others set something', async () => {
    for (const userId of [s.foreigner.userId, randomUUID()]) {
      expect(refusalOf(await get(userId))).toBe('404 not-found')
      expect(refusalOf(await put(userId, [noMarketing]))).toBe('404 not-found')
    }
    expect(refusalOf(await get(s.foreigner.userId, s.platform))).toBe('400 org-required')
    const query = `${s.foreigner.userId}?orgId=${s.hospital.orgId}`
    expect((await put(query, [noMarketing], s.platform)).status).toBe(200)
    await givenMember(s.api, s.clinic, s.clinic.clinician, s.foreigner)
    expect(entryIn(await get(s.foreigner.userId), 'marketing')).toMatchObject({ optedOut: true, orgId: null })
    expect(entryIn(await get(query, s.platform), 'marketing')).toMatchObject({ orgId: s.hospital.orgId })
    expect(entryIn(await put(s.foreigner.userId, [noMarketing]), 'marketing')).toMatchObject({ orgId: s.clinic.orgId })
  })

  test('have a version that tells apart the organisations of the actor', async () => {
    const member = await givenMember(s.api, s.clinic)
    await givenMember(s.api, s.hospital, s.hospital.clinician, member)
    await put(member.userId, [noMarketing])
    const readIn = async (orgId: string, headers = {}) => {
      const context = unsigned({ user_id: member.userId, org_id: orgId, permissions: [] })
      return get(member.userId, { ...(await s.api.actor(context, null, preferenceScopes)), ...headers })
    }
    const first = await readIn(s.clinic.orgId)
    const known = { 'if-none-match': String(first.etag) }
    expect(entryIn(first, 'marketing')).toMatchObject({ orgId: s.clinic.orgId })
    expect((await readIn(s.clinic.orgId, known)).status).toBe(304)
    const second = await readIn(s.hospital.orgId, known)
    expect([second.status, entryIn(second, 'marketing')]).toMatchObject([200, { optedOut: true, orgId: null }])
  })

  test('answer 410 for erased users', async () => {
    const user = await givenMember(s.api, s.clinic)
    await put(user.userId, [noMarketing])
    await changeStatus(s.api, user, 'UserErasureStarted', [s.clinic.orgId])
    expect(refusalOf(await get(user.userId))).toBe('410 user-erased')
    expect(refusalOf(await put(user.userId, [noMarketing]))).toBe('410 user-erased')
  })
})
