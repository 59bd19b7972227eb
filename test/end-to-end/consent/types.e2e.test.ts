import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import { expecting } from '../../support/main-job.ts'
import { operationsOf } from '../../support/operations.ts'
import { clientOf } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'
import { openConsentWorld, refusal, withHeaders, type ConsentWorld } from './consent-world.ts'

// The rows about types and texts in sections 4.4 and 2.5 of the specification, with the additions of the contract.

const unknownId = '0190b0a0-0000-7000-8000-000000000001'
const types = '/v1/admin/consent-types'

let world: ConsentWorld

beforeAll(async () => {
  world = await openConsentWorld(await joinSharedPlatform())
})

afterAll(() => world.platform.stop())

const dataOf = (body: unknown) => at(body, 'data') as readonly unknown[]
const described = (code: string) => ({
  code,
  displayName: 'Research',
  description: 'On photographs',
  legalBasis: 'consent',
  required: true,
})

async function createType(code: string): Promise<string> {
  return textAt((await expecting(201, world.admin.call(types, { body: described(code) }))).body, 'id')
}

describe('POST /v1/admin/consent-types', () => {
  test('creates a type: 201 with the record, which a GET returns at once', async () => {
    const { body, headers } = await expecting(201, world.admin.call(types, { body: described('created') }))
    const id = textAt(body, 'id')
    expect(body).toEqual({
      id,
      organisationId: world.orgId,
      ...described('created'),
      createdAt: at(body, 'updatedAt'),
      updatedAt: expect.any(String),
    })
    expect(headers.get('location')).toBe(`${types}/${id}`)
    const read = await expecting(200, world.admin.call(`${types}/${id}`))
    expect([read.body, read.headers.get('etag')]).toEqual([
      { ...Object(body), textVersions: [], hasMoreTextVersions: false },
      headers.get('etag'),
    ])
  })

  test('requires unique codes in the organisation, in the documented form', async () => {
    await createType('unique_code')
    const ask = async (members: object) =>
      refusal(await world.admin.call(types, { body: { ...described('another'), ...members } }))
    expect(await ask({ code: 'unique_code' })).toBe('409 consent-type-code-in-use')
    for (const code of ['', 'Upper', '1st', 'with-dash', 'x'.repeat(65)])
      expect(await ask({ code })).toBe('400 validation-failed /code')
    expect(await ask({ legalBasis: '' })).toBe('400 validation-failed /legalBasis')
    expect(await ask({ required: 'yes' })).toBe('400 validation-failed /required')
    expect(await ask({ organisationId: unknownId })).toBe('404 not-found')
    const twice = await world.admin.call(`${types}?org_id=${world.orgId}`, {
      body: { ...described('another'), organisationId: unknownId },
    })
    expect(refusal(twice)).toBe('400 validation-failed /org_id')
  })

  test('returns the same answer for the same Idempotency-Key, also after the type was deleted', async () => {
    const keyed = withHeaders(world.admin, { 'idempotency-key': randomUUID() })
    const first = await expecting(201, keyed.call(types, { body: described('keyed') }))
    await expecting(204, world.admin.call(`${types}/${textAt(first.body, 'id')}`, { method: 'DELETE' }))
    const again = await expecting(201, keyed.call(types, { body: described('keyed') }))
    expect([again.body, again.headers.get('idempotency-replayed')]).toEqual([first.body, 'true'])
    expect(refusal(await keyed.call(types, { body: described('keyed_differently') }))).toBe(
      '409 idempotency-key-reused',
    )
  })
})

describe('GET /v1/admin/consent-types', () => {
  test('lists the types of the organisation by code, page by page; filter org_id', async () => {
    for (const code of ['list_b', 'list_a', 'list_c']) await createType(code)
    const codes: string[] = []
    let path = `${types}?limit=2&org_id=${world.orgId}`
    for (
      let page = await expecting(200, world.admin.call(path));
      ;
      page = await expecting(200, world.admin.call(path))
    ) {
      codes.push(...dataOf(page.body).map((type) => textAt(type, 'code')))
      if (at(page.body, 'hasMore') !== true) break
      path = `${types}?limit=2&org_id=${world.orgId}&cursor=${textAt(page.body, 'nextCursor')}`
    }
    expect(codes).toEqual(codes.toSorted())
    expect(codes).toEqual(expect.arrayContaining(['list_a', 'list_b', 'list_c']))
    expect(refusal(await world.admin.call(`${types}?org_id=${unknownId}`))).toBe('404 not-found')
    expect(refusal(await world.admin.call(`${types}?cursor=nonsense`))).toBe('400 invalid-cursor')
  })
})

