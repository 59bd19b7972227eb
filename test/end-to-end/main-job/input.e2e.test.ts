import { afterAll, beforeAll, expect, test } from 'vitest'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import { requestToken, type ApiAnswer, type ApiClient } from '../../support/raw-api.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import {
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  registerPatient,
  type ConsentTerms,
  type Photograph,
} from '../../support/main-job.ts'
import { clientOf, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'

const assessments = '/v1/clinical-api/assessments'
const unknownId = '0190b0a0-0000-7000-8000-000000000001'

let platform: PlatformInUse
let watched: WatchedPlatform
let api: ApiClient
let token: string
let admin: Readonly<Record<string, string>>
let terms: ConsentTerms
let patientId: string
let photo: Photograph

beforeAll(async () => {
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  token = textAt((await requestToken(platform.baseUrl, clientOf(platform.process, 0))).body, 'access_token')
  const { org_id: orgId } = platform.process.credentials
  admin = { 'x-actor-context': actorContext(orgId, ['consents:admin']) }
  terms = await createConsentTerms(api, orgId)
  patientId = await registerPatient(api, { identifiers: [{ scheme: 'mrn', value: 'first' }] })
  photo = await photograph()
})

afterAll(() => platform.stop())

type Body = Readonly<Record<string, unknown>>

function valid(): Body {
  return { patient_id: patientId, finding: { finding_type: 'lesion' }, images: [photo.entry] }
}

function refusalOf({ status, body }: ApiAnswer): readonly unknown[] {
  return [status, at(body, 'code'), at(body, 'errors', 0, 'pointer')]
}

const image = (members: Body) => (): Body => ({ ...valid(), images: [{ ...photo.entry, ...members }] })
const inline =
  (members: Body, without = '') =>
  (): Body => {
    const patient = { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29', ...members }
    return {
      ...valid(),
      patient_id: undefined,
      patient: Object.fromEntries(Object.entries(patient).filter(([name]) => name !== without)),
    }
  }
const withMembers = (members: Body) => (): Body => ({ ...valid(), ...members })
const invalid = 'validation-failed'
const deep = JSON.parse(`${'{"a":'.repeat(17)}1${'}'.repeat(17)}`) as Body

const wrongAssessments: readonly (readonly [what: string, body: () => Body, code: string, pointer: string])[] = [
  ['no patient', () => ({ ...valid(), patient_id: undefined }), invalid, '/patient'],
  ['both patients', () => ({ ...inline({})(), patient_id: patientId }), invalid, '/patient'],
  ['no finding', withMembers({ finding: undefined }), invalid, '/finding'],
  ['no finding_type', withMembers({ finding: {} }), invalid, '/finding/finding_type'],
  ['another finding_type', withMembers({ finding: { finding_type: 'wart' } }), invalid, '/finding/finding_type'],
  [
    'body_site_id that is no UUID',
    withMembers({ finding: { finding_type: 'rash', body_site_id: 'arm' } }),
    invalid,
    '/finding/body_site_id',
  ],
  ['an unknown member', withMembers({ urgency: 'high' }), invalid, '/urgency'],
  [
    'an unknown member of finding',
    withMembers({ finding: { finding_type: 'rash', colour: 'red' } }),
    invalid,
    '/finding/colour',
  ],
  ['an unknown member of an image', image({ device: 'x' }), invalid, '/images/0/device'],
  ['an unknown member with a slash', withMembers({ 'a/b~c': 1 }), invalid, '/a~1b~0c'],
  ['no images', withMembers({ images: undefined }), invalid, '/images'],
  ['an empty list of images', withMembers({ images: [] }), invalid, '/images'],
  ['eleven images', () => ({ ...valid(), images: Array.from({ length: 11 }, () => photo.entry) }), invalid, '/images'],
  ['no capture_type', image({ capture_type: undefined }), invalid, '/images/0/capture_type'],
  ['another capture_type', image({ capture_type: 'xray' }), invalid, '/images/0/capture_type'],
  ['no mime_type', image({ mime_type: undefined }), invalid, '/images/0/mime_type'],
  ['another mime_type', image({ mime_type: 'image/gif' }), invalid, '/images/0/mime_type'],
  ['data that is no base64', image({ data: '@@@@' }), invalid, '/images/0/data'],
  ['base64url', image({ data: '_-_-' }), invalid, '/images/0/data'],
  ['base64 without padding', image({ data: '/9j/4A' }), invalid, '/images/0/data'],
  ['empty data', image({ data: '' }), invalid, '/images/0/data'],
  ['data that is no text', image({ data: 1 }), invalid, '/images/0/data'],
  ['bytes of another type', image({ mime_type: 'image/png' }), 'image-invalid', '/images/0/data'],
  [
    'bytes of no image',
    image({ data: Buffer.from('no image at all').toString('base64') }),
    'image-invalid',
    '/images/0/data',
  ],
  [
    'data of some images only',
    () => ({ ...valid(), images: [photo.entry, { capture_type: 'other', mime_type: 'image/png' }] }),
    'mixed-image-mode',
    '/images/1/data',
  ],
  [
    'external_reference of 256 characters',
    withMembers({ external_reference: 'x'.repeat(256) }),
    invalid,
    '/external_reference',
  ],
  ['external_reference that is no text', withMembers({ external_reference: 1 }), invalid, '/external_reference'],
  ['clinical_context that is a list', withMembers({ clinical_context: [] }), invalid, '/clinical_context'],
  ['clinical_context of 17 levels', withMembers({ clinical_context: deep }), invalid, '/clinical_context'],
  [
    'clinical_context of more than 64 KiB',
    withMembers({ clinical_context: { a: 'x'.repeat(65_536) } }),
    invalid,
    '/clinical_context',
  ],
  ['custom_fields with a number', withMembers({ custom_fields: { a: 1 } }), invalid, '/custom_fields'],
  [
    'custom_fields of 51 entries',
    withMembers({ custom_fields: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`n${n}`, ''])) }),
    invalid,
    '/custom_fields',
  ],
  ['a patient without given_name', inline({}, 'given_name'), invalid, '/patient/given_name'],
  ['a patient without dob', inline({}, 'dob'), invalid, '/patient/dob'],
  ['a given_name of white space', inline({ given_name: '  ' }), invalid, '/patient/given_name'],
  ['an empty family_name', inline({ family_name: '' }), invalid, '/patient/family_name'],
  ['a dob that is no day', inline({ dob: '1981-02-29' }), invalid, '/patient/dob'],
  ['a dob with a time', inline({ dob: '1980-02-29T00:00:00Z' }), invalid, '/patient/dob'],
  ['a dob to come', inline({ dob: '2999-01-01' }), invalid, '/patient/dob'],
  ['a dob before 1850', inline({ dob: '1849-12-31' }), invalid, '/patient/dob'],
  ['an unknown member of the patient', inline({ sex: 'f' }), invalid, '/patient/sex'],
  [
    'the same identifier twice',
    inline({
      identifiers: [
        { scheme: 'mrn', value: 'twice' },
        { scheme: 'mrn', value: 'twice' },
      ],
    }),
    invalid,
    '/patient/identifiers',
  ],
  [
    'an identifier without value',
    inline({ identifiers: [{ scheme: 'mrn' }] }),
    invalid,
    '/patient/identifiers/0/value',
  ],
]

