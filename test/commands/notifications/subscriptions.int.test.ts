import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mostRules } from '../../../commands/notifications/subscriptions.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { notificationSubscriptions } from '../../../streams/notification-subscription/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { givenOrganisation } from '../../read-api/users/given-users.ts'
import { ruleFact } from '../../streams/notification-settings-facts.ts'
import { refusalOf } from '../users/write-callers.ts'
import { givenTemplate, idOf, idsIn, openSettingsApi, type Headers, type SettingsApi } from './settings-api.ts'

let s: SettingsApi
beforeAll(async () => {
  s = await openSettingsApi()
  for (const code of [rule.templateCode, 'other']) {
    for (const channel of ['email', 'slack'] as const) await givenTemplate(s, { code, channel, orgId: null })
  }
})
afterAll(() => s.close())

const path = '/admin/subscriptions'
const rule = {
  eventType: 'assessment.completed',
  templateCode: 'assessment-completed',
  recipientRule: { type: 'patient', path: 'case.patient_id' },
}
const create = (more: object = {}, headers: Headers = s.clinicAdmin) =>
  s.call('POST', path, headers, { ...rule, ...more })
const change = (id: string, body: object, headers: Headers = s.clinicAdmin) =>
  s.call('PATCH', `${path}/${id}`, headers, body)
const remove = (id: string, headers: Headers = s.clinicAdmin) => s.call('DELETE', `${path}/${id}`, headers)
const get = (id: string, headers: Headers = s.clinicAdmin) => s.call('GET', `${path}/${id}`, headers)
const list = (query = '', headers: Headers = s.clinicAdmin) => s.call('GET', `${path}${query}`, headers)

