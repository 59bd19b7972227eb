import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer, ApiClient } from '../../support/raw-api.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import { assessmentBody, expecting, photograph, registerPatient } from '../../support/main-job.ts'
import { clientOf, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'

const patients = '/v1/clinical-api/patients'
const unknownId = '0190b0a0-0000-7000-8000-000000000001'

let platform: PlatformInUse
let watched: WatchedPlatform
let api: ApiClient
let stranger: ApiClient
/** A patient whose corrections are all refused. */
let uncorrected: string

beforeAll(async () => {
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  stranger = watched.watch(await platform.connect(clientOf(platform.process, 1)))
  uncorrected = await registerPatient(api)
})

afterAll(() => platform.stop())

const mrn = (value: string) => ({ scheme: 'mrn', value })

function correct(
  id: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  client = api,
): Promise<ApiAnswer> {
  return client.call(`${patients}/${id}`, { method: 'PATCH', body, headers })
}

function listPath(identifier: string, query = ''): string {
  return `${patients}?identifier=${encodeURIComponent(identifier)}${query}`
}

async function found(identifier: string, client = api): Promise<readonly unknown[]> {
  const data: unknown = at((await expecting(200, client.call(listPath(identifier)))).body, 'data')
  return Array.isArray(data) ? data.map((patient) => at(patient, 'id')) : []
}

function refusalOf({ status, body }: ApiAnswer): readonly unknown[] {
  return [status, at(body, 'code'), at(body, 'errors', 0, 'pointer')]
}

test('the next read returns a correction, with a new version', async () => {
  const id = await registerPatient(api, { identifiers: [mrn('a-1')] })
  const before = await expecting(200, api.call(`${patients}/${id}`))
  const answer = await expecting(
    200,
    correct(
      id,
      { family_name: 'Lovelace', identifiers: [mrn('a-2')] },
      { 'if-match': before.headers.get('etag') ?? '' },
    ),
  )
  expect(answer.body).toEqual({
    id,
    given_name: 'Ada',
    family_name: 'Lovelace',
    dob: '1980-02-29',
    identifiers: [mrn('a-2')],
    created_at: textAt(before.body, 'created_at'),
    updated_at: expect.any(String),
  })
  expect(textAt(answer.body, 'updated_at') > textAt(before.body, 'updated_at')).toBe(true)
  const after = await expecting(200, api.call(`${patients}/${id}`))
  expect([after.body, after.headers.get('etag')]).toEqual([answer.body, answer.headers.get('etag')])
  expect(answer.headers.get('x-commit-position')).toMatch(/^\d+\/\d+$/)
  expect(
    (await api.call(`${patients}/${id}`, { headers: { 'if-none-match': answer.headers.get('etag') ?? '' } })).status,
  ).toBe(304)
  expect([await found('mrn|a-1'), await found('mrn|a-2')]).toEqual([[], [id]])
})

test('a correction without a change changes nothing, and is refused for another version', async () => {
  const id = await registerPatient(api, { identifiers: [mrn('b-1')] })
  const { body, headers } = await expecting(200, api.call(`${patients}/${id}`))
  const same = { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29', identifiers: [mrn('b-1')] }
  for (const [said, version] of [
    [{}, headers.get('etag')],
    [same, headers.get('etag')],
    [same, '*'],
  ] as const) {
    const answer = await expecting(200, correct(id, said, { 'if-match': version ?? '' }))
    expect([answer.body, answer.headers.get('etag')]).toEqual([body, headers.get('etag')])
  }
  for (const said of [{}, same]) {
    for (const version of ['"77"', 'junk'])
      expect(refusalOf(await correct(id, said, { 'if-match': version }))).toEqual([
        412,
        'precondition-failed',
        undefined,
      ])
  }
})

test('of two corrections of one version the second is refused', async () => {
  const id = await registerPatient(api)
  const version = { 'if-match': (await expecting(200, api.call(`${patients}/${id}`))).headers.get('etag') ?? '' }
  const answers = await Promise.all(['Grace', 'Hedy'].map((name) => correct(id, { given_name: name }, version)))
  expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(['200', '412'])
  expect(answers.filter(({ status }) => status === 412).map(refusalOf)).toEqual([
    [412, 'precondition-failed', undefined],
  ])
  const [{ body } = { body: undefined }] = answers.filter(({ status }) => status === 200)
  expect((await expecting(200, api.call(`${patients}/${id}`))).body).toEqual(body)
})

test('an identifier of another patient is refused, and one that no patient has any more is accepted', async () => {
  const [first, second] = [
    await registerPatient(api, { identifiers: [mrn('c-1')] }),
    await registerPatient(api, { identifiers: [mrn('c-2')] }),
  ]
  expect(refusalOf(await correct(second, { given_name: 'Grace', identifiers: [mrn('c-2'), mrn('c-1')] }))).toEqual([
    409,
    'patient-identifier-conflict',
    '/identifiers/1',
  ])
  expect(at((await expecting(200, api.call(`${patients}/${second}`))).body, 'given_name')).toBe('Ada')
  await expecting(200, correct(first, { identifiers: [] }))
  await expecting(200, correct(second, { identifiers: [mrn('c-1')] }))
  expect([await found('mrn|c-1'), await found('mrn|c-2')]).toEqual([[second], []])

  // A patient described in an assessment is found by its current identifiers.
  const patient = { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29', identifiers: [mrn('c-1')] }
  const { patient_id: _, ...described } = { ...assessmentBody(second, [await photograph()]), patient }
  const created = await expecting(202, api.call('/v1/clinical-api/assessments', { body: described }))
  expect(at(created.body, 'patient_id')).toBe(second)
})

test('a patient is found by an identifier in any composition, with or without surrounding blanks', async () => {
  const id = await registerPatient(api, { identifiers: [mrn(' \u00e9-1')] })
  for (const identifier of ['mrn|\u00e9-1', 'mrn |e\u0301-1\u00a0'])
    expect([identifier, await found(identifier)]).toEqual([identifier, [id]])
  expect((await expecting(200, api.call(`${patients}/${id}`))).body).toMatchObject({ identifiers: [mrn(' \u00e9-1')] })
})

test('a registration repeated with its key returns the corrected patient', async () => {
  const body = { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29', identifiers: [mrn('d-1')] }
  const registration = () => api.call(patients, { body, headers: { 'idempotency-key': 'registered-once' } })
  const id = textAt((await expecting(201, registration())).body, 'id')
  const { body: corrected } = await expecting(200, correct(id, { identifiers: [] }))
  expect((await expecting(201, registration())).body).toEqual(corrected)
  expect(await found('mrn|d-1')).toEqual([])
})

test.each([
  ['null', { given_name: null }, '/given_name'],
  ['a name of nothing', { family_name: '' }, '/family_name'],
  ['a name of white space', { given_name: ' \t' }, '/given_name'],
  ['a name of nothing that can be seen', { given_name: '\u200b \u2060\u3164' }, '/given_name'],
  ['a day that is none', { dob: '1980-02-30' }, '/dob'],
  ['a day to come', { dob: '2999-01-01' }, '/dob'],
  ['a day too long ago', { dob: '1849-12-31' }, '/dob'],
  ['an unknown member', { id: unknownId }, '/id'],
  ['half an identifier', { identifiers: [{ scheme: 'mrn' }] }, '/identifiers/0/value'],
  ['an identifier twice', { identifiers: [mrn('e-1'), mrn('e-1')] }, '/identifiers'],
  [
    'too many identifiers',
    { identifiers: Array.from({ length: 51 }, (_, number) => mrn(`e-${number}`)) },
    '/identifiers',
  ],
  ['a list', [], ''],
])('a correction by %s is refused', async (_, body, pointer) => {
  expect(refusalOf(await correct(uncorrected, body))).toEqual([400, 'validation-failed', pointer])
  expect((await api.call(`${patients}/${uncorrected}`)).headers.get('etag')).toBe('"0"')
})

test('another organisation cannot correct a patient, and an unknown patient is a 404', async () => {
  const id = await registerPatient(api)
  for (const [target, client] of [
    [id, stranger],
    [unknownId, api],
    ['nonsense', api],
  ] as const) {
    expect(refusalOf(await correct(target, { given_name: 'Grace' }, {}, client))).toEqual([404, 'not-found', undefined])
  }
})

test('an identifier finds a patient of the own organisation only', async () => {
  const [own, theirs] = [
    await registerPatient(api, { identifiers: [mrn('f-1')] }),
    await registerPatient(stranger, { identifiers: [mrn('f-1')] }),
  ]
  expect([await found('mrn|f-1'), await found('mrn|f-1', stranger)]).toEqual([[own], [theirs]])
  expect((await expecting(200, api.call(listPath('mrn|nobody')))).body).toEqual({
    data: [],
    next_cursor: null,
    has_more: false,
  })
  const { body } = await expecting(200, api.call(`${patients}/${own}`))
  expect((await expecting(200, api.call(listPath('mrn|f-1')))).body).toEqual({
    data: [body],
    next_cursor: null,
    has_more: false,
  })
})

test('an ambiguous identifier finds both patients, page by page', async () => {
  const first = await registerPatient(api, { identifiers: [{ scheme: 'ward|7', value: 'Größe 1' }] })
  const second = await registerPatient(api, { identifiers: [{ scheme: 'ward', value: '7|Größe 1' }] })
  const page = await expecting(200, api.call(listPath('ward|7|Größe 1', '&limit=1')))
  expect([at(page.body, 'data', 0, 'id'), at(page.body, 'has_more')]).toEqual([first, true])
  const next = /^<([^>]+)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1] ?? ''
  const last = (await expecting(200, api.call(next.slice(next.indexOf('/v1/'))))).body
  expect([at(last, 'data', 0, 'id'), at(last, 'has_more')]).toEqual([second, false])
  const cursor = textAt(page.body, 'next_cursor')
  expect(refusalOf(await api.call(listPath('ward|7', `&cursor=${cursor}`)))).toEqual([400, 'invalid-cursor', undefined])
})

test.each([
  ['nothing', '', '/identifier'],
  ['a limit alone', '?limit=10', '/identifier'],
  ['an empty identifier', '?identifier=', '/identifier'],
  ['a scheme alone', '?identifier=mrn', '/identifier'],
  ['a scheme without a value', '?identifier=mrn|', '/identifier'],
  ['a value without a scheme', '?identifier=|1', '/identifier'],
  ['what is too long for an identifier', `?identifier=mrn|${'x'.repeat(600)}`, '/identifier'],
  ['two identifiers', '?identifier=mrn|1&identifier=mrn|2', '/identifier'],
  ['a name', '?identifier=mrn|1&family_name=Example', '/family_name'],
  ['an identifier and no limit', '?identifier=mrn|1&limit=0', '/limit'],
  ['an identifier that is only a word', '?identifier=foo', '/identifier', 'must be scheme|value'],
])('patients are not listed by %s', async (_, query, pointer, detail = '') => {
  const answer = await api.call(`${patients}${query}`)
  expect(refusalOf(answer)).toEqual([400, 'validation-failed', pointer])
  expect(at(answer.body, 'errors', 0, 'detail')).toContain(detail)
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toEqual(
    expect.arrayContaining(['correctPatient 409', 'correctPatient 412', 'listPatients 400']),
  )
  expect(await watched.undocumented()).toEqual([])
})
