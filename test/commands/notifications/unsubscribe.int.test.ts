import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  unsubscribeHeaders,
  unsubscribeUrl,
  type UnsubscribeSubject,
} from '../../../commands/notifications/unsubscribe-links.ts'
import { createCursors } from '../../../platform/http/cursors.ts'
import { sealBytes } from '../../../platform/kit/sealed-bytes.ts'
import { notificationPreferences } from '../../../streams/notification-preferences/aggregate.ts'
import { changeStatus, givenMember, type GivenMembership } from '../../read-api/users/given-users.ts'
import { unsigned } from '../../read-api/users/users-api.ts'
import { openSettingsApi, type SettingsApi } from './settings-api.ts'

const day = 86_400_000
const baseUrl = 'https://clinic.example/platform'

let s: SettingsApi
let user: GivenMembership
beforeAll(async () => {
  s = await openSettingsApi()
  user = await givenMember(s.api, s.clinic)
})
afterAll(() => s.close())

const deps = (agoMs = 0) => {
  const { vault, now } = s.api.world
  return { vault, configuration: { baseUrl }, now: () => new Date(now().getTime() - agoMs) }
}

/** Path of the link below the service, as it stood in a message. */
async function linkOf(more: Partial<UnsubscribeSubject> = {}, agoMs = 0): Promise<string> {
  const subject = {
    userId: user.userId,
    orgId: s.clinic.orgId,
    category: 'marketing',
    channel: 'email',
    ...more,
  } as const
  const url = (await unsubscribeUrl(deps(agoMs), subject)) ?? ''
  expect(url).toMatch(/^https:\/\/clinic\.example\/platform\/v1\/notifications\/unsubscribe\?token=[\w-]{200,400}$/)
  return url.slice(`${baseUrl}/v1/notifications`.length)
}

const oneClick = { 'content-type': 'application/x-www-form-urlencoded' }
const get = (path: string) => s.call('GET', path, {})
const post = (path: string) => s.call('POST', path, oneClick, 'List-Unsubscribe=One-Click')
const optOutsOf = async (userId = user.userId) => {
  const { state } = await s.api.world.store.load(notificationPreferences.of(userId))
  return [...state.values()].flatMap(({ category, channel, optedOut }) => (optedOut ? [`${category}.${channel}`] : []))
}
const set = (userId: string, optedOut: boolean) =>
  s.call('PUT', `/preferences/${userId}`, s.clinicAdmin, [{ category: 'marketing', channel: 'email', optedOut }])

describe('the headers of a mail', () => {
  const headersFor = (category: UnsubscribeSubject['category']) =>
    unsubscribeHeaders(deps(), { userId: user.userId, orgId: s.clinic.orgId, category, channel: 'email' })

  test.each(['marketing', 'operational'] as const)('of the category %s allow one click', async (category) => {
    expect(await headersFor(category)).toEqual({
      'List-Unsubscribe': expect.stringMatching(/^<https:\/\/clinic\.example\/[\w/?=-]+>$/),
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    })
  })

  test.each(['transactional', 'clinical'] as const)('of the category %s are none', async (category) => {
    expect(await headersFor(category)).toBeNull()
  })
})