describe('GET and PATCH /v1/admin/consent-types/{id}', () => {
  test('changes displayName, description and required, and nothing else', async () => {
    const id = await createType('patched')
    await world.publish(id, { locale: 'en-GB', text: 'I agree.' })
    const { body: before } = await expecting(200, world.admin.call(`${types}/${id}`))
    const changes = { displayName: 'Teaching', description: null, required: false }
    const { body, headers } = await expecting(
      200,
      world.admin.call(`${types}/${id}`, { method: 'PATCH', body: changes }),
    )
    expect(body).toMatchObject({
      id,
      code: 'patched',
      legalBasis: 'consent',
      createdAt: at(before, 'createdAt'),
      ...changes,
    })
    expect(Date.parse(textAt(body, 'updatedAt'))).toBeGreaterThanOrEqual(Date.parse(textAt(before, 'updatedAt')))
    const { body: after, headers: read } = await expecting(200, world.admin.call(`${types}/${id}`))
    expect([after, read.get('etag')]).toEqual([
      { ...Object(body), textVersions: at(before, 'textVersions'), hasMoreTextVersions: false },
      headers.get('etag'),
    ])
    const one = await expecting(
      200,
      world.admin.call(`${types}/${id}`, { method: 'PATCH', body: { display_name: 'Both casings' } }),
    )
    expect(one.body).toMatchObject({ displayName: 'Both casings', description: null, required: false })
    const same = await expecting(200, world.admin.call(`${types}/${id}`, { method: 'PATCH', body: {} }))
    expect([same.body, same.headers.get('etag')]).toEqual([one.body, one.headers.get('etag')])

    const patch = async (members: object) =>
      refusal(await world.admin.call(`${types}/${id}`, { method: 'PATCH', body: members }))
    expect(await patch({ code: 'other' })).toBe('400 validation-failed /code')
    expect(await patch({ legalBasis: 'contract' })).toBe('400 validation-failed /legalBasis')
    expect(await patch({ displayName: ' \n' })).toBe('400 validation-failed /displayName')
    expect(await patch({ displayName: null })).toBe('400 validation-failed /displayName')
    expect(refusal(await world.admin.call(`${types}/${unknownId}`, { method: 'PATCH', body: {} }))).toBe(
      '404 not-found',
    )
  })

  test('supports If-Match and If-None-Match', async () => {
    const id = await createType('matched')
    const { headers } = await expecting(200, world.admin.call(`${types}/${id}`))
    const etag = headers.get('etag') ?? ''
    await expecting(304, withHeaders(world.admin, { 'if-none-match': etag }).call(`${types}/${id}`))
    const matching = withHeaders(world.admin, { 'if-match': etag })
    await expecting(200, matching.call(`${types}/${id}`, { method: 'PATCH', body: { required: false } }))
    expect(refusal(await matching.call(`${types}/${id}`, { method: 'PATCH', body: { required: true } }))).toBe(
      '412 precondition-failed',
    )
    for (const body of [{ required: false }, {}]) {
      expect(refusal(await matching.call(`${types}/${id}`, { method: 'PATCH', body }))).toBe('412 precondition-failed')
      await expecting(200, world.admin.call(`${types}/${id}`, { method: 'PATCH', body }))
    }
    expect(refusal(await matching.call(`${types}/${id}`, { method: 'DELETE' }))).toBe('412 precondition-failed')
    await expecting(200, withHeaders(world.admin, { 'if-none-match': etag }).call(`${types}/${id}`))
  })
})

