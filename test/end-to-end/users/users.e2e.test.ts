import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient, RawApi } from '../../support/raw-api.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import { expecting } from '../../support/main-job.ts'
import { startPlatformHere, type PlatformHere } from '../../support/platform.ts'
import { refusal, withHeaders } from '../consent/consent-world.ts'

// Section 4.3 of the specification: a person gets an account, administers consent with it, and loses it.

const types = '/v1/admin/consent-types'

let platform: PlatformHere
let watched: WatchedPlatform
let api: ApiClient
let bootstrap: RawApi
let orgId: string

beforeAll(async () => {
  platform = await startPlatformHere({ env: { ACTOR_CONTEXT_MODE: 'resolve' } })
  watched = watchPlatform(platform.baseUrl)
  orgId = platform.process.credentials.org_id
  api = watched.watch(await platform.connect())
  const secret = platform.process.credentials.admin_api_secret ?? ''
  bootstrap = watched.watchCalls(withSecret(secret))
})
afterAll(() => platform.stop())

/** The administrator secret without a token. */
function withSecret(secret: string): RawApi {
  return {
    async call(path, { method, body } = {}) {
      const headers = {
        'x-admin-api-secret': secret,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      }
      const init = { method: method ?? (body === undefined ? 'GET' : 'POST'), headers }
      const response = await fetch(
        `${platform.baseUrl}${path}`,
        body === undefined ? init : { ...init, body: JSON.stringify(body) },
      )
      const text = await response.text()
      return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
    },
  }
}

async function actorOf(userId: string): Promise<RawApi> {
  const { body } = await expecting(200, api.call(`/v1/users/${userId}/context`))
  return withHeaders(api, { 'x-actor-context': textAt(body, 'token') })
}

test('a user whose actor context is resolved administers consent until it is deactivated', async () => {
  const described = { organisationId: orgId, name: `Consent ${randomUUID()}`, permissions: ['consents:admin'] }
  const role = await expecting(201, bootstrap.call('/v1/admin/roles', { body: described }))
  const person = { email: `${randomUUID()}@example.org`, displayName: 'Jane', userType: 'clinician' }
  const user = await expecting(201, bootstrap.call('/v1/admin/users', { body: person }))
  const userId = textAt(user.body, 'id')
  expect(at(user.body, 'memberships')).toEqual([])
  expect(refusal(await api.call(`/v1/users/${userId}/context`))).toBe('404 not-found')

  const membership = { organisationId: orgId, roleId: textAt(role.body, 'id') }
  const memberships = `/v1/admin/users/${userId}/memberships`
  await expecting(201, bootstrap.call(memberships, { body: membership }))
  expect(refusal(await bootstrap.call(memberships, { body: membership }))).toBe('409 membership-exists')
  const actor = await actorOf(userId)
  expect((await actor.call('/v1/users/me')).body).toMatchObject({ id: userId, permissions: ['consents:admin'] })
  expect((await actor.call('/v1/users/me', { method: 'PATCH', body: { displayName: 'Joan' } })).status).toBe(200)
  const type = { code: 'research', displayName: 'Research', legalBasis: 'consent', required: false }
  await expecting(201, actor.call(types, { body: type }))
  expect(refusal(await actor.call('/v1/admin/users'))).toBe('403 permission-missing')

  const deactivated = await expecting(200, bootstrap.call(`/v1/admin/users/${userId}`, { method: 'DELETE' }))
  expect(at(deactivated.body, 'status')).toBe('deactivated')
  expect(refusal(await api.call(`/v1/users/${userId}/context`))).toBe('403 user-not-active')
  await expect.poll(async () => refusal(await actor.call(types)), { timeout: 15_000 }).toBe('403 user-not-active')

  const erased = await expecting(200, bootstrap.call(`/v1/admin/users/${userId}/erase`, { method: 'POST' }))
  expect(at(erased.body, 'status')).toBe('erased')
  expect(refusal(await bootstrap.call(`/v1/admin/users/${userId}`))).toBe('410 user-erased')
  await expecting(201, bootstrap.call('/v1/admin/users', { body: person }))
})

test('every answer is documented', async () => {
  expect(await watched.undocumented()).toEqual([])
  const seen: readonly string[] = await watched.seen()
  expect(seen).toEqual(expect.arrayContaining(['createUser 201', 'addMembership 201', 'createRole 201']))
})
