import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootstrap, unsigned } from '../../read-api/users/users-api.ts'
import { refusalOf } from '../users/write-callers.ts'
import { openHumanReviewApi, type Headers, type HumanReviewApi } from './human-review-api.ts'

let h: HumanReviewApi
let reader: Headers
let admin: Headers
beforeAll(async () => {
  h = await openHumanReviewApi()
  reader = await h.client(['human-review:read'])
  admin = await h.clinician(userId, { permissions: ['human-review:admin'], scopes: [] })
})
afterAll(() => h.close())

const userId = randomUUID()
const put = (body: object, headers = admin) => h.call('PUT', '/policy', headers, body)
const get = () => h.call('GET', '/policy', reader)

describe('the policy', () => {
  test('has no rules before the first PUT, and is then replaced as a whole', async () => {
    const none = { rules: [], lease_seconds: 1_800, version: 0, updated_at: null, updated_by: null }
    expect(await get()).toMatchObject({ status: 200, etag: '"-1"', body: none })

    const rules = [
      { always: true, opinions: 2 },
      { categories: ['MALIGNANT'], priority_at_most: 2, share: 0.5 },
    ]
    const set = await put({ rules, lease_seconds: 60 }, { ...admin, 'if-match': '"-1"' })
    const record = {
      rules: [rules[0], { ...rules[1], opinions: 1 }],
      lease_seconds: 60,
      version: 1,
      updated_at: h.api.world.now().toISOString(),
      updated_by: userId,
    }
    expect(set).toMatchObject({ status: 200, etag: '"0"' })
    expect(set.body).toEqual(record)
    const read = await get()
    expect([read.etag, read.body]).toEqual([`"0.${h.api.world.orgId}"`, record])
    const gateway = await h.call('GET', '/v1/policy', reader)
    expect(gateway.body).toEqual(record)

    h.api.world.pass(1)
    expect(await put({ rules, lease_seconds: 60 })).toMatchObject({ status: 200, etag: '"0"', body: record })
    expect(refusalOf(await put({ rules: [] }, { ...admin, 'if-match': '"-1"' }))).toBe('412 precondition-failed')
    const org = `?org_id=${h.api.world.orgId}`
    expect(await h.call('PUT', `/policy${org}`, bootstrap, { rules: [] })).toMatchObject({
      etag: '"1"',
      body: { rules: [], lease_seconds: 1_800, version: 2, updated_by: null },
    })
    expect((await get()).body).toMatchObject({ rules: [], version: 2 })
  })

  test('is one per organisation', async () => {
    const foreign = await h.client(['human-review:read'], randomUUID())
    expect((await h.call('GET', '/policy', foreign)).body).toMatchObject({ version: 0 })
  })

  test('has a version that tells apart the organisations of the actor', async () => {
    const [left, right] = [randomUUID(), randomUUID()]
    for (const [orgId, seconds] of [
      [left, 60],
      [right, 90],
    ] as const)
      await h.call('PUT', `/policy?org_id=${orgId}`, bootstrap, { rules: [], lease_seconds: seconds })
    const policyOf = async (orgId: string, headers = {}) => {
      const actor = await h.api.actor(unsigned({ user_id: userId, org_id: orgId, permissions: [] }), null, [
        'human-review:read',
      ])
      return h.call('GET', '/policy', { ...actor, ...headers })
    }
    const known = { 'if-none-match': String((await policyOf(left)).etag) }
    expect(await policyOf(right, known)).toMatchObject({ status: 200, body: { lease_seconds: 90 } })
  })
})

test.each([
  [{}, '/rules'],
  [{ rules: [{}] }, '/rules/0'],
  [{ rules: [{ always: true }, { opinions: 2 }] }, '/rules/1'],
  [{ rules: [{ always: false }] }, '/rules/0/always'],
  [{ rules: [{ share: 0 }] }, '/rules/0/share'],
  [{ rules: [{ share: 1.01 }] }, '/rules/0/share'],
  [{ rules: [{ always: true, opinions: 3 }] }, '/rules/0/opinions'],
  [{ rules: [{ categories: [] }] }, '/rules/0/categories'],
  [{ rules: [{ always: true, names: ['x'] }] }, '/rules/0/names'],
  [{ rules: Array.from({ length: 21 }, () => ({ always: true })) }, '/rules'],
  [{ rules: [], lease_seconds: 4 }, '/lease_seconds'],
  [{ rules: [], lease_seconds: 86_401 }, '/lease_seconds'],
])('PUT /policy refuses %j', async (body, pointer) => {
  expect(refusalOf(await put(body))).toBe(`400 validation-failed ${pointer}`)
})

test('the policy is for scopes to read, and for administrators to set', async () => {
  const decider = await h.clinician()
  expect(refusalOf(await put({ rules: [] }, decider))).toBe('403 permission-missing')
  expect(refusalOf(await put({ rules: [] }, await h.client()))).toBe('403 actor-context-missing')
  expect(refusalOf(await put({ rules: [] }, { 'x-admin-api-secret': 'wrong' }))).toBe('401 admin-secret-invalid')
  expect(refusalOf(await put({ rules: [] }, bootstrap))).toBe('400 org-required')
  expect(refusalOf(await h.call('GET', '/policy', await h.client(['cases:read'])))).toBe('403 insufficient-scope')
  expect((await h.call('GET', '/policy', await h.client(['human-review:write']))).status).toBe(200)
})
