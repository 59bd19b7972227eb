import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type EmbeddedProvider, startProvider } from '../../../embedded/provider/start-provider.ts'
import { controlSecret, ProviderClient, sha256Of, startTestProvider } from './provider-client.ts'

let folder: string
let provider: EmbeddedProvider
let client: ProviderClient

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'controls-'))
  provider = await startTestProvider(folder)
})

beforeEach(async () => {
  client = new ProviderClient(provider)
  await client.control('DELETE', '')
  await client.login()
})

afterAll(async () => {
  await provider.stop()
  await rm(folder, { recursive: true, force: true })
})

async function resultOf(...images: string[]): Promise<Record<string, unknown>> {
  const { caseId, checksum } = await client.processedCase(...images)
  return (await client.result(caseId, checksum)).body
}

test.each([
  ['GET', '/calls'],
  ['POST', '/faults'],
  ['POST', '/results'],
  ['DELETE', ''],
  ['GET', '/unknown'],
])('%s /control%s is refused without the control secret and has no effect', async (method, path) => {
  const before = await client.calls()
  for (const given of [undefined, '', 'wrong', `${controlSecret}x`, controlSecret.slice(1)]) {
    const headers = given === undefined ? {} : { 'x-control-secret': given }
    const body = method === 'POST' ? { body: '[{ "call": "login", "sha256": "*" }]' } : {}
    const refused = await fetch(`${provider.url}/control${path}`, { method, headers, ...body })
    expect([refused.status, await refused.json()]).toEqual([401, { error: 'unauthorized' }])
  }
  expect(await client.calls()).toEqual(before)
  expect((await client.login()).status).toBe(200)
})

test('every answer has the mark of the simulator, and /health needs no login', async () => {
  const answers = [
    await client.login(),
    await client.openCase(),
    await client.control('GET', '/unknown'),
    await client.control('DELETE', ''),
  ]
  expect(answers.map(({ headers }) => headers.get('x-provider-simulator'))).toEqual(['true', 'true', 'true', 'true'])
  const health = await fetch(`${provider.url}/health`)
  expect([health.status, health.headers.get('x-provider-simulator'), await health.json()]).toEqual([
    200,
    'true',
    { status: 'ok' },
  ])
})

test('does not start without a control secret', async () => {
  const starting = startProvider({
    dataDir: join(folder, 'open'),
    port: 0,
    login: 'demo',
    password: 'secret',
    controlSecret: '',
  })
  await expect(starting).rejects.toThrow('PROVIDER_CONTROL_SECRET')
})

test('the call list contains a logout', async () => {
  await client.logout()
  expect((await client.calls()).map(({ call, status }) => [call, status])).toEqual([
    ['login', 200],
    ['logout', 200],
  ])
})

test('faults are used in order, each for its number of times, and have no other effect', async () => {
  await client.control('POST', '/faults', [
    { call: 'case', status: 503, times: 2 },
    { call: 'process', status: 422, body: '{"reason":"reason given"}' },
  ])
  await client.control('POST', '/faults', [{ call: 'case', status: 429 }])

  const statuses = [
    await client.openCase(),
    await client.openCase(),
    await client.openCase(),
    await client.openCase(),
  ].map((reply) => reply.status)
  expect(statuses).toEqual([503, 503, 429, 200])
  const { caseId } = (await client.openCase()).body
  await client.sendImage(caseId, 'x')
  expect((await client.process(caseId)).body).toEqual({ reason: 'reason given' })
  expect((await client.process(caseId)).status).toBe(200)
  const calls = await client.calls()
  expect(calls.filter(({ call }) => call === 'case').map(({ status }) => status)).toEqual([503, 503, 429, 200, 200])
})

test('a 401 ends the session, and a new login works', async () => {
  await client.control('POST', '/faults', [{ call: 'image', status: 401 }])
  const { caseId } = (await client.openCase()).body
  expect((await client.sendImage(caseId, 'x')).status).toBe(401)
  expect((await client.sendImage(caseId, 'x')).status).toBe(401)
  await client.login()
  expect((await client.sendImage(caseId, 'x')).status).toBe(200)
})

test('a delay holds back only the answer; its effect is already there', async () => {
  await client.control('POST', '/faults', [{ call: 'case', delay_ms: 400 }])
  const slow = client.openCase()
  const first = await Promise.race([slow, callsOnceAny()])

  expect(first).toMatchObject([{ call: 'case', status: 200 }])
  expect((await slow).status).toBe(200)
})

async function callsOnceAny(): Promise<Record<string, unknown>[]> {
  for (;;) {
    const calls = (await client.calls()).filter(({ call }) => call === 'case')
    if (calls.length > 0) return calls
  }
}