test.each(wrongAssessments)('an assessment with %s is a 400', async (_, body, code, pointer) => {
  const answer = await api.call(assessments, { body: body() })
  expect(refusalOf(answer)).toEqual([400, code, pointer])
  expect(at(answer.body, 'errors', 0)).toEqual({
    pointer,
    detail: expect.stringMatching(/\w/),
    code: expect.stringMatching(/\w/),
  })
})

test('a patient that does not exist is a 404', async () => {
  for (const [path, body] of [
    [assessments, { ...valid(), patient_id: unknownId }],
    ['/v1/clinical-api/cases', { patient_id: unknownId }],
  ] as const) {
    expect(refusalOf(await api.call(path, { body }))).toEqual([404, 'patient-not-found', '/patient_id'])
  }
})

type WrongPost = readonly [
  what: string,
  path: string,
  body: () => unknown,
  status: number,
  code: string,
  pointer?: string,
]
const wrongPosts: readonly WrongPost[] = [
  [
    'a patient without a name',
    '/v1/clinical-api/patients',
    () => ({ dob: '1980-02-29', family_name: 'x' }),
    400,
    invalid,
    '/given_name',
  ],
  [
    'a patient whose name is a number',
    '/v1/clinical-api/patients',
    () => ({ given_name: 1, family_name: 'x', dob: '1980-02-29' }),
    400,
    invalid,
    '/given_name',
  ],
  [
    'a patient born tomorrow in a year',
    '/v1/clinical-api/patients',
    () => ({ given_name: 'x', family_name: 'x', dob: '2999-02-01' }),
    400,
    invalid,
    '/dob',
  ],
  [
    'a patient with a taken identifier',
    '/v1/clinical-api/patients',
    () => ({
      given_name: 'x',
      family_name: 'x',
      dob: '1980-02-29',
      identifiers: [
        { scheme: 'mrn', value: 'nobody-has-this' },
        { scheme: 'mrn', value: 'first' },
      ],
    }),
    409,
    'patient-identifier-conflict',
    '/identifiers/1',
  ],
  [
    'a patient with the same identifier twice',
    '/v1/clinical-api/patients',
    () => ({
      given_name: 'x',
      family_name: 'x',
      dob: '1980-02-29',
      identifiers: [
        { scheme: 'mrn', value: 'twice' },
        { value: 'twice', scheme: 'mrn' },
      ],
    }),
    400,
    invalid,
    '/identifiers',
  ],
  [
    'a patient whose name is white space',
    '/v1/clinical-api/patients',
    () => ({ given_name: 'x', family_name: '   ', dob: '1980-02-29' }),
    400,
    invalid,
    '/family_name',
  ],
  [
    'a webhook for the same event twice',
    '/v1/clinical-api/webhook-subscriptions',
    () => ({ url: 'http://127.0.0.1/', event_types: ['assessment.failed', 'assessment.failed'] }),
    400,
    invalid,
    '/event_types',
  ],
  ['a case without a patient', '/v1/clinical-api/cases', () => ({}), 400, invalid, '/patient_id'],
  [
    'a case of a status',
    '/v1/clinical-api/cases',
    () => ({ patient_id: patientId, status: 'open' }),
    400,
    invalid,
    '/status',
  ],
  [
    'a webhook without events',
    '/v1/clinical-api/webhook-subscriptions',
    () => ({ url: 'http://127.0.0.1/', event_types: [] }),
    400,
    invalid,
    '/event_types',
  ],
  [
    'a webhook for another event',
    '/v1/clinical-api/webhook-subscriptions',
    () => ({ url: 'http://127.0.0.1/', event_types: ['users.deactivated'] }),
    400,
    invalid,
    '/event_types/0',
  ],
  [
    'a webhook by ftp',
    '/v1/clinical-api/webhook-subscriptions',
    () => ({ url: 'ftp://127.0.0.1/', event_types: ['assessment.failed'] }),
    400,
    'webhook-url-forbidden',
    '/url',
  ],
  [
    'a webhook with a password',
    '/v1/clinical-api/webhook-subscriptions',
    () => ({ url: 'http://a:b@127.0.0.1/', event_types: ['assessment.failed'] }),
    400,
    'webhook-url-forbidden',
    '/url',
  ],
  [
    'a webhook to cloud metadata',
    '/v1/clinical-api/webhook-subscriptions',
    () => ({ url: 'http://169.254.169.254/', event_types: ['assessment.failed'] }),
    400,
    'webhook-url-forbidden',
    '/url',
  ],
  [
    'a consent type with a wrong code',
    '/v1/admin/consent-types',
    () => ({ code: 'AI Analysis', displayName: 'x', legalBasis: 'consent', required: true }),
    400,
    invalid,
    '/code',
  ],
  [
    'a consent type with a taken code',
    '/v1/admin/consent-types',
    () => ({ code: 'ai_analysis', displayName: 'x', legalBasis: 'consent', required: true }),
    409,
    'consent-type-code-in-use',
  ],
  [
    'a text of no locale',
    '/v1/admin/consent-types/{type}/text-versions',
    () => ({ locale: 'not a locale', text: 'x' }),
    400,
    invalid,
    '/locale',
  ],
  [
    'an empty text',
    '/v1/admin/consent-types/{type}/text-versions',
    () => ({ locale: 'en-GB', text: '' }),
    400,
    invalid,
    '/text',
  ],
  [
    'another decision',
    '/v1/patients/{patient}/consents',
    () => ({ ...terms, decision: 'maybe' }),
    400,
    invalid,
    '/decision',
  ],
  [
    'a decision to come',
    '/v1/patients/{patient}/consents',
    () => ({ ...terms, decision: 'granted', recorded_at: '2999-01-01T00:00:00Z' }),
    400,
    invalid,
    '/recorded_at',
  ],
  [
    'a decision on an unknown type',
    '/v1/patients/{patient}/consents',
    () => ({ ...terms, consent_type_id: unknownId, decision: 'granted' }),
    404,
    'consent-type-not-found',
    '/consent_type_id',
  ],
  [
    'a decision on an unknown text',
    '/v1/patients/{patient}/consents',
    () => ({ ...terms, text_version_id: unknownId, decision: 'granted' }),
    400,
    'consent-text-mismatch',
    '/text_version_id',
  ],
]

