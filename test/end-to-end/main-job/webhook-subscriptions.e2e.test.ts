import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer, ApiClient } from '../../support/raw-api.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import { expecting } from '../../support/main-job.ts'
import { clientOf, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'

const base = '/v1/clinical-api/webhook-subscriptions'
const keyList = '/v1/clinical-api/.well-known/webhook-keys'

let platform: PlatformInUse
let watched: WatchedPlatform
let api: ApiClient
let stranger: ApiClient

beforeAll(async () => {
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  stranger = watched.watch(await platform.connect(clientOf(platform.process, 1)))
})
afterAll(() => platform.stop())

const subscribe = (path: string, more: object = {}) =>
  expecting(
    201,
    api.call(base, { body: { url: `http://127.0.0.1:1/${path}`, event_types: ['assessment.failed'], ...more } }),
  )

/** The record without the members that only the creating answer contains. */
function readable({ body }: ApiAnswer): unknown {
  const { secret: _, ...record } = Object(body)
  return record
}

async function publishedKeys(kid: unknown): Promise<unknown> {
  return at((await expecting(200, watched.send(`${keyList}?kid=${String(kid)}`))).body, 'keys')
}

test('every write returns the record and the version of the next GET', async () => {
  const made = await subscribe('written')
  const path = `${base}/${textAt(made.body, 'id')}`
  const writes = [
    made,
    await expecting(200, api.call(path, { method: 'PATCH', body: { status: 'disabled', payload_mode: 'thin' } })),
    await expecting(200, api.call(path, { method: 'PATCH', body: { url: 'http://127.0.0.1:1/moved' } })),
    await expecting(
      200,
      api.call(path, {
        method: 'PATCH',
        body: { status: 'active', description: 'on again' },
        headers: { 'if-match': '"3"' },
      }),
    ),
    await expecting(200, api.call(`${path}/rotate-secret`, { method: 'POST' })),
  ]
  const last = writes.at(-1)
  const read = await expecting(200, api.call(path))
  expect([read.body, read.headers.get('etag')]).toEqual([readable(last ?? made), last?.headers.get('etag')])
  expect(writes.map(({ headers }) => headers.get('etag'))).toEqual(['"0"', '"2"', '"3"', '"5"', '"6"'])
  expect(read.body).toMatchObject({
    status: 'active',
    payload_mode: 'thin',
    url: 'http://127.0.0.1:1/moved',
    description: 'on again',
  })
})

test('If-Match accepts the version that was read, also after changes of other subscriptions', async () => {
  const [one, two] = [await subscribe('one'), await subscribe('two')]
  const etag = (await expecting(200, api.call(`${base}/${textAt(one.body, 'id')}`))).headers.get('etag') ?? ''
  await expecting(
    200,
    api.call(`${base}/${textAt(two.body, 'id')}`, { method: 'PATCH', body: { description: 'other' } }),
  )
  const change = (description: string) =>
    api.call(`${base}/${textAt(one.body, 'id')}`, {
      method: 'PATCH',
      body: { description },
      headers: { 'if-match': etag },
    })
  await expecting(200, change('first'))
  expect(at((await expecting(412, change('second'))).body, 'code')).toBe('precondition-failed')
})

test('only the answer that created a secret contains it', async () => {
  const made = await subscribe('secret')
  const path = `${base}/${textAt(made.body, 'id')}`
  const rotated = await expecting(
    200,
    api.call(`${path}/rotate-secret`, { method: 'POST', body: { grace_seconds: 60 } }),
  )
  const secrets = [made, rotated].map(({ body }) => textAt(body, 'secret'))
  expect(new Set(secrets).size).toBe(2)
  for (const answer of [
    await api.call(path),
    await api.call(base),
    await api.call(path, { method: 'PATCH', body: { description: 'x' } }),
  ]) {
    expect(answer.status).toBe(200)
    for (const secret of ['whsec_', ...secrets]) expect(JSON.stringify(answer.body)).not.toContain(secret)
  }
})

test('the key list has the key of the record, and the previous one while it still signs', async () => {
  const made = await subscribe('keys')
  const id = textAt(made.body, 'id')
  const rotated = await expecting(200, api.call(`${base}/${id}/rotate-secret`, { method: 'POST' }))
  for (const { body } of [made, rotated]) {
    const x = Buffer.from(textAt(body, 'public_key').replace('whpk_', ''), 'base64').toString('base64url')
    expect(await publishedKeys(at(body, 'public_key_id'))).toEqual([
      { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig', kid: at(body, 'public_key_id'), x },
    ])
  }
  const all = await expecting(200, watched.send(keyList))
  expect(all.headers.get('cache-control')).toBe('public, max-age=300')
  expect(at(all.body, 'keys', 0, 'kid')).toBe(at(rotated.body, 'public_key_id'))
  await expecting(204, api.call(`${base}/${id}`, { method: 'DELETE' }))
  expect(await publishedKeys(at(rotated.body, 'public_key_id'))).toEqual([])
})

test('a deleted subscription is in no list, and its address may be used again', async () => {
  const made = await subscribe('deleted')
  const path = `${base}/${textAt(made.body, 'id')}`
  expect((await stranger.call(path, { method: 'DELETE' })).status).toBe(404)
  await expecting(204, api.call(path, { method: 'DELETE' }))
  for (const method of ['GET', 'DELETE']) expect((await api.call(path, { method })).status).toBe(404)
  const listed = Object(at((await expecting(200, api.call(base))).body, 'data')) as readonly unknown[]
  expect(listed.map((record) => at(record, 'id'))).not.toContain(at(made.body, 'id'))
  expect(at((await subscribe('deleted')).body, 'id')).not.toBe(at(made.body, 'id'))
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toEqual(
    expect.arrayContaining([
      'changeWebhookSubscription 412',
      'deleteWebhookSubscription 204',
      'getWebhookKeys 200',
      'rotateWebhookSecret 200',
    ]),
  )
  expect(await watched.undocumented()).toEqual([])
})
