import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { receiptExitCodes, verifyReceiptFile } from '../../../app/verify-receipt.ts'
import { signReceipt, verifyReceipt } from '../../../contracts/consent/receipt.ts'
import { toConsentDecisionRecord } from '../../../contracts/consent/record.ts'
import { newSigningSecret, signingKeyOf, type SigningKey } from '../../../platform/vault/signing-keys.ts'
import { at, consentFact } from '../../streams/facts.ts'

const record = toConsentDecisionRecord(consentFact('ConsentRecorded').data)
const facts = { issuer: 'https://platform.test/v1/consent', record, locale: 'en-GB', now: new Date(at(9)) }

let retired: SigningKey
let current: SigningKey
let foreign: SigningKey
let folder: string
let receipt: string

beforeAll(async () => {
  ;[retired, current, foreign] = [await newKey(), await newKey(), await newKey()]
  folder = await mkdtemp(join(tmpdir(), 'receipts-'))
  receipt = await signReceipt({ signingKey: async () => current }, facts)
})

afterAll(() => rm(folder, { recursive: true }))

function newKey(): Promise<SigningKey> {
  return signingKeyOf(newSigningSecret())
}

function keySet(...keys: readonly SigningKey[]) {
  return keys.map(({ publicJwk }) => publicJwk)
}

/** The receipt with another decision, under the same signature. */
function altered(): string {
  const [head = '', payload = '', signature = ''] = receipt.split('.')
  const statement = Buffer.from(payload, 'base64url').toString('utf8').replace('granted', 'refused')
  return [head, Buffer.from(statement).toString('base64url'), signature].join('.')
}

function reasonOf(text: string, keys: readonly SigningKey[]) {
  return verifyReceipt(text, keySet(...keys)).then(
    () => 'genuine',
    (error: unknown) => (Object(error) as { reason?: unknown }).reason,
  )
}

describe('a consent receipt', () => {
  it('contains the record, the hash and the locale of its text, and its time of issue', async () => {
    expect(await verifyReceipt(receipt, keySet(retired, current))).toEqual({
      iss: facts.issuer,
      iat: Date.parse(at(9)) / 1000,
      record,
      text_sha256: record.text_sha256,
      locale: 'en-GB',
      issued_at: at(9),
    })
  })

  it('is valid while its key is published, also after a newer key', async () => {
    const older = await signReceipt({ signingKey: async () => retired }, facts)
    expect(await reasonOf(older, [current, retired])).toBe('genuine')
    expect(await reasonOf(older, [current])).toBe('unknown-key')
  })

  it('is refused if it was altered, or signed by another key under a published key id', async () => {
    expect(await reasonOf(altered(), [current])).toBe('altered')
    const forged = await signReceipt({ signingKey: async () => ({ ...foreign, kid: current.kid }) }, facts)
    expect(await reasonOf(forged, [current])).toBe('altered')
  })

  it.each([
    [
      'an access token of the same key',
      () =>
        new SignJWT({ record })
          .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: current.kid })
          .sign(current.privateKey),
    ],
    [
      'a signed text that states something else',
      () =>
        new SignJWT({})
          .setProtectedHeader({ alg: 'EdDSA', typ: 'consent-receipt+jws', kid: current.kid })
          .sign(current.privateKey),
    ],
    [
      'a token without a signature',
      async () => `${Buffer.from('{"alg":"none","typ":"consent-receipt+jws","kid":"x"}').toString('base64url')}.e30.`,
    ],
    ['two of three parts', async () => receipt.split('.').slice(0, 2).join('.')],
    ['any text', async () => 'no receipt'],
    ['nothing', async () => ''],
    ['far too much', async () => `${receipt}${'A'.repeat(20_000)}`],
  ])('%s is not a receipt', async (_, make) => {
    expect(await reasonOf(await make(), [current])).toBe('no-receipt')
  })
})

describe('verifying a file', () => {
  async function verdict(content: string, keys: string) {
    const [file, jwks] = [join(folder, 'receipt'), join(folder, 'jwks.json')]
    await writeFile(file, content)
    await writeFile(jwks, keys)
    return verifyReceiptFile({ file, jwks })
  }
  const jwksOf = (...keys: readonly SigningKey[]) => JSON.stringify({ keys: keySet(...keys) })

  it('accepts the receipt alone or in the JSON of its answer, and prints its content', async () => {
    for (const content of [receipt, `${receipt}\n`, JSON.stringify({ receipt })]) {
      const { code, text } = await verdict(content, jwksOf(retired, current))
      expect([code, JSON.parse(text)]).toEqual([0, expect.objectContaining({ record, locale: 'en-GB' })])
    }
  })

  it('ends with a separate code and message for each refusal', async () => {
    const verdicts = [
      await verdict('no receipt', jwksOf(current)),
      await verdict(receipt, jwksOf(foreign)),
      await verdict(altered(), jwksOf(current)),
      await verdict(receipt, '{}'),
      await verifyReceiptFile({ file: join(folder, 'missing'), jwks: join(folder, 'jwks.json') }),
    ]
    const { unreadable } = receiptExitCodes
    expect(verdicts.map(({ code }) => code)).toEqual([
      receiptExitCodes['no-receipt'],
      receiptExitCodes['unknown-key'],
      receiptExitCodes.altered,
      unreadable,
      unreadable,
    ])
    expect(new Set(verdicts.map(({ text }) => text)).size).toBe(verdicts.length)
  })
})