test.each(wrongPosts.map((post) => ({ what: post[0], post })))(
  '$what is refused',
  async ({ post: [, path, body, status, code, pointer] }) => {
    const filled = path.replace('{type}', terms.consent_type_id).replace('{patient}', patientId)
    expect(refusalOf(await api.call(filled, { body: body(), headers: admin }))).toEqual([status, code, pointer])
  },
)

test('the error of a wrong enum value lists the allowed values', async () => {
  const decision = await api.call(`/v1/patients/${patientId}/consents`, { body: { ...terms, decision: 'Jane' } })
  expect(at(decision.body, 'errors')).toEqual([
    { pointer: '/decision', detail: 'must be one of granted, denied, withdrawn', code: 'enum' },
  ])
  const captured = await api.call(assessments, { body: image({ capture_type: 'Jane' })() })
  expect(at(captured.body, 'errors')).toEqual([
    { pointer: '/images/0/capture_type', detail: 'must be one of dermoscopic, macroscopic, other', code: 'enum' },
  ])
})

test.each(['0000-01-01T00:00:00Z', '1849-12-31T23:59:59Z', '9999-01-01T00:00:00Z', '9999-12-31T23:59:59-14:00'])(
  'the instant %s is refused, and the read models continue',
  async (instant) => {
    const versions = `/v1/admin/consent-types/${terms.consent_type_id}/text-versions`
    const text = { locale: 'en-GB', text: `In force from ${instant}.` }
    expect(refusalOf(await api.call(versions, { body: { ...text, effectiveFrom: instant }, headers: admin }))).toEqual([
      400,
      invalid,
      '/effectiveFrom',
    ])
    const consents = `/v1/patients/${patientId}/consents`
    expect(
      refusalOf(await api.call(consents, { body: { ...terms, decision: 'denied', recorded_at: instant } })),
    ).toEqual([400, invalid, '/recorded_at'])

    const locale = `en-x-${instant.slice(0, 4)}${instant.slice(5, 7)}`
    const version = await expecting(
      201,
      api.call(versions, { body: { ...text, locale, effectiveFrom: '1850-01-01T00:00:00Z' }, headers: admin }),
    )
    const listed = at((await expecting(200, api.call(versions, { headers: admin }))).body, 'data')
    expect(listed).toContainEqual(expect.objectContaining({ id: textAt(version.body, 'id') }))
    await expecting(200, api.call(`/v1/clinical-api/patients/${await registerPatient(api)}`))
    expect((await fetch(`${platform.baseUrl}/health/ready`)).status).toBe(200)
  },
)