describe('DELETE /v1/admin/consent-types/{id}', () => {
  test('is soft: the type answers 404 everywhere, and its code stays taken', async () => {
    const terms = await world.terms('deleted')
    const path = `${types}/${terms.typeId}`
    expect(refusal(await world.admin.call(path, { method: 'DELETE', body: { really: true } }))).toBe(
      '400 validation-failed /really',
    )
    const { body } = await expecting(204, world.admin.call(path, { method: 'DELETE' }))
    expect(body).toBeUndefined()
    const patientId = randomUUID()
    const refusals = [
      await world.admin.call(path),
      await world.admin.call(path, { method: 'DELETE' }),
      await world.admin.call(path, { method: 'PATCH', body: { required: true } }),
      await world.admin.call(`${path}/text-versions`),
      await world.admin.call(`${path}/text-versions`, { body: { locale: 'en-GB', text: 'I still agree.' } }),
      await world.api.call(`/v1/patients/${patientId}/consents/deleted/status`),
    ]
    expect(refusals.map(refusal)).toEqual(refusals.map(() => '404 not-found'))
    expect(refusal(await world.decide(patientId, terms, 'granted'))).toBe('404 consent-type-not-found /consent_type_id')
    expect((await world.api.call(`/v1/patients/${patientId}/consents/check?types=deleted`)).body).toEqual({
      consents: { deleted: false },
    })
    expect(dataOf((await world.admin.call(`${types}?limit=200`)).body).map((type) => at(type, 'code'))).not.toContain(
      'deleted',
    )
    expect(refusal(await world.admin.call(types, { body: described('deleted') }))).toBe('409 consent-type-code-in-use')
  })

  test('is refused when records exist', async () => {
    const terms = await world.terms('in_use')
    await expecting(201, world.decide(randomUUID(), terms, 'denied'))
    expect(refusal(await world.admin.call(`${types}/${terms.typeId}`, { method: 'DELETE' }))).toBe(
      '409 consent-type-in-use',
    )
    await expecting(201, world.decide(randomUUID(), terms, 'granted'))
  })

  test('and recording at the same time happen in one of the two orders, with every head start', async () => {
    const hasty = withHeaders(world.admin, { prefer: 'respond-async' })
    async function race(round: number): Promise<string> {
      const typeId = textAt((await expecting(201, hasty.call(types, { body: described(`race_${round}`) }))).body, 'id')
      const text = { locale: 'en-GB', text: 'I agree.' }
      const textId = textAt(
        (await expecting(201, hasty.call(`${types}/${typeId}/text-versions`, { body: text }))).body,
        'id',
      )
      const patientId = randomUUID()
      const body = { consent_type_id: typeId, text_version_id: textId, decision: 'granted' }
      // One of the two gets a head start, from none to enough to finish on a busy machine. The result must hold in every round.
      const lead = (round % 2 === 0 ? 1 : -1) * Math.round(1.5 ** round)
      const [decided, deleted] = await Promise.all([
        pause(Math.max(lead, 0)).then(() => hasty.call(`/v1/patients/${patientId}/consents`, { body })),
        pause(Math.max(-lead, 0)).then(() => hasty.call(`${types}/${typeId}`, { method: 'DELETE' })),
      ])
      const { body: record } = await expecting(
        200,
        world.api.call(`/v1/consent-records?patientId=${patientId}&consentTypeCode=race_${round}`),
      )
      expect([round, at(record, 'status')]).toEqual([round, decided.status === 201 ? 'granted' : 'none'])
      return [decided, deleted]
        .map((answer) => (answer.status < 300 ? String(answer.status) : refusal(answer)))
        .join(', ')
    }
    const outcomes: string[] = []
    while (outcomes.length < 20)
      outcomes.push(...(await Promise.all(Array.from({ length: 10 }, (_, place) => race(outcomes.length + place)))))
    expect(new Set(outcomes)).toEqual(
      new Set(['201, 409 consent-type-in-use', '404 consent-type-not-found /consent_type_id, 204']),
    )
  })
})