test('results are not ready for the requested number of polls, then stay the same', async () => {
  await client.control('POST', '/results', [{ sha256: sha256Of('slow'), not_ready_polls: 2 }])
  const { caseId, checksum } = await client.processedCase('slow')
  const statuses = [
    await client.result(caseId, checksum),
    await client.result(caseId, checksum),
    await client.result(caseId, checksum),
  ].map((reply) => reply.body['status'])
  expect(statuses).toEqual(['STATUS_PROCESSING', 'STATUS_PROCESSING', 'STATUS_PROCESSED'])

  const before = await client.result(caseId, checksum)
  await client.control('POST', '/results', [{ sha256: '*', analysis_result: 'CHANGED' }])
  expect((await client.result(caseId, checksum)).body).toEqual(before.body)
})

test('quality applies to one image, the analysis result to the case by its first image with a control', async () => {
  await client.control('POST', '/results', [
    { sha256: sha256Of('second'), image_quality: 'IMAGE_QUALITY_UNSUITABLE', analysis_result: 'FROM_SECOND' },
    { sha256: sha256Of('third'), analysis_result: 'FROM_THIRD' },
  ])
  const body = await resultOf('first', 'second', 'third')

  expect(body['analysisResult']).toBe('FROM_SECOND')
  expect((body['images'] as { imageQuality: string }[]).map(({ imageQuality }) => imageQuality)).toEqual([
    'IMAGE_QUALITY_SUITABLE',
    'IMAGE_QUALITY_UNSUITABLE',
    'IMAGE_QUALITY_SUITABLE',
  ])
  expect((await resultOf('first'))['analysisResult']).toBe('SUCCESSFUL_PROCESSING')
})

test('an exact hash has priority over any image, and a later control over an earlier one', async () => {
  await client.control('POST', '/results', [
    { sha256: sha256Of('a'), analysis_result: 'EXACT' },
    { sha256: '*', analysis_result: 'ANY' },
  ])
  expect([(await resultOf('a'))['analysisResult'], (await resultOf('b'))['analysisResult']]).toEqual(['EXACT', 'ANY'])

  await client.control('POST', '/results', [{ sha256: '*', analysis_result: 'NEWER' }])
  expect([(await resultOf('a'))['analysisResult'], (await resultOf('b'))['analysisResult']]).toEqual(['EXACT', 'NEWER'])
})

test('given lesions replace the default ones and are completed', async () => {
  await client.control('POST', '/results', [
    {
      sha256: sha256Of('a'),
      lesions: [
        { classification: 'BCC', priority: 9 },
        { category: 'Unclear', referralFlag: null },
      ],
    },
    { sha256: sha256Of('b'), lesions: [] },
  ])
  const body = await resultOf('b', 'a')

  expect(body['lesionCount']).toBe(2)
  expect(body['lesions']).toMatchObject([
    {
      lesionNumber: 1,
      classification: 'BCC',
      category: 'Malignant',
      priority: 9,
      suspectedDiagnosisSnomedCode: '254701007',
    },
    { lesionNumber: 2, category: 'Unclear', referralFlag: null, coordinates: { x1: expect.any(Number) } },
  ])
})

test.each([
  ['/faults', [{ call: 'refund' }], '/0/call must be equal to one of the allowed values'],
  ['/faults', [{ call: 'case' }, { call: 'case', times: 0 }], '/1/times must be >= 1'],
  ['/faults', [{ call: 'case', satus: 500 }], '/0 must NOT have additional properties: satus'],
  ['/faults', { call: 'case' }, 'the body must be array'],
  ['/results', [{ sha256: 'abc' }], '/0/sha256 must match pattern "^([0-9a-f]{64}|\\*)$"'],
  ['/results', [{ sha256: '*', lesions: [{ priority: 'high' }] }], '/0/lesions/0/priority must be integer'],
])('the refusal of a malformed control at %s names its member', async (path, body, error) => {
  expect(await client.control('POST', path, body)).toMatchObject({ status: 400, body: { error } })
})

test('a delete of the controls removes faults, results and calls, and keeps sessions and cases', async () => {
  await client.control('POST', '/faults', [{ call: 'case', status: 500, times: 9 }])
  await client.control('POST', '/results', [{ sha256: '*', analysis_result: 'FAILED' }])
  await client.openCase()
  expect((await client.control('DELETE', '')).status).toBe(204)

  expect(await client.calls()).toEqual([])
  expect((await resultOf('x'))['analysisResult']).toBe('SUCCESSFUL_PROCESSING')
})
