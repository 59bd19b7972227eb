import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer } from '../../support/raw-api.ts'
import { clientOf } from '../../support/platform.ts'
import { expecting } from '../../support/main-job.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'
import { eventsOf } from '../bad-days/recorded-events.ts'
import { openConsentWorld, refusal, withHeaders, type ConsentWorld, type Terms } from './consent-world.ts'
import { eventually } from '../../support/eventually.ts'

// The rows about decisions in sections 4.4, 2.5, 3.5 and 6 of the specification, with the additions of the contract.

const unknownId = '0190b0a0-0000-7000-8000-000000000001'
const before = '2020-02-03T04:05:06.007Z'

let world: ConsentWorld
let terms: Terms

beforeAll(async () => {
  world = await openConsentWorld(await joinSharedPlatform())
  terms = await world.terms('research')
})

afterAll(() => world.platform.stop())

const get = (path: string) => world.api.call(`/v1/patients/${path}`)
const got = async (path: string) => (await expecting(200, get(path))).body
const dataOf = (body: unknown) => at(body, 'data') as readonly unknown[]

async function granted(patientId: string, more: Readonly<Record<string, unknown>> = {}): Promise<ApiAnswer> {
  return expecting(201, world.decide(patientId, terms, 'granted', more))
}

describe('POST /v1/patients/{patientId}/consents', () => {
  test('records the decision: 201 with the record, which a GET returns at once', async () => {
    const patientId = randomUUID()
    const { body, headers } = await granted(patientId)
    const { client_id } = clientOf(world.platform.process, 0)
    expect(body).toEqual({
      id: expect.any(String),
      organisation_id: world.orgId,
      patient_id: patientId,
      consent_type_id: terms.typeId,
      consent_type_code: 'research',
      text_version_id: terms.textId,
      text_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      decision: 'granted',
      recorded_at: at(body, 'created_at'),
      recorded_by: client_id,
      created_at: expect.any(String),
    })
    const location = headers.get('location') ?? ''
    expect(location).toBe(`/v1/patients/${patientId}/consents/${textAt(body, 'id')}`)
    const found = await expecting(
      200,
      world.api.call(location, { headers: { 'x-min-commit-position': headers.get('x-commit-position') ?? '' } }),
    )
    expect(found.body).toEqual(body)
    const etag = found.headers.get('etag') ?? ''
    expect((await world.api.call(location, { headers: { 'if-none-match': etag } })).status).toBe(304)
    const stranger = await world.platform.connect(clientOf(world.platform.process, 1))
    const elsewhere = await Promise.all([
      stranger.call(location),
      world.api.call(`/v1/patients/${randomUUID()}/consents/${textAt(body, 'id')}`),
      world.api.call(`/v1/patients/${patientId}/consents/${randomUUID()}`),
      world.api.call(`/v1/patients/${patientId}/consents/research`),
    ])
    expect(elsewhere.map(refusal)).toEqual(Array.from({ length: 4 }, () => '404 not-found'))
  })

  test('accepts recorded_by and recorded_at, bodies in either casing, and the user of an actor context', async () => {
    const patientId = randomUUID()
    const said = await granted(patientId, { recorded_by: 'Nurse Canary', recorded_at: before })
    expect(said.body).toMatchObject({ recorded_by: 'Nurse Canary', recorded_at: before })
    const body = {
      consentTypeId: terms.typeId,
      textVersionId: terms.textId,
      decision: 'denied',
      recordedBy: 'Nurse Canary',
    }
    expect((await expecting(201, world.api.call(`/v1/patients/${patientId}/consents`, { body }))).body).toMatchObject({
      recorded_by: 'Nurse Canary',
    })
    const own = { consent_type_id: terms.typeId, text_version_id: terms.textId, decision: 'denied' }
    expect(
      (await expecting(201, world.admin.call(`/v1/patients/${patientId}/consents`, { body: own }))).body,
    ).toMatchObject({ recorded_by: unknownId })
  })

  test('refuses a decision that does not fit a text of that type', async () => {
    const patientId = randomUUID()
    const other = await world.terms('teaching')
    const refusals = await Promise.all([
      world.decide(patientId, terms, 'revoked'),
      world.decide(patientId, { ...terms, textId: other.textId }, 'granted'),
      world.decide(patientId, { ...terms, typeId: unknownId }, 'granted'),
      world.decide(patientId, terms, 'granted', { recorded_at: '2999-01-01T00:00:00Z' }),
      world.decide(patientId, terms, 'granted', { note: 'x' }),
      world.decide(patientId, terms, 'granted', { recorded_by: '' }),
      world.decide('nobody', terms, 'granted'),
    ])
    expect(refusals.map(refusal)).toEqual([
      '400 validation-failed /decision',
      '400 consent-text-mismatch /text_version_id',
      '404 consent-type-not-found /consent_type_id',
      '400 validation-failed /recorded_at',
      '400 validation-failed /note',
      '400 validation-failed /recorded_by',
      '404 not-found',
    ])
    expect(dataOf(await got(`${patientId}/consents/history`))).toEqual([])
  })

  test('accepts any decision after any other (3.5), each as a separate record', async () => {
    const patientId = randomUUID()
    const decisions = ['withdrawn', 'granted', 'granted', 'denied', 'withdrawn', 'withdrawn', 'granted']
    for (const decision of decisions) await expecting(201, world.decide(patientId, terms, decision))
    const history = dataOf(await got(`${patientId}/consents/history`))
    expect(history.map((record) => at(record, 'decision'))).toEqual(decisions.toReversed())
    expect(new Set(history.map((record) => at(record, 'id'))).size).toBe(decisions.length)
  })

  test('returns the same record for the same Idempotency-Key', async () => {
    const patientId = randomUUID()
    const keyed = withHeaders(world.api, { 'idempotency-key': randomUUID() })
    const body = { consent_type_id: terms.typeId, text_version_id: terms.textId, decision: 'granted' }
    const first = await expecting(201, keyed.call(`/v1/patients/${patientId}/consents`, { body }))
    const again = await expecting(201, keyed.call(`/v1/patients/${patientId}/consents`, { body }))
    expect([again.body, again.headers.get('idempotency-replayed')]).toEqual([first.body, 'true'])
    const other = await keyed.call(`/v1/patients/${patientId}/consents`, { body: { ...body, decision: 'denied' } })
    expect(refusal(other)).toBe('409 idempotency-key-reused')
    expect(dataOf(await got(`${patientId}/consents/history`))).toHaveLength(1)
  })
})