describe('/v1/admin/consent-types/{typeId}/text-versions', () => {
  test('publishes texts that are never changed, with their SHA-256 and a BCP 47 locale', async () => {
    const typeId = await createType('texts')
    const path = `${types}/${typeId}/text-versions`
    const text = 'Ich stimme zu – für „alles“.'
    const { body, headers } = await expecting(201, world.admin.call(path, { body: { locale: 'DE-de', text } }))
    expect(body).toEqual({
      id: expect.any(String),
      consentTypeId: typeId,
      locale: 'de-DE',
      text,
      contentHash: createHash('sha256').update(text, 'utf8').digest('hex'),
      effectiveFrom: at(body, 'createdAt'),
      createdAt: expect.any(String),
    })
    expect(headers.get('location')).toBe(path)
    const later = { locale: 'de-DE', text: 'Anders.', effectiveFrom: '2030-01-01T00:00:00+01:00' }
    const second = await expecting(201, world.admin.call(path, { body: later }))
    expect(second.body).toMatchObject({ effectiveFrom: '2029-12-31T23:00:00.000Z' })
    expect(refusal(await world.admin.call(path, { body: later }))).toBe('409 text-version-exists')
    const listed = await expecting(200, world.admin.call(path))
    expect(listed.body).toEqual({ data: [body, second.body], nextCursor: null, hasMore: false })
    expect(dataOf((await expecting(200, world.admin.call(`${path}?limit=1`))).body)).toEqual([body])
    const { body: type } = await expecting(200, world.admin.call(`${types}/${typeId}`))
    expect(at(type, 'textVersions')).toEqual([body, second.body])
    for (const method of ['PATCH', 'PUT', 'DELETE']) {
      expect((await world.watched.send(`${path}/${textAt(body, 'id')}`, { method })).status).toBe(404)
    }
  })

  test('refuses invalid texts', async () => {
    const path = `${types}/${await createType('no_texts')}/text-versions`
    const ask = async (members: object) =>
      refusal(await world.admin.call(path, { body: { locale: 'en-GB', text: 'I agree.', ...members } }))
    for (const locale of ['english please', 'e', 'en_GB', ''])
      expect([locale, await ask({ locale })]).toEqual([locale, '400 validation-failed /locale'])
    expect(await ask({ text: '' })).toBe('400 validation-failed /text')
    expect(await ask({ text: 'x'.repeat(100_001) })).toBe('400 validation-failed /text')
    expect(await ask({ effectiveFrom: 'soon' })).toBe('400 validation-failed /effectiveFrom')
    expect(
      refusal(
        await world.admin.call(`${types}/${unknownId}/text-versions`, { body: { locale: 'en-GB', text: 'I agree.' } }),
      ),
    ).toBe('404 not-found')
    expect(refusal(await world.admin.call(`${types}/${unknownId}/text-versions`))).toBe('404 not-found')
    expect(dataOf((await expecting(200, world.admin.call(path))).body)).toEqual([])
  })
})

describe('access', () => {
  test('every route needs a token, and every admin route an administrator', async () => {
    const operations = (await operationsOf(world.platform.baseUrl)).filter(({ path }) => /consent/.test(path))
    expect(operations).toHaveLength(15)
    const nobody = withHeaders(world.api, { 'x-actor-context': actorContext(world.orgId, ['users:admin']) })
    for (const { path, method, isAdmin } of operations) {
      const address = path.replace('{typeCode}', 'research').replace(/\{[^}]+\}/g, unknownId)
      const sent = {
        method,
        ...(method === 'GET' || method === 'DELETE'
          ? {}
          : { headers: { 'content-type': 'application/json' }, body: '{}' }),
      }
      const unknown = await world.watched.send(address, sent)
      expect([address, refusal(unknown)]).toEqual([address, '401 token-missing'])
      if (!isAdmin) continue
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} }
      expect(refusal(await world.api.call(address, { method, ...body }))).toBe('403 actor-context-missing')
      expect(refusal(await nobody.call(address, { method, ...body }))).toBe('403 permission-missing')
    }
  })

  test('the administrator secret is enough by itself, and then names the organisation', async () => {
    const secret = world.platform.process.credentials.admin_api_secret ?? ''
    const ask = (path: string, request: RequestInit = {}) =>
      world.watched.send(path, {
        ...request,
        headers: { 'x-admin-api-secret': secret, 'content-type': 'application/json' },
      })
    const created = await ask(types, {
      method: 'POST',
      body: JSON.stringify({ ...described('by_secret'), organisationId: world.orgId }),
    })
    expect([created.status, at(created.body, 'organisationId')]).toEqual([201, world.orgId])
    expect((await ask(`${types}/${textAt(created.body, 'id')}?org_id=${world.orgId}`)).status).toBe(200)
    expect(refusal(await ask(types))).toBe('400 org-required')
    const wrong = await world.watched.send(types, { headers: { 'x-admin-api-secret': `${secret}x` } })
    expect(refusal(wrong)).toBe('401 admin-secret-invalid')
  })
})