test('a text that is not in effect yet cannot be granted, but denied', async () => {
  const path = `/v1/admin/consent-types/${terms.consent_type_id}/text-versions`
  const body = { locale: 'en-GB', text: 'To come.', effectiveFrom: '2999-01-01T00:00:00.000Z' }
  const version = await expecting(201, api.call(path, { body, headers: admin }))
  expect(refusalOf(await api.call(path, { body, headers: admin }))).toEqual([409, 'text-version-exists', undefined])
  const decision = { ...terms, text_version_id: textAt(version.body, 'id') }
  const consents = `/v1/patients/${patientId}/consents`
  expect(refusalOf(await api.call(consents, { body: { ...decision, decision: 'granted' } })).slice(0, 2)).toEqual([
    400,
    'text-version-not-effective',
  ])
  await expecting(201, api.call(consents, { body: { ...decision, decision: 'denied' } }))
})

test('consent bodies are accepted in either casing, but not in both at once', async () => {
  const type = { code: 'snake', display_name: 'x', legal_basis: 'consent', required: false }
  await expecting(201, api.call('/v1/admin/consent-types', { body: type, headers: admin }))
  const camel = { consentTypeId: terms.consent_type_id, textVersionId: terms.text_version_id, decision: 'denied' }
  await expecting(201, api.call(`/v1/patients/${patientId}/consents`, { body: camel }))
  expect((await api.call(`/v1/patients/${patientId}/consents`, { body: { ...camel, ...terms } })).status).toBe(400)
})

