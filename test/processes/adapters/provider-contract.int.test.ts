import { createHash, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import { createProvider, type Provider, type ProviderAnswer } from '../../../processes/adapters/provider.ts'
import { hostedProvider } from '../../support/hosted-stand-ins.ts'
import { startRecordingProxy, type RecordedRequest, type RecordingProxy } from './recording-proxy.ts'

/**
 * The contract of the session API (specification 4.5 and 2.6). Runs against the simulator, or against a real provider:
 * set PROVIDER_BASE_URL, PROVIDER_LOGIN and PROVIDER_PASSWORD. A real provider bills one case.
 */
const realUrl = process.env['PROVIDER_BASE_URL'] ?? ''
const longestMs = realUrl === '' ? 10_000 : 600_000

const signal = new AbortController().signal
const correlationId = randomUUID()
let photo: Buffer
let proxy: RecordingProxy
let provider: Provider
let egress: Egress
let login: string
let password: string
let providerCaseId: number
let image: { readonly providerImageId: number; readonly providerImageHash: string | null }
let checksum: string
let text: string
const closing: (() => Promise<void>)[] = []

function valueOf<Value>(answer: ProviderAnswer<Value>): Value {
  if (answer.kind !== 'ok') throw new Error(`the provider answered ${JSON.stringify(answer)}`)
  return answer.value
}

async function target(): Promise<string> {
  if (realUrl !== '') {
    login = process.env['PROVIDER_LOGIN'] ?? ''
    password = process.env['PROVIDER_PASSWORD'] ?? ''
    return realUrl
  }
  ;[login, password] = ['platform', randomUUID()]
  const simulator = await hostedProvider({ login, password, controlSecret: password })
  closing.push(() => simulator.stop())
  return simulator.url
}

/** The whole life of one provider case. Everything below reads what it left. */
beforeAll(async () => {
  photo = await readFile(new URL('../../../embedded/photos/lesion-1.jpg', import.meta.url))
  proxy = await startRecordingProxy(await target())
  const configuration = loadConfiguration({
    PROVIDER_BASE_URL: proxy.url,
    PROVIDER_LOGIN: login,
    PROVIDER_PASSWORD: password,
    PROVIDER_REQUESTING_SYSTEM: 'contract-suite',
  })
  egress = createEgress({ configuration })
  provider = createProvider(egress, configuration, () => new Date())
  ;({ providerCaseId } = valueOf(await provider.createCase(signal)))
  const upload = {
    providerCaseId,
    imageType: 'DERMOSCOPIC' as const,
    correlationId,
    deviceManufacturer: 'Acme',
    deviceModel: 'Scope 3',
    contentType: 'image/jpeg',
    bytes: photo.length,
    open: async () => Readable.from([photo]),
  }
  image = valueOf(await provider.sendImage(upload, signal))
  ;({ checksum } = valueOf(await provider.process(providerCaseId, signal)))
  const until = performance.now() + longestMs
  do {
    ;({ text } = valueOf(await provider.result(providerCaseId, checksum, signal)))
    if (!text.includes('STATUS_PROCESSED')) await sleep(realUrl === '' ? 50 : 5_000)
  } while (!text.includes('STATUS_PROCESSED') && performance.now() < until)
  await provider.close()
}, longestMs + 60_000)

afterAll(async () => {
  await egress.close()
  await proxy.close()
  for (const close of closing) await close()
})

function requestTo(line: string): RecordedRequest {
  const found = proxy.requests.find((request) => request.line === line)
  if (found === undefined) throw new Error(`${line} was not sent, but ${proxy.requests.map((one) => one.line).join()}`)
  return found
}

describe('the requests of the platform have exactly the members of the specification', () => {
  it('POST /api5/login: the form members login and password, without a session', () => {
    const { form, contentType, authorization } = requestTo('POST /api5/login')
    expect(form).toEqual({ fields: { login, password }, image: undefined })
    expect(contentType).toBe('application/x-www-form-urlencoded')
    expect(authorization).toBeUndefined()
  })

  it('POST /api5/case: the form member requestingSystem', () => {
    const { form, contentType } = requestTo('POST /api5/case')
    expect(form).toEqual({ fields: { requestingSystem: 'contract-suite' }, image: undefined })
    expect(contentType).toBe('application/x-www-form-urlencoded')
  })

  it('POST /api5/image: multipart with the bytes of the image, its type, its device and the correlation id', () => {
    const { form, contentType } = requestTo('POST /api5/image')
    expect(contentType).toMatch(/^multipart\/form-data; boundary=/)
    expect(form).toEqual({
      fields: {
        caseId: String(providerCaseId),
        imageType: 'DERMOSCOPIC',
        deviceManufacturer: 'Acme',
        deviceModel: 'Scope 3',
        correlationId,
      },
      image: { sha256: createHash('sha256').update(photo).digest('hex'), bytes: photo.length },
    })
  })

  it('POST /api5/case/{caseId}/process and POST /api5/logout: no body', () => {
    for (const line of [`POST /api5/case/${providerCaseId}/process`, 'POST /api5/logout'])
      expect([line, requestTo(line).bytes]).toEqual([line, 0])
  })

  it('GET /api5/case/{caseId}/result: the checksum as the only parameter, and no body', () => {
    const line = `GET /api5/case/${providerCaseId}/result?checksum=${encodeURIComponent(checksum)}`
    expect(requestTo(line).bytes).toBe(0)
  })

  it('in this order, all but the login with one session token', () => {
    const [first, ...others] = proxy.requests
    expect(first?.line).toBe('POST /api5/login')
    expect(new Set(others.map(({ authorization }) => authorization)).size).toBe(1)
    expect(others[0]?.authorization).toMatch(/./)
    expect(others.map(({ line }) => line.replace(/\?.*/, '').replace(/case\/\d+/, 'case')).filter(isFirst)).toEqual([
      'POST /api5/case',
      'POST /api5/image',
      'POST /api5/case/process',
      'GET /api5/case/result',
      'POST /api5/logout',
    ])
    for (const { line, status } of proxy.requests) expect([line, status]).toEqual([line, 200])
  })
})

function isFirst(line: string, index: number, all: readonly string[]): boolean {
  return all.indexOf(line) === index
}

describe('the answers of the provider have the members that the platform reads', () => {
  it('caseId and imageId are whole numbers, the checksum is a text', () => {
    expect(providerCaseId).toSatisfy(Number.isInteger)
    expect(image.providerImageId).toSatisfy(Number.isInteger)
    expect(checksum).toMatch(/./)
  })

  it('the result has its status, its version, its images and its lesions', () => {
    const result: unknown = JSON.parse(text)
    expect(result).toMatchObject({
      analysisStatus: expect.any(String),
      analysisResult: expect.any(String),
      processingType: expect.any(String),
      lesionCount: expect.any(Number),
      reportDate: expect.any(Number),
      assessedByProviderVersion: expect.any(String),
      images: [{ imageId: image.providerImageId, imageType: 'DERMOSCOPIC', imageQuality: expect.any(String) }],
      settings: expect.any(Object),
    })
    expect(result).toMatchObject({
      lesions: expect.arrayContaining([
        expect.objectContaining({
          lesionNumber: expect.any(Number),
          lesionId: expect.any(Number),
          coordinates: expect.objectContaining({ x1: expect.any(Number), y2: expect.any(Number) }),
          classification: expect.any(String),
          category: expect.any(String),
          priority: expect.any(Number),
        }),
      ]),
    })
  })
})