describe('GET /v1/patients/{patientId}/consents', () => {
  test('returns the latest decision of each type, and requires org_id', async () => {
    const patientId = randomUUID()
    const more = await world.terms('newsletter')
    await granted(patientId)
    await expecting(201, world.decide(patientId, terms, 'withdrawn'))
    const last = await expecting(201, world.decide(patientId, more, 'granted'))
    const data = dataOf(await got(`${patientId}/consents?org_id=${world.orgId}`))
    expect(data.map((one) => [at(one, 'consent_type_code'), at(one, 'decision'), at(one, 'granted')])).toEqual([
      ['newsletter', 'granted', true],
      ['research', 'withdrawn', false],
    ])
    expect(data[0]).toEqual({
      consent_type_id: more.typeId,
      consent_type_code: 'newsletter',
      decision: 'granted',
      granted: true,
      recorded_at: at(last.body, 'recorded_at'),
      text_version_id: more.textId,
      text_version_current: true,
      reconsent_required: false,
    })
    expect(dataOf(await got(`${randomUUID()}/consents?orgId=${world.orgId}`))).toEqual([])
    expect(refusal(await get(`${patientId}/consents`))).toBe('400 org-required')
    expect(refusal(await get(`${patientId}/consents?org_id=${unknownId}`))).toBe('404 not-found')
    expect(refusal(await get(`${patientId}/consents?org_id=${world.orgId}&orgId=${unknownId}`))).toBe(
      '400 validation-failed /org_id',
    )
  })
})