test.each([
  ['text that is no JSON', 'application/json', '{"patient_id":', 400, 'malformed-body'],
  ['bytes that are no UTF-8', 'application/json', Buffer.from([0x22, 0xff, 0x22]), 400, 'malformed-body'],
  ['a null', 'application/json', 'null', 400, invalid],
  ['a list', 'application/json', '[]', 400, invalid],
  ['no body', 'application/json', '', 400, invalid],
  ['a form', 'application/x-www-form-urlencoded', 'patient_id=1', 415, 'unsupported-media-type'],
] as const)('a body of %s is refused', async (_, type, body, status, code) => {
  const answer = await watched.send(assessments, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    body,
  })
  expect(refusalOf(answer).slice(0, 2)).toEqual([status, code])
})

test.each(['', 'with space', 'x'.repeat(256), 'ü'])('the Idempotency-Key %j is refused', async (key) => {
  const answer = await api.call(assessments, { body: valid(), headers: { 'idempotency-key': key } })
  expect(refusalOf(answer)).toEqual([400, 'idempotency-key-invalid', undefined])
})

test('an inline patient is registered, and found by an identifier later', async () => {
  const identifiers = [{ scheme: 'mrn', value: 'inline' }]
  const body = inline({ identifiers })()
  const made = await expecting(202, api.call(assessments, { body }))
  const id = textAt(made.body, 'patient_id')
  const { body: patient } = await expecting(200, api.call(`/v1/clinical-api/patients/${id}`))
  expect(patient).toMatchObject({ id, given_name: 'Ada', family_name: 'Example', dob: '1980-02-29', identifiers })

  const again = await expecting(202, api.call(assessments, { body: inline({ given_name: 'Other', identifiers })() }))
  expect(at(again.body, 'patient_id')).toBe(id)
  expect((await expecting(200, api.call(`/v1/clinical-api/patients/${id}`))).body).toEqual(patient)
  const byId = await expecting(
    202,
    api.call(assessments, { body: inline({ identifiers: [{ scheme: 'mrn', value: 'first' }] })() }),
  )
  expect(at(byId.body, 'patient_id')).toBe(patientId)
  const both = inline({ identifiers: [...identifiers, { scheme: 'mrn', value: 'first' }] })()
  expect(refusalOf(await api.call(assessments, { body: both }))).toEqual([
    409,
    'patient-identifier-conflict',
    '/patient/identifiers/0',
  ])
  const unnamed = await Promise.all(
    [inline({}), inline({})].map((make) => expecting(202, api.call(assessments, { body: make() }))),
  )
  expect(new Set(unnamed.map((answer) => at(answer.body, 'patient_id'))).size).toBe(2)
  expect(at(await endOf(api, textAt(made.body, 'id')), 'error', 'code')).toBe('CONSENT_MISSING')
})

test('instants with each offset of RFC 3339 are taken by every GET that has one', async () => {
  const document: unknown = await (await fetch(`${platform.baseUrl}/openapi.json`)).json()
  const addresses = Object.entries(at(document, 'paths') ?? {}).flatMap(([path, methods]) =>
    (Object(at(methods, 'get', 'parameters') ?? []) as readonly unknown[])
      .filter((parameter) => at(parameter, 'schema', 'format') === 'date-time')
      .flatMap((parameter) =>
        ['+23:59', '-23:59', '+15:60', 'z'].map((offset) => {
          const instant = encodeURIComponent(`2026-01-02t03:04:05.123456789${offset}`)
          return `${path.replaceAll(/\{\w+\}/g, unknownId)}?${textAt(parameter, 'name')}=${instant}`
        }),
      ),
  )
  expect(addresses.length).toBeGreaterThan(20)
  const answers = await Promise.all(addresses.map(async (address) => [address, (await api.call(address)).status]))
  expect(answers.filter(([, status]) => Number(status) >= 500)).toEqual([])
  for (const offset of ['+23:59', '-23:59'])
    await expecting(200, api.call(`/v1/notifications?from=${encodeURIComponent(`2026-01-02T03:04:05${offset}`)}`))
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toContain('createAssessment 415')
  expect(await watched.undocumented()).toEqual([])
})