describe('POST /v1/notifications/admin/subscriptions', () => {
  test('answers 201 with the rule, which is enabled unless the body differs, and the key repeats', async () => {
    const headers = { ...s.clinicAdmin, 'idempotency-key': randomUUID() }
    const answer = await create({}, headers)
    const id = idOf(answer)
    expect(answer).toMatchObject({
      status: 201,
      etag: '"0"',
      headers: { location: `/v1/notifications${path}/${id}` },
      body: { ...rule, orgId: s.clinic.orgId, enabled: true, createdAt: expect.any(String) },
    })
    expect((await get(id)).body).toEqual(answer.body)
    const again = await create({}, headers)
    expect([again.status, again.body, again.headers['idempotency-replayed']]).toEqual([201, answer.body, 'true'])
    expect(refusalOf(await create({ enabled: false }, headers))).toBe('409 idempotency-key-reused')
    expect((await create({ enabled: false })).body).toMatchObject({ enabled: false })
    await remove(id)
    expect(refusalOf(await create({}, headers))).toBe('409 idempotency-key-reused')
  })

  test('are at most five hundred for an organisation, which does not count those of others', async () => {
    const { orgId } = await givenOrganisation(s.api)
    const owner = tenantOfFact(orgId)
    const { store } = s.api.world
    const add = async () => {
      const subscriptionId = randomUUID()
      const facts = [ruleFact('NotificationSubscriptionCreated', { subscriptionId, orgId: owner })]
      const target = notificationSubscriptions.of(owner, subscriptionId)
      await store.append(target, 'no_stream', facts, contextOf({ ...s.api.world, orgId: owner }))
    }
    for (let made = 0; made < mostRules; made += 50) await Promise.all(Array.from({ length: 50 }, add))
    await s.api.caughtUp()
    const admin = await s.api.token(orgId, ['notifications:admin'])
    expect(refusalOf(await create({}, admin))).toBe('409 rule-limit')
    expect((await create()).status).toBe(201)
    await remove(idsIn(await list('?limit=1&orgId=' + orgId, admin))[0] ?? '', admin)
    expect((await create({}, admin)).status).toBe(201)
  })

  test.each([
    [{ type: 'user', path: 'user_id' }],
    [{ type: 'patient', path: 'a.b.c.d.e.f.g.h' }],
    [{ type: 'slackChannel', channel: 'C0123' }],
    [{ type: 'slackChannel', channel: '#ward-7' }],
  ])('takes the recipient rule %j', async (recipientRule) => {
    expect(await create({ recipientRule })).toMatchObject({ status: 201, body: { recipientRule } })
  })

  test.each([
    [{ type: 'user' }, '/recipientRule/path'],
    [{ type: 'user', channel: 'C0123' }, '/recipientRule/channel'],
    [{ type: 'slackChannel', channel: 'C0123', path: 'a' }, '/recipientRule/path'],
    [{ type: 'slackChannel' }, '/recipientRule/channel'],
    [{ type: 'email', path: 'a' }, '/recipientRule/type'],
    [{ type: 'user', path: 'a.b.c.d.e.f.g.h.i' }, '/recipientRule/path'],
    [{ type: 'user', path: 'lesions.*.id' }, '/recipientRule/path'],
    [{ type: 'user', path: 'a..b' }, '/recipientRule/path'],
    [{ type: 'user', path: "a['b']" }, '/recipientRule/path'],
    [{ type: 'user', path: 'a', more: 1 }, '/recipientRule/more'],
    [{ type: 'slackChannel', channel: 'C0123\n' }, '/recipientRule/channel'],
  ])('refuses the recipient rule %j', async (recipientRule, pointer) => {
    expect(refusalOf(await create({ recipientRule }))).toBe(`400 validation-failed ${pointer}`)
  })

  test('refuses names that are none, and members that it does not know', async () => {
    expect(refusalOf(await create({ eventType: 'assessment' }))).toBe('400 validation-failed /eventType')
    expect(refusalOf(await create({ eventType: 'a.b c' }))).toBe('400 validation-failed /eventType')
    expect(refusalOf(await create({ templateCode: 'Bad Code' }))).toBe('400 validation-failed /templateCode')
    expect(refusalOf(await create({ note: 'x' }))).toBe('400 validation-failed /note')
    expect((await create({ eventType: 'partner.any-thing.v2' })).status).toBe(201)
  })

  test('refuses a code without a template for the channel of its recipients', async () => {
    const code = `code-${randomUUID()}`
    const isUnknown = '400 validation-failed /templateCode'
    expect(refusalOf(await create({ templateCode: code }))).toBe(isUnknown)
    await givenTemplate(s, { code, channel: 'email', orgId: s.hospital.orgId })
    expect(refusalOf(await create({ templateCode: code }))).toBe(isUnknown)
    await givenTemplate(s, { code, channel: 'email', orgId: s.clinic.orgId })
    const id = idOf(await create({ templateCode: code }))
    expect(refusalOf(await create({ templateCode: code, orgId: null }, s.platform))).toBe(isUnknown)
    const recipientRule = { type: 'slackChannel', channel: 'C0123' }
    expect(refusalOf(await change(id, { recipientRule }))).toBe(isUnknown)
    expect(refusalOf(await change(id, { templateCode: 'unknown' }))).toBe(isUnknown)
    expect((await change(id, { recipientRule, templateCode: 'other' })).status).toBe(200)
  })

  test('lets only chat rules react to notifications', async () => {
    for (const type of ['user', 'patient']) {
      const answer = await create({ eventType: 'notification.failed', recipientRule: { type, path: 'userId' } })
      expect(refusalOf(answer)).toBe('400 validation-failed /recipientRule')
    }
    const chat = await create({
      eventType: 'notification.failed',
      recipientRule: { type: 'slackChannel', channel: 'C0123' },
    })
    expect(chat.status).toBe(201)
    const recipientRule = { type: 'user', path: 'userId' }
    expect(refusalOf(await change(idOf(chat), { recipientRule }))).toBe('400 validation-failed /recipientRule')
  })

  test('needs the scope or the permission notifications:admin', async () => {
    const reader = await s.api.token(s.clinic.orgId, ['notifications:read', 'notifications:send'])
    expect(refusalOf(await create({}, reader))).toBe('403 insufficient-scope')
    const actor = await s.actor(randomUUID(), ['notifications:admin'], [])
    expect((await create({}, actor)).status).toBe(201)
    expect(refusalOf(await create({}, await s.actor(randomUUID(), ['users:admin'], [])))).toBe('403 permission-missing')
  })
})

describe('rules of the platform', () => {
  test('are made by platform clients, who name the owner', async () => {
    expect(refusalOf(await create({}, s.platform))).toBe('400 org-required')
    expect(refusalOf(await create({ orgId: null }))).toBe('403 platform-client-required')
    expect(refusalOf(await create({ orgId: s.hospital.orgId }))).toBe('404 not-found')
    expect((await create({ orgId: null }, s.platform)).body).toMatchObject({ orgId: null })
    expect((await create({ orgId: s.hospital.orgId }, s.platform)).body).toMatchObject({ orgId: s.hospital.orgId })
    expect((await create({ orgId: s.clinic.orgId.toUpperCase() })).body).toMatchObject({ orgId: s.clinic.orgId })
  })

  test('are seen by every organisation, and changed by none', async () => {
    const id = idOf(await create({ orgId: null }, s.platform))
    expect((await get(id)).status).toBe(200)
    expect(refusalOf(await change(id, { enabled: false }))).toBe('403 platform-client-required')
    expect(refusalOf(await remove(id))).toBe('403 platform-client-required')
    expect((await change(id, { enabled: false }, s.platform)).body).toMatchObject({ enabled: false, orgId: null })
    expect((await change(id, { enabled: true, orgId: null }, s.platform)).body).toMatchObject({ enabled: true })
    expect(refusalOf(await change(id, { orgId: s.clinic.orgId }, s.platform))).toBe('404 not-found')
    expect((await remove(id, s.platform)).status).toBe(204)
    expect(refusalOf(await remove(id))).toBe('404 not-found')
  })
})