describe('GET /v1/notifications/unsubscribe', () => {
  test('shows a button, changes nothing and names nobody', async () => {
    const path = await linkOf()
    const { status, headers, body } = await get(path)
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
    )
    expect(headers).toMatchObject({ 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' })
    expect(body).toContain('<form method="post"><button>Unsubscribe</button></form>')
    expect(body).toContain('Stop marketing e-mails?')
    for (const name of [user.userId, s.clinic.orgId, 'canary']) expect(body).not.toContain(name)
    expect(await optOutsOf()).toEqual([])
  })
})

describe('POST /v1/notifications/unsubscribe', () => {
  test('opts the user out of this kind of message, repeated with the same answer', async () => {
    const { userId } = await givenMember(s.api, s.clinic)
    const path = await linkOf({ userId, category: 'operational' })
    const first = await post(path)
    expect([first.status, first.body]).toEqual([200, expect.stringContaining('no more operational e-mails')])
    expect(await optOutsOf(userId)).toEqual(['operational.email'])
    const again = await post(path)
    expect([again.status, again.body]).toEqual([200, first.body])
    const { state, revision } = await s.api.world.store.load(notificationPreferences.of(userId))
    expect([revision, state.get('operational.email')?.organisationId]).toEqual([0n, s.clinic.orgId])
    const { body } = await s.call('GET', `/preferences/${userId}`, s.clinicAdmin)
    const effective = expect.objectContaining({ category: 'operational', channel: 'email', effective: true })
    expect(body).toMatchObject({ data: expect.arrayContaining([effective]) })
  })

  test('takes a form of either kind, or no body, and no JSON', async () => {
    const boundary = 'b1'
    const multipart = `--${boundary}\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--${boundary}--\r\n`
    const types = [
      [{ 'content-type': `multipart/form-data; boundary=${boundary}` }, multipart],
      [oneClick, 'List-Unsubscribe=One-Click'],
      [{}, undefined],
    ] as const
    for (const [headers, payload] of types) {
      const { userId } = await givenMember(s.api, s.clinic)
      const answer = await s.call('POST', await linkOf({ userId }), headers, payload)
      expect([answer.status, await optOutsOf(userId)]).toEqual([200, ['marketing.email']])
    }
    const { userId } = await givenMember(s.api, s.clinic)
    expect((await s.call('POST', await linkOf({ userId }), {}, {})).status).toBe(415)
    // Forms are for this route only.
    const asForm = { ...s.clinicAdmin, ...types[0][0] }
    expect((await s.call('POST', '/admin/suppressions', asForm, multipart)).status).toBe(415)
    expect(await optOutsOf(userId)).toEqual([])
  })

  test('has no effect after a later opt-in, and has one again in a newer message', async () => {
    const { userId } = await givenMember(s.api, s.clinic)
    const old = await linkOf({ userId }, day)
    await post(old)
    expect(await optOutsOf(userId)).toEqual(['marketing.email'])
    await set(userId, false)
    const answer = await post(old)
    expect([answer.status, answer.body]).toEqual([200, expect.stringContaining('Nothing has changed')])
    expect(await optOutsOf(userId)).toEqual([])
    s.api.world.pass(1)
    await post(await linkOf({ userId }))
    expect(await optOutsOf(userId)).toEqual(['marketing.email'])
  })

  test('works for 180 days', async () => {
    const { userId } = await givenMember(s.api, s.clinic)
    const late = await linkOf({ userId }, 180 * day)
    expect([(await get(late)).status, (await post(late)).status]).toEqual([410, 410])
    expect(await optOutsOf(userId)).toEqual([])
    expect((await post(await linkOf({ userId }, 180 * day - 60_000))).status).toBe(200)
  })

  test('refuses the links of users that are erased or unknown', async () => {
    const erased = await givenMember(s.api, s.clinic)
    const path = await linkOf({ userId: erased.userId })
    await changeStatus(s.api, erased, 'UserErasureStarted', [s.clinic.orgId])
    expect((await post(path)).status).toBe(404)
    expect((await post(await linkOf({ userId: randomUUID() }))).status).toBe(404)
    expect(await optOutsOf(erased.userId)).toEqual([])
  })

  test('refuses every other token, and each change of its own', async () => {
    const { vault } = s.api.world
    const [key = new Uint8Array()] = await vault.secretsOf('unsubscribe')
    const claims = {
      userId: user.userId,
      orgId: s.clinic.orgId,
      category: 'marketing',
      channel: 'email',
      issuedAtMs: 1,
    }
    const bytes = Buffer.from(JSON.stringify(claims))
    const sealed = (by: Uint8Array, place: string) => sealBytes(createSecretKey(by), place, bytes).toString('base64url')
    const token = (await linkOf()).split('=').at(-1) ?? ''
    const list = { list: 'unsubscribe link', orgId: s.clinic.orgId, sort: '', filters: {} }
    const bearer = s.clinicAdmin['authorization']?.split(' ').at(-1) ?? ''
    const vectors = {
      'access token': bearer,
      'actor context': unsigned({ user_id: user.userId, org_id: s.clinic.orgId }),
      cursor: createCursors({ key: await vault.secret('cursor', 'current') }).seal(list, [user.userId]),
      'the key of cursors': sealed(await vault.secret('cursor', 'current'), 'unsubscribe link'),
      'another place': sealed(key, 'another place'),
      'a new key': sealed(randomBytes(32), 'unsubscribe link'),
      'its claims without a seal': bytes.toString('base64url'),
      'a changed byte': `${token.slice(0, 60)}${token[60] === 'A' ? 'B' : 'A'}${token.slice(61)}`,
      'a cut': token.slice(0, -4),
      'an addition': `${token}AAAA`,
      'another spelling': `${token}=`,
      'a few characters': 'AAAA',
    }
    for (const [name, vector] of Object.entries(vectors)) {
      for (const ask of [get, post]) {
        expect([name, (await ask(`/unsubscribe?token=${encodeURIComponent(vector)}`)).status]).toEqual([name, 404])
      }
    }
    expect(await optOutsOf()).toEqual([])
  })

  test('changes nothing for other users', async () => {
    const other = await givenMember(s.api, s.clinic)
    await post(await linkOf({ userId: other.userId }))
    expect([await optOutsOf(), await optOutsOf(s.member.userId)]).toEqual([[], []])
    // The token opens nothing else.
    const token = (await linkOf()).split('=').at(-1) ?? ''
    const headers = { authorization: `Bearer ${token}` }
    expect((await s.call('GET', `/preferences/${user.userId}`, headers)).status).toBe(401)
  })
})