describe('GET /v1/patients/{patientId}/consents/{typeCode}/status', () => {
  test('returns the current decision, nulls without one, and 404 for an unknown code', async () => {
    const patientId = randomUUID()
    const none = {
      granted: false,
      decision: null,
      recorded_at: null,
      text_version_id: null,
      text_version_current: null,
      reconsent_required: null,
    }
    expect(await got(`${patientId}/consents/research/status`)).toEqual(none)
    const { body } = await granted(patientId)
    const current = { text_version_id: terms.textId, text_version_current: true, reconsent_required: false }
    expect(await got(`${patientId}/consents/research/status`)).toEqual({
      granted: true,
      decision: 'granted',
      recorded_at: at(body, 'recorded_at'),
      ...current,
    })
    expect(refusal(await get(`${patientId}/consents/unknown/status`))).toBe('404 not-found')
    expect(refusal(await get(`nobody/consents/research/status`))).toBe('404 not-found')
  })

  test('a backdated decision never overrides a later one, and one of the same instant does', async () => {
    const patientId = randomUUID()
    await granted(patientId, { recorded_at: '2021-01-01T00:00:00Z' })
    await expecting(201, world.decide(patientId, terms, 'withdrawn', { recorded_at: '2020-01-01T00:00:00Z' }))
    expect(await got(`${patientId}/consents/research/status`)).toMatchObject({ decision: 'granted' })
    await expecting(201, world.decide(patientId, terms, 'denied', { recorded_at: '2021-01-01T00:00:00Z' }))
    expect(await got(`${patientId}/consents/research/status`)).toMatchObject({ decision: 'denied' })
  })

  test('requires a platform client to name the organisation: by org_id, orgId or an actor context, never by two names', async () => {
    const patientId = randomUUID()
    await granted(patientId)
    const service = world.watched.watch(await world.platform.connect(clientOf(world.platform.process, 2)))
    const status = `/v1/patients/${patientId}/consents/research/status`
    expect(refusal(await service.call(status))).toBe('400 org-required')
    for (const name of ['org_id', 'orgId'])
      expect((await service.call(`${status}?${name}=${world.orgId}`)).body).toMatchObject({ granted: true })
    expect(refusal(await service.call(`${status}?org_id=${world.orgId}&orgId=${unknownId}`))).toBe(
      '400 validation-failed /org_id',
    )
    expect(refusal(await service.call(`${status}?org_id=${unknownId}`))).toBe('404 not-found')
  })
})

describe('GET /v1/patients/{patientId}/consents/check', () => {
  test('answers every requested code, with false for unknown, denied or withdrawn', async () => {
    const patientId = randomUUID()
    await granted(patientId)
    await expecting(201, world.decide(patientId, await world.terms('denied_once'), 'denied'))
    const types = 'research,unknown,denied_once,__proto__, research ,,RESEARCH'
    const { consents } = (await got(
      `${patientId}/consents/check?org_id=${world.orgId}&types=${encodeURIComponent(types)}`,
    )) as { consents: object }
    expect(Object.entries(consents)).toEqual([
      ['research', true],
      ['unknown', false],
      ['denied_once', false],
      ['__proto__', false],
      ['RESEARCH', false],
    ])
  })

  test('accepts 1 to 50 codes', async () => {
    const codes = Array.from({ length: 51 }, (_, place) => `code_${place}`)
    const ask = (types: string) => get(`${unknownId}/consents/check?types=${types}`)
    expect(
      Object.keys(at((await expecting(200, ask(codes.slice(1).join(',')))).body, 'consents') as object),
    ).toHaveLength(50)
    for (const types of ['', ',', codes.join(',')])
      expect(refusal(await ask(types))).toBe('400 validation-failed /types')
    expect(refusal(await get(`${unknownId}/consents/check`))).toBe('400 validation-failed /types')
  })
})