describe('the three mounts', () => {
  test('serve every route alike, and health without a token', async () => {
    const terms = await world.terms('mounted')
    const patientId = randomUUID()
    const { body } = await expecting(201, world.decide(patientId, terms, 'granted'))
    const paths = [
      `/patients/${patientId}/consents?org_id=${world.orgId}`,
      `/patients/${patientId}/consents/mounted/status`,
      `/patients/${patientId}/consents/check?types=mounted`,
      `/patients/${patientId}/consents/history`,
      `/consent-records?patientId=${patientId}&consentTypeCode=mounted`,
      '/admin/consent-types?limit=1',
      `/admin/consent-types/${terms.typeId}`,
      `/admin/consent-types/${terms.typeId}/text-versions`,
    ]
    const mounts = ['/v1', '/v1/consent', '/v1/consent/v1']
    for (const path of paths) {
      const bodies = await Promise.all(
        mounts.map(async (mount) => unsealed((await expecting(200, world.admin.call(`${mount}${path}`))).body)),
      )
      expect([path, bodies[1], bodies[2]]).toEqual([path, bodies[0], bodies[0]])
    }
    for (const mount of mounts) {
      const receiptPath = `${mount}/patients/${patientId}/consents/${textAt(body, 'id')}/receipt`
      const { body: receipted } = await expecting(200, world.admin.call(receiptPath))
      expect(textAt(receipted, 'receipt').split('.')).toHaveLength(3)
      const code = `mounted_${mounts.indexOf(mount)}`
      const id = textAt(
        (await expecting(201, world.admin.call(`${mount}/admin/consent-types`, { body: described(code) }))).body,
        'id',
      )
      await expecting(
        201,
        world.admin.call(`${mount}/admin/consent-types/${id}/text-versions`, {
          body: { locale: 'en-GB', text: 'I agree.' },
        }),
      )
      await expecting(
        200,
        world.admin.call(`${mount}/admin/consent-types/${id}`, { method: 'PATCH', body: { required: false } }),
      )
      await expecting(204, world.admin.call(`${mount}/admin/consent-types/${id}`, { method: 'DELETE' }))
      const decision = { consent_type_id: terms.typeId, text_version_id: terms.textId, decision: 'granted' }
      await expecting(201, world.admin.call(`${mount}/patients/${patientId}/consents`, { body: decision }))
    }
    for (const path of ['/health/live', '/health/ready', '/v1/consent/health/live', '/v1/consent/health/ready']) {
      expect([path, (await world.watched.send(path)).status]).toEqual([path, 200])
    }
  })
})

/** Cursors are sealed anew for each answer. */
function unsealed(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body).replaceAll(/"nextCursor":"[^"]*"/g, '"nextCursor":"sealed"'))
}

test('another organisation sees no type, and may use the same codes', async () => {
  const terms = await world.terms('of_one')
  const otherOrg = clientOf(world.platform.process, 1).org_id ?? ''
  const stranger = withHeaders(world.watched.watch(await world.platform.connect(clientOf(world.platform.process, 1))), {
    'x-actor-context': actorContext(otherOrg, ['consents:admin']),
  })
  expect(dataOf((await expecting(200, stranger.call(types))).body)).toEqual([])
  for (const [method, body] of [['GET'], ['PATCH', {}], ['DELETE']] as const) {
    const theirs = await stranger.call(`${types}/${terms.typeId}`, { method, ...(body === undefined ? {} : { body }) })
    const unknown = await stranger.call(`${types}/${unknownId}`, { method, ...(body === undefined ? {} : { body }) })
    expect([method, refusal(theirs), refusal(unknown)]).toEqual([method, '404 not-found', '404 not-found'])
  }
  await expecting(201, stranger.call(types, { body: described('of_one') }))
  await expecting(200, world.admin.call(`${types}/${terms.typeId}`))
})

test('every answer is documented', async () => {
  expect(await world.watched.seen()).toEqual(
    expect.arrayContaining([
      'createConsentType 201',
      'createConsentType 400',
      'createConsentType 401',
      'createConsentType 403',
      'createConsentType 404',
      'createConsentType 409',
      'deleteConsentType 204',
      'deleteConsentType 400',
      'deleteConsentType 401',
      'deleteConsentType 403',
      'deleteConsentType 404',
      'deleteConsentType 409',
      'deleteConsentType 412',
      'getConsentType 200',
      'getConsentType 304',
      'getConsentType 401',
      'getConsentType 403',
      'getConsentType 404',
      'listConsentTextVersions 200',
      'listConsentTextVersions 401',
      'listConsentTextVersions 403',
      'listConsentTextVersions 404',
      'listConsentTypes 200',
      'listConsentTypes 400',
      'listConsentTypes 401',
      'listConsentTypes 403',
      'listConsentTypes 404',
      'publishConsentTextVersion 201',
      'publishConsentTextVersion 400',
      'publishConsentTextVersion 401',
      'publishConsentTextVersion 403',
      'publishConsentTextVersion 404',
      'publishConsentTextVersion 409',
      'updateConsentType 200',
      'updateConsentType 400',
      'updateConsentType 401',
      'updateConsentType 403',
      'updateConsentType 404',
      'updateConsentType 412',
    ]),
  )
  expect(await world.watched.undocumented()).toEqual([])
})