describe('PATCH /v1/notifications/admin/subscriptions/{id}', () => {
  test('changes what the body names, and nothing twice', async () => {
    const created = await create()
    const id = idOf(created)
    const changed = await change(id, { enabled: false, templateCode: 'other' }, { ...s.clinicAdmin, 'if-match': '"0"' })
    expect(changed).toMatchObject({
      status: 200,
      etag: '"1"',
      body: { ...rule, templateCode: 'other', enabled: false },
    })
    const recipientRule = { type: 'slackChannel', channel: 'C0123' }
    expect((await change(id, { recipientRule })).body).toMatchObject({ recipientRule, enabled: false })
    expect(await change(id, { recipientRule })).toMatchObject({ status: 200, etag: '"2"' })
    expect(await get(id)).toMatchObject({ etag: '"2"', body: { recipientRule } })
    expect(refusalOf(await change(id, {}, { ...s.clinicAdmin, 'if-match': '"0"' }))).toBe('412 precondition-failed')
    expect(refusalOf(await remove(id, { ...s.clinicAdmin, 'if-match': '"0"' }))).toBe('412 precondition-failed')
    expect(refusalOf(await change(id, { eventType: 'a.b' }))).toBe('400 validation-failed /eventType')
  })

  test('and DELETE answer 404 for rules of another organisation, also to its own list', async () => {
    const id = idOf(await create())
    expect(refusalOf(await change(id, { enabled: false }, s.hospitalAdmin))).toBe('404 not-found')
    expect(refusalOf(await remove(id, s.hospitalAdmin))).toBe('404 not-found')
    expect(refusalOf(await get(id, s.hospitalAdmin))).toBe('404 not-found')
    expect(idsIn(await list('?limit=200', s.hospitalAdmin))).not.toContain(id)
    expect((await change(id, { enabled: false }, s.platform)).status).toBe(200)
    expect((await remove(id)).status).toBe(204)
    expect(refusalOf(await remove(id))).toBe('404 not-found')
    expect(refusalOf(await change(id, { enabled: true }))).toBe('404 not-found')
    expect(refusalOf(await change(id, { enabled: true }, s.platform))).toBe('404 not-found')
  })
})

describe('GET /v1/notifications/admin/subscriptions', () => {
  test('filters by event type and organisation, in pages', async () => {
    const eventType = `test.${randomUUID()}`
    const own = idOf(await create({ eventType }))
    const foreign = idOf(await create({ eventType, orgId: s.hospital.orgId }, s.platform))
    const ofPlatform = idOf(await create({ eventType, orgId: null }, s.platform))
    const query = `?eventType=${eventType}`
    expect(idsIn(await list(query))).toEqual([own, ofPlatform])
    expect(idsIn(await list(query, s.hospitalAdmin))).toEqual([foreign, ofPlatform])
    expect(idsIn(await list(`${query}&orgId=${s.clinic.orgId}`))).toEqual([own])
    expect(refusalOf(await list(`${query}&orgId=${s.hospital.orgId}`))).toBe('404 not-found')
    expect(idsIn(await list(query, s.platform))).toEqual([own, foreign, ofPlatform])
    expect(idsIn(await list(`${query}&orgId=${s.hospital.orgId}`, s.platform))).toEqual([foreign])
    const page = await list(`${query}&limit=1`)
    const { nextCursor, hasMore } = page.body as { nextCursor: string; hasMore: boolean }
    expect([idsIn(page), hasMore]).toEqual([[own], true])
    expect(idsIn(await list(`${query}&limit=1&cursor=${nextCursor}`))).toEqual([ofPlatform])
    expect(refusalOf(await list(`${query}&cursor=${nextCursor}`, s.hospitalAdmin))).toBe('400 invalid-cursor')
  })
})
