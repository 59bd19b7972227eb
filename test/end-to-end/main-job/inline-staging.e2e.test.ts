import { createHash, randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { requestToken, type ApiAnswer, type ApiClient } from '../../support/raw-api.ts'
import { apiPort } from '../../support/apart.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  registerPatient,
  type ConsentTerms,
  type Photograph,
} from '../../support/main-job.ts'
import { clientOf, startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import { eventsOfAll } from '../bad-days/recorded-events.ts'

const assessments = '/v1/clinical-api/assessments'
const unknownId = '0190b0a0-0000-7000-8000-000000000001'
const mebibyte = 1024 * 1024

let platform: TestPlatform
let watched: WatchedPlatform
let api: ApiClient
let token: string
let terms: ConsentTerms
let patientId: string
let photo: Photograph

beforeAll(async () => {
  platform = await startTestPlatform()
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  token = textAt((await requestToken(platform.baseUrl, clientOf(platform.process, 0))).body, 'access_token')
  terms = await createConsentTerms(api, platform.process.credentials.org_id)
  patientId = await registerPatient(api)
  photo = await largePhotograph()
  known = await stored()
})

afterAll(() => platform.stop())

/** A photograph that is too large to stay in memory, with many bytes after the end of the image. */
async function largePhotograph(bytes = 2.5 * mebibyte): Promise<Photograph> {
  const { entry, bytes: small } = await photograph()
  return of(entry.mime_type, Buffer.concat([small, randomBytes(bytes)]))
}

function of(mimeType: Photograph['entry']['mime_type'], bytes: Buffer): Photograph {
  return {
    entry: { capture_type: 'dermoscopic', mime_type: mimeType, data: bytes.toString('base64') },
    bytes,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }
}

/** Keys in the embedded object store, from its file names without the marks of folders and objects. */
async function storedBelow(prefix: string): Promise<string[]> {
  const folder = join(platform.dataDir, 'object-store', 'buckets')
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
  const keys = files.map((file) =>
    file
      .split('/')
      .slice(1)
      .map((part) => decodeURIComponent(part.slice(0, -1)))
      .join('/'),
  )
  // The sealing of the log stores its tiles at any time.
  return keys.filter((key) => key.startsWith(prefix) && !key.startsWith('log/')).toSorted()
}

/** All objects, and the number of requested assessments. */
async function stored(): Promise<readonly unknown[]> {
  return [await storedBelow(''), await requested()]
}

/** What was stored after the test before, so that each test looks once. */
let known: readonly unknown[]

async function expectNothingNew(): Promise<void> {
  const before = known
  known = await stored()
  expect(known).toEqual(before)
}

/** Number of requested assessments. */
async function requested(): Promise<number> {
  const facts = await eventsOfAll(platform.process.credentials.eventstore_url ?? '')
  return facts.filter(({ type }) => type === 'AssessmentRequested').length
}

type Body = Readonly<Record<string, unknown>>

const valid = (): Body => assessmentBody(patientId, [photo])
const image = (members: Body) => (): Body => ({ ...valid(), images: [{ ...photo.entry, ...members }] })
const withMembers = (members: Body) => (): Body => ({ ...valid(), ...members })
const twice = (second: Body) => (): Body => ({ ...valid(), images: [photo.entry, second] })
const invalid = 'validation-failed'

/** A PNG of more than a megabyte with 100 000 by 100 000 pixels in its header. */
function pixelBomb(): string {
  const bytes = Buffer.alloc(2 * mebibyte)
  bytes.write('\x89PNG\r\n\x1a\n', 'latin1')
  bytes.writeUInt32BE(13, 8)
  bytes.write('IHDR', 12, 'latin1')
  bytes.writeUInt32BE(100_000, 16)
  bytes.writeUInt32BE(100_000, 20)
  return bytes.toString('base64')
}

type Refusal = readonly [what: string, body: () => Body | string, status: number, code: string, pointer?: string]
const refusals: readonly Refusal[] = [
  [
    'data that ends in no base64',
    () => image({ data: `${photo.entry.data.slice(0, -4)}@@@@` })(),
    400,
    invalid,
    '/images/0/data',
  ],
  [
    'base64url',
    () => image({ data: photo.entry.data.replaceAll('/', '_').replaceAll('+', '-') })(),
    400,
    invalid,
    '/images/0/data',
  ],
  [
    'base64 without padding',
    () =>
      image({
        data: Buffer.concat([photo.bytes, Buffer.alloc(3 - (photo.bytes.length % 3) + 1)])
          .toString('base64')
          .replaceAll('=', ''),
      })(),
    400,
    invalid,
    '/images/0/data',
  ],
  ['a second image of no data', () => twice({ ...photo.entry, data: '' })(), 400, invalid, '/images/1/data'],
  ['a second image whose data is no text', () => twice({ ...photo.entry, data: 1 })(), 400, invalid, '/images/1/data'],
  [
    'data of some images only',
    () => twice({ capture_type: 'other', mime_type: 'image/png' })(),
    400,
    'mixed-image-mode',
    '/images/1/data',
  ],
  ['another mime_type', image({ mime_type: 'image/gif' }), 400, invalid, '/images/0/mime_type'],
  ['no mime_type', image({ mime_type: undefined }), 400, invalid, '/images/0/mime_type'],
  ['another capture_type', image({ capture_type: 'xray' }), 400, invalid, '/images/0/capture_type'],
  ['an unknown member of an image', image({ device: 'x' }), 400, invalid, '/images/0/device'],
  ['bytes of another type', image({ mime_type: 'image/png' }), 400, 'image-invalid', '/images/0/data'],
  [
    'bytes of no image',
    () => image({ data: randomBytes(2 * mebibyte).toString('base64') })(),
    400,
    'image-invalid',
    '/images/0/data',
  ],
  [
    'an image of more than 20 MiB',
    () => image({ data: Buffer.concat([photo.bytes, Buffer.alloc(20 * mebibyte)]).toString('base64') })(),
    400,
    'image-too-large',
    '/images/0/data',
  ],
  [
    'an image of 10 000 megapixels',
    () => image({ mime_type: 'image/png', data: pixelBomb() })(),
    400,
    'image-too-large',
    '/images/0/data',
  ],
  [
    'eleven images',
    () => ({ ...valid(), images: Array.from({ length: 11 }, () => photo.entry) }),
    400,
    invalid,
    '/images',
  ],
  ['an unknown member', withMembers({ device: 'x' }), 400, invalid, '/device'],
  [
    'a patient and a patient_id',
    withMembers({ patient: { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29' } }),
    400,
    invalid,
    '/patient',
  ],
  [
    'clinical_context of 17 levels',
    withMembers({ clinical_context: JSON.parse(`${'{"a":'.repeat(17)}{}${'}'.repeat(17)}`) as unknown }),
    400,
    invalid,
    '/clinical_context',
  ],
  ['an unknown patient', withMembers({ patient_id: unknownId }), 404, 'patient-not-found', '/patient_id'],
  [
    'more than a megabyte beside its images',
    withMembers({ clinical_context: { a: 'x'.repeat(mebibyte) } }),
    413,
    'body-too-large',
  ],
  [
    'its images twice',
    () => JSON.stringify(valid()).replace('"finding"', '"images":[],"finding"'),
    400,
    'malformed-body',
    '/images',
  ],
  [
    'two types of its finding',
    () => JSON.stringify(valid()).replace('"finding_type"', '"finding_type":"rash","finding_type"'),
    400,
    'malformed-body',
    '/finding/finding_type',
  ],
  [
    'two data of one image',
    () => JSON.stringify(valid()).replace('"data":', '"data":"","data":'),
    400,
    'malformed-body',
    '/images/0/data',
  ],
  ['an end too soon', () => JSON.stringify(valid()).slice(0, -1), 400, 'malformed-body'],
  // `test/platform/http/repeated-members.unit.test.ts` has the other numbers.
  [
    'a number that JSON rounds',
    () =>
      JSON.stringify({ ...valid(), clinical_context: { sizes: [4.2, 'a number'] } }).replace(
        '"a number"',
        '9007199254740993',
      ),
    400,
    'malformed-body',
    '/clinical_context',
  ],
  [
    'half of a surrogate pair',
    () => JSON.stringify({ ...valid(), external_reference: 'half a pair' }).replace('half a pair', '\\ud800'),
    400,
    'malformed-body',
    '/external_reference',
  ],
]

test.each(refusals.map((refusal) => ({ what: refusal[0], refusal })))(
  'a request with $what leaves no object and no event',
  async ({ refusal: [, body, status, code, pointer] }) => {
    const sent = body()
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await watched.send(assessments, {
      method: 'POST',
      headers,
      body: typeof sent === 'string' ? sent : JSON.stringify(sent),
    })
    expect([answer.status, at(answer.body, 'code'), at(answer.body, 'errors', 0, 'pointer')]).toEqual([
      status,
      code,
      pointer,
    ])
    await expectNothingNew()
  },
)

test.each([
  ['a malformed Idempotency-Key', { 'idempotency-key': 'with space' }, '', 400],
  ['a query with U+0000', {}, '?org_id=%00', 400],
  ['no token', { authorization: '' }, '', 401],
  ['a body that is packed', { 'content-encoding': 'gzip' }, '', 415],
] as const)('so does one with %s', async (_, headers, query, status) => {
  expect((await api.call(`${assessments}${query}`, { body: valid(), headers })).status).toBe(status)
  await expectNothingNew()
})

test('a used key refuses other images, and stores none of them', async () => {
  const headers = { 'idempotency-key': 'taken' }
  await expecting(202, api.call(assessments, { body: valid(), headers }))
  known = await stored()
  const other = assessmentBody(patientId, [await largePhotograph()])
  expect(at((await expecting(409, api.call(assessments, { body: other, headers }))).body, 'code')).toBe(
    'idempotency-key-reused',
  )
  await expectNothingNew()
})

test('a large image is analysed unchanged with any escaping of its base64, and is stored once', async () => {
  const [large, small] = [await largePhotograph(7 * mebibyte), await photograph()]
  const body = JSON.stringify(assessmentBody(await consentedPatient(api, terms), [large, small]))
    .replaceAll('/', '\\/')
    .replaceAll('+', '\\u002B')
  const before = await storedBelow('images/')
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const created = await expecting(202, watched.send(assessments, { method: 'POST', headers, body }))
  expect([(await storedBelow('images/')).length - before.length, await storedBelow('staging/')]).toEqual([2, []])
  const id = textAt(created.body, 'id')
  expect(at(await endOf(api, id, 60_000), 'status')).toBe('completed')
  const sent = (await platform.provider.calls()).filter((call) => call.call === 'image').map(({ sha256 }) => sha256)
  expect(sent).toEqual(expect.arrayContaining([large.sha256, small.sha256]))
})

// In `repeats` they are small. Here each has more than a megabyte.
test('twenty requests with one key and more than a megabyte at once leave one set of objects', async () => {
  const before = new Set(await storedBelow('images/'))
  const shared = await largePhotograph(1.1 * mebibyte)
  const body = new TextEncoder().encode(JSON.stringify(assessmentBody(patientId, [shared, await photograph()])))
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'twenty' }
  const answers: ApiAnswer[] = await Promise.all(
    Array.from({ length: 20 }, () => watched.send(assessments, { method: 'POST', headers, body })),
  )
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
  const [id = '', ...otherIds] = new Set(answers.map((answer) => textAt(answer.body, 'id')))
  expect(otherIds).toEqual([])
  const added = (await storedBelow('images/')).filter((key) => !before.has(key))
  expect([added.length, added.every((key) => key.includes(`/${id}/`)), await storedBelow('staging/')]).toEqual([
    2,
    true,
    [],
  ])
})

/** Sends only the first megabytes of a request. */
function begin(): Socket {
  const socket = connect(apiPort(platform.process, platform.baseUrl), '127.0.0.1')
  socket.on('error', () => undefined)
  const text = JSON.stringify(valid())
  const head = [
    `POST ${assessments} HTTP/1.1`,
    'Host: platform',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${text.length}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${text.slice(0, -1000)}`)
  return socket
}

const aPiece = async () => ((await storedBelow('staging/')).length > 0 ? true : undefined)
const noPiece = async () => ((await storedBelow('staging/')).length === 0 ? true : undefined)

test('a client that disconnects during its images leaves no object behind', async () => {
  const events = await requested()
  const socket = begin()
  await waitFor('bytes on their way', aPiece)
  socket.resetAndDestroy()
  await waitFor('their removal', noPiece)
  expect(await requested()).toBe(events)
  expect(platform.process.output()).not.toContain('request failed')
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toContain('createAssessment 413')
  expect(await watched.undocumented()).toEqual([])
})

test('a kill during images leaves no object behind after the next start', async () => {
  const events = await requested()
  const socket = begin()
  await waitFor('bytes on their way', aPiece)
  await platform.process.kill()
  socket.destroy()
  expect(await storedBelow('staging/')).not.toEqual([])
  await platform.restart({ STAGING_TTL_SECONDS: '1' })
  await waitFor('the sweep', noPiece)
  expect(await requested()).toBe(events)
})