describe('as_of', () => {
  test('returns status, list and check of that time', async () => {
    const patientId = randomUUID()
    await granted(patientId, { recorded_at: '2021-01-01T00:00:00Z' })
    await expecting(201, world.decide(patientId, terms, 'withdrawn', { recorded_at: '2022-01-01T00:00:00.000Z' }))
    const at3 = async (instant: string) => [
      at(await got(`${patientId}/consents/research/status?as_of=${instant}`), 'decision'),
      dataOf(await got(`${patientId}/consents?org_id=${world.orgId}&as_of=${instant}`)).map((one) =>
        at(one, 'decision'),
      ),
      at(await got(`${patientId}/consents/check?types=research&as_of=${instant}`), 'consents', 'research'),
    ]
    expect(await at3('2020-12-31T23:59:59.999Z')).toEqual([null, [], false])
    expect(await at3('2021-01-01T00:00:00Z')).toEqual(['granted', ['granted'], true])
    expect(await at3('2021-12-31T23:59:59.999Z')).toEqual(['granted', ['granted'], true])
    expect(await at3('2022-01-01T00:00:00Z')).toEqual(['withdrawn', ['withdrawn'], false])
    for (const path of [
      'consents/research/status?',
      'consents/check?types=research&',
      `consents?org_id=${world.orgId}&`,
    ]) {
      expect(refusal(await get(`${patientId}/${path}as_of=2999-01-01T00:00:00Z`))).toBe('400 validation-failed /as_of')
      expect(refusal(await get(`${patientId}/${path}as_of=yesterday`))).toBe('400 validation-failed /as_of')
    }
  })
})

describe('text versions (2.5)', () => {
  test('a future one takes effect at its time: before it cannot be granted, afterwards the previous one is old', async () => {
    const patientId = randomUUID()
    const own = await world.terms('timed')
    await expecting(201, world.decide(patientId, own, 'granted'))
    const future = {
      ...own,
      textId: await world.publish(own.typeId, {
        locale: 'en-GB',
        text: 'I agree to more.',
        effectiveFrom: '2999-01-01T00:00:00Z',
      }),
    }
    expect(refusal(await world.decide(patientId, future, 'granted'))).toBe(
      '400 text-version-not-effective /text_version_id',
    )
    for (const decision of ['denied', 'withdrawn']) await expecting(201, world.decide(patientId, future, decision))
    const older = { recorded_at: '2000-12-31T23:59:59.999Z' }
    expect(refusal(await world.decide(patientId, own, 'granted', older))).toBe(
      '400 text-version-not-effective /text_version_id',
    )
    for (const decision of ['denied', 'withdrawn']) await expecting(201, world.decide(patientId, own, decision, older))

    await expecting(201, world.decide(patientId, own, 'granted'))
    const effectiveFrom = new Date(Date.now() + 1_500).toISOString()
    const soon = {
      ...own,
      textId: await world.publish(own.typeId, { locale: 'en-GB', text: 'I agree to a little more.', effectiveFrom }),
    }
    const frenchId = await world.publish(own.typeId, { locale: 'fr-FR', text: "J'accepte." })
    expect(frenchId).not.toBe(soon.textId)
    const status = async () => got(`${patientId}/consents/timed/status`)
    await eventually(async () =>
      expect(await status()).toMatchObject({ granted: true, text_version_current: false, reconsent_required: true }),
    )
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(effectiveFrom))
    const earlier = await got(
      `${patientId}/consents/timed/status?as_of=${new Date(Date.parse(effectiveFrom) - 1).toISOString()}`,
    )
    expect(earlier).toMatchObject({ text_version_current: true, reconsent_required: false })
    await expecting(201, world.decide(patientId, soon, 'granted'))
    expect(await status()).toMatchObject({ text_version_current: true, reconsent_required: false })
    // An older text that was in effect is accepted, and reported as such.
    await expecting(201, world.decide(patientId, own, 'granted'))
    expect(await status()).toMatchObject({ granted: true, text_version_current: false, reconsent_required: true })
  })
})

describe('GET /v1/patients/{patientId}/consents/history', () => {
  test('returns all decisions in pages, newest first, or those of one type', async () => {
    const patientId = randomUUID()
    const other = await world.terms('paged')
    const ids: string[] = []
    for (const decided of [terms, other, terms, terms, other])
      ids.unshift(textAt((await expecting(201, world.decide(patientId, decided, 'granted'))).body, 'id'))
    const shown: unknown[] = []
    let page = await got(`${patientId}/consents/history?limit=2`)
    for (;;) {
      shown.push(...dataOf(page).map((record) => at(record, 'id')))
      if (at(page, 'has_more') !== true) break
      page = await got(`${patientId}/consents/history?limit=2&cursor=${textAt(page, 'next_cursor')}`)
    }
    expect(shown).toEqual(ids)
    expect(dataOf(await got(`${patientId}/consents/history?type=paged`)).map((record) => at(record, 'id'))).toEqual([
      ids[0],
      ids[3],
    ])
    const cursor = textAt(await got(`${patientId}/consents/history?limit=2`), 'next_cursor')
    expect(refusal(await get(`${randomUUID()}/consents/history?limit=2&cursor=${cursor}`))).toBe('400 invalid-cursor')
    expect(refusal(await get(`${patientId}/consents/history?limit=0`))).toBe('400 validation-failed /limit')
  })
})

