import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { expecting } from '../../support/main-job.ts'
import { clientOf } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'
import { openConsentWorld, refusal, type ConsentWorld } from './consent-world.ts'

const main = fileURLToPath(new URL('../../../app/main.ts', import.meta.url))

let world: ConsentWorld
let folder: string
let patientId: string
let record: unknown
let answer: unknown

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'receipts-'))
  world = await openConsentWorld(await joinSharedPlatform())
  const terms = await world.terms('research')
  patientId = randomUUID()
  record = (await expecting(201, world.decide(patientId, terms, 'granted', { recorded_by: 'Nurse Canary' }))).body
  answer = (await expecting(200, world.api.call(receiptOf(patientId)))).body
})

afterAll(async () => {
  await world.platform.stop()
  await rm(folder, { recursive: true, force: true })
})

const receiptOf = (patient: string, id: unknown = at(record, 'id')) =>
  `/v1/patients/${patient}/consents/${String(id)}/receipt`

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs `platform verify receipt` without any configuration. */
async function verify(receipt: string, jwks: string): Promise<Ended> {
  const [file, keys] = [join(folder, 'receipt.json'), join(folder, 'jwks.json')]
  await writeFile(file, receipt)
  await writeFile(keys, jwks)
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [main, 'verify', 'receipt', file, '--jwks', keys],
      { env: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] } },
      (error, out, err) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err })
      },
    )
  })
}

async function publishedKeys(): Promise<string> {
  return (await fetch(`${world.platform.baseUrl}/v1/auth/.well-known/jwks.json`)).text()
}

test('a receipt contains the record, its text and its time of issue, and is verified offline', async () => {
  const keys = await publishedKeys()
  const { code, out } = await verify(JSON.stringify(answer), keys)
  expect([code, JSON.parse(out)]).toEqual([
    0,
    {
      iss: `${world.platform.baseUrl}/v1/consent`,
      iat: expect.any(Number),
      record,
      text_sha256: at(record, 'text_sha256'),
      locale: 'en-GB',
      issued_at: expect.any(String),
    },
  ])
})

// `test/contracts/consent/receipt.unit.test.ts` has the codes of the other errors.
test('an altered receipt ends the command with an error', async () => {
  const [head = '', payload = '', signature = ''] = textAt(answer, 'receipt').split('.')
  const withdrawn = Buffer.from(payload, 'base64url').toString('utf8').replace('"granted"', '"withdrawn"')
  const altered = [head, Buffer.from(withdrawn).toString('base64url'), signature].join('.')
  const { code, out, err } = await verify(altered, await publishedKeys())
  expect([code, out, err]).toEqual([5, '', expect.stringMatching(/./)])
})

test('another organisation gets no receipt', async () => {
  expect(refusal(await world.api.call(receiptOf(randomUUID())))).toBe('404 not-found')
  expect(refusal(await world.api.call(receiptOf(patientId, randomUUID())))).toBe('404 not-found')
  const stranger = world.watched.watch(await world.platform.connect(clientOf(world.platform.process, 1)))
  expect(refusal(await stranger.call(receiptOf(patientId)))).toBe('404 not-found')
})

test('every answer is documented', async () => {
  expect(await world.watched.seen()).toEqual(expect.arrayContaining(['getConsentReceipt 200', 'getConsentReceipt 404']))
  expect(await world.watched.undocumented()).toEqual([])
})
