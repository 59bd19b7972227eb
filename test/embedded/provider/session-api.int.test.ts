import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { EmbeddedProvider } from '../../../embedded/provider/start-provider.ts'
import { ProviderClient, sha256Of, startTestProvider } from './provider-client.ts'

let folder: string
let provider: EmbeddedProvider
let client: ProviderClient

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provider-'))
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

test('an image gets from login to a successful result with every member of the payload', async () => {
  const { caseId } = (await client.openCase()).body
  const image = await client.sendImage(caseId, 'lesion bytes')
  expect(image.body).toEqual({ imageId: expect.any(Number), hash: sha256Of('lesion bytes') })
  const { checksum } = (await client.process(caseId)).body
  const { status, body } = await client.result(caseId, checksum)

  expect(status).toBe(200)
  expect(body).toMatchObject({
    status: 'STATUS_PROCESSED',
    caseId,
    assessedByProviderVersion: expect.any(String),
    analysisStatus: expect.any(String),
    analysisResult: 'SUCCESSFUL_PROCESSING',
    analysisResultStatement: expect.any(String),
    processingType: 'DERMO_ONLY',
    reportDate: expect.any(Number),
    sensitivitySet: expect.any(String),
    settings: { priorityMap: expect.any(Object), sensitivityMap: expect.any(Object) },
    images: [
      {
        imageId: image.body['imageId'],
        imageHash: sha256Of('lesion bytes'),
        imageType: 'DERMOSCOPIC',
        imageQuality: 'IMAGE_QUALITY_SUITABLE',
      },
    ],
  })
  const lesions = body['lesions'] as Record<string, unknown>[]
  expect(lesions.length).toBeGreaterThan(0)
  expect(body['lesionCount']).toBe(lesions.length)
  expect(Object.keys(lesions[0] ?? {}).sort()).toEqual([
    'category',
    'classification',
    'coordinates',
    'interpretationGuidance',
    'lesionId',
    'lesionNumber',
    'priority',
    'referralFlag',
    'referralRecommendation',
    'referralRecommendationGuidance',
    'suspectedDiagnosis',
    'suspectedDiagnosisIcd10Code',
    'suspectedDiagnosisIcd10Term',
    'suspectedDiagnosisSnomedCode',
    'suspectedDiagnosisSnomedTerm',
  ])
})

test('findings depend only on the bytes, and their numbers continue through the images', async () => {
  const lesionsOf = async (...images: string[]): Promise<Record<string, unknown>[]> => {
    const { caseId, checksum } = await client.processedCase(...images)
    const found = (await client.result(caseId, checksum)).body['lesions'] as Record<string, unknown>[]
    return found.map((lesion) => ({ ...lesion, lesionId: 'differs by image' }))
  }
  const [one, two, both] = [await lesionsOf('one'), await lesionsOf('two'), await lesionsOf('one', 'two')]

  expect(await lesionsOf('one')).toEqual(one)
  expect(both).toEqual([...one, ...two].map((lesion, index) => ({ ...lesion, lesionNumber: index + 1 })))
})

test('a repeated process returns the same checksum; another checksum returns no result', async () => {
  const { caseId, checksum } = await client.processedCase('bytes')
  const other = await client.processedCase('bytes')

  expect((await client.process(caseId)).body).toEqual({ checksum })
  expect(other.checksum).not.toBe(checksum)
  expect((await client.result(caseId, other.checksum)).status).toBe(404)
  expect((await client.result(caseId, '')).status).toBe(404)
})

test('refuses invalid requests with a reason', async () => {
  const { caseId } = (await client.openCase()).body
  expect((await client.openCase('')).body).toEqual({ error: 'requestingSystem is required' })
  expect((await client.process(caseId)).body).toEqual({ error: 'the case has no image' })
  expect((await client.sendImage(caseId, '')).body).toEqual({ error: 'image is required' })
  expect((await client.sendImage(caseId, 'x', 'XRAY')).status).toBe(400)
  expect((await client.sendImage(999_999, 'x')).status).toBe(404)
  await client.sendImage(caseId, 'x')
  await client.process(caseId)
  expect((await client.sendImage(caseId, 'y')).status).toBe(409)
})

test('every call without a live session is a 401', async () => {
  expect((await client.login('wrong')).status).toBe(401)
  expect((await client.openCase()).status).toBe(401)
  await client.login()
  await client.logout()
  expect((await client.openCase()).status).toBe(401)

  const shortLived = await startTestProvider(join(folder, 'short'), 0)
  const late = new ProviderClient(shortLived)
  expect((await late.login()).status).toBe(200)
  expect((await late.openCase()).status).toBe(401)
  await shortLived.stop()
})

test('the call list contains every call in order, including refused ones, and no image bytes', async () => {
  await client.control('DELETE', '')
  const { caseId } = (await client.openCase('clinic-7')).body
  await client.sendImage(caseId, 'unmistakable-image-bytes', 'MACROSCOPIC')
  const { checksum } = (await client.process(caseId)).body
  await client.result(caseId, checksum)
  client.token = 'forged'
  await client.result(caseId, checksum)

  const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/)
  expect(await client.calls()).toEqual([
    { call: 'case', at, status: 200, caseId, requestingSystem: 'clinic-7' },
    {
      call: 'image',
      at,
      status: 200,
      caseId,
      imageId: expect.any(Number),
      sha256: sha256Of('unmistakable-image-bytes'),
      imageType: 'MACROSCOPIC',
      correlationId: 'correlation-1',
    },
    { call: 'process', at, status: 200, caseId, checksum },
    { call: 'result', at, status: 200, caseId, checksum },
    { call: 'result', at, status: 401, caseId, checksum },
  ])
  for (const name of await readdir(folder)) {
    if (name.startsWith('provider.sqlite'))
      expect((await readFile(join(folder, name))).includes('unmistakable')).toBe(false)
  }
})

test('session, case, checksum, controls and calls survive a kill of the provider', async () => {
  const apart = join(folder, 'apart')
  const before = await startTestProvider(apart)
  const first = new ProviderClient(before)
  await first.login()
  const { caseId, checksum } = await first.processedCase('bytes')
  await first.control('POST', '/faults', [{ call: 'result', status: 503 }])
  await first.control('POST', '/results', [{ sha256: '*', image_quality: 'IMAGE_QUALITY_UNSUITABLE' }])
  const calls = await first.calls()
  process.kill(before.pid, 'SIGKILL')
  await before.exited

  const after = await startTestProvider(apart)
  const second = new ProviderClient(after)
  second.token = first.token
  expect(await second.calls()).toEqual(calls)
  expect((await second.process(caseId)).body).toEqual({ checksum })
  expect((await second.result(caseId, checksum)).status).toBe(503)
  expect((await second.result(caseId, checksum)).body['images']).toMatchObject([
    { imageQuality: 'IMAGE_QUALITY_UNSUITABLE' },
  ])
  await after.stop()
  expect(await after.exited).toBe(0)
})

test.each(['//', '//a:b', '/\\', '//?'])('the path %s, which is no URL, is 404', async (path) => {
  expect((await fetch(`${provider.url}${path}`)).status).toBe(404)
})