describe('GET /v1/consent-records', () => {
  test('returns nothing or the latest decision, with the names of the AI review', async () => {
    const patientId = randomUUID()
    const ask = (query: string) => world.api.call(`/v1/consent-records?${query}`)
    const asked = `patientId=${patientId}&consentTypeCode=research`
    const common = { patientId, consentTypeCode: 'research' }
    expect((await expecting(200, ask(asked))).body).toEqual({
      ...common,
      status: 'none',
      granted: false,
      record: null,
      data: [],
    })
    const { body } = await granted(patientId)
    expect((await expecting(200, ask(asked))).body).toEqual({
      ...common,
      status: 'granted',
      granted: true,
      record: body,
      data: [body],
    })
    expect(refusal(await ask(`patientId=${patientId}`))).toBe('400 validation-failed /consentTypeCode')
    expect(refusal(await ask('patientId=nobody&consentTypeCode=research'))).toBe('400 validation-failed /patientId')
  })
})

describe('consent.events (section 6)', () => {
  test('publishes every recorded decision once, in order per patient, with exactly the payload and the envelope', async () => {
    const url = world.platform.process.credentials.eventstore_url ?? ''
    const patients = [randomUUID(), randomUUID()]
    const decisions = ['granted', 'denied', 'withdrawn', 'granted', 'granted', 'withdrawn']
    const keyed = withHeaders(world.api, { 'idempotency-key': randomUUID() })
    const body = { consent_type_id: terms.typeId, text_version_id: terms.textId, decision: 'denied' }
    await Promise.all(
      patients.map(async (patientId) => {
        for (const decision of decisions) await expecting(201, world.decide(patientId, terms, decision))
        for (let time = 0; time < 2; time++)
          await expecting(201, keyed.call(`/v1/patients/${patientId}/consents`, { body }))
      }),
    )
    const published = await eventually(async () => {
      const all = await eventsOf(url, 'consent.events')
      const found = patients.map((patientId) => all.filter(({ data }) => at(data, 'patient_id') === patientId))
      expect(found.map(({ length }) => length)).toEqual([decisions.length + 1, decisions.length + 1])
      return found
    })
    for (const [place, events] of published.entries()) {
      expect(events.map(({ type }) => type)).toEqual([...decisions, 'denied'].map((decision) => `consent.${decision}`))
      expect(new Set(events.map(({ id }) => id)).size).toBe(events.length)
      const history = dataOf(await got(`${patients[place] ?? ''}/consents/history`)).toReversed()
      for (const [index, { id, type, data }] of events.entries()) {
        expect(data).toEqual({
          type,
          patient_id: patients[place],
          org_id: world.orgId,
          consent_type_code: 'research',
          timestamp: at(history[index], 'recorded_at'),
          event_id: id,
          event_type: type,
          occurred_at: expect.any(String),
          schema_version: 1,
          causation_id: expect.any(String),
          correlation_id: expect.any(String),
          hop: 0,
        })
      }
    }
  })
})

test('every answer is documented', async () => {
  const seen = await world.watched.seen()
  expect(seen.filter((one) => /onsent.* (2|4)/.test(one))).toEqual(
    expect.arrayContaining([
      'checkConsents 200',
      'checkConsents 400',
      'getConsentRecords 200',
      'getConsentRecords 400',
      'getConsentStatus 200',
      'getConsentStatus 400',
      'getConsentStatus 404',
      'listConsentHistory 200',
      'listConsentHistory 400',
      'listConsents 200',
      'listConsents 400',
      'listConsents 404',
      'recordConsentDecision 201',
      'recordConsentDecision 400',
      'recordConsentDecision 404',
      'recordConsentDecision 409',
    ]),
  )
  expect(await world.watched.undocumented()).toEqual([])
})
