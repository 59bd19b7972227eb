import { CompactSign, compactVerify, decodeProtectedHeader, errors, importJWK, type JWK } from 'jose'
import { Type, type Static } from 'typebox'
import { Check } from 'typebox/schema'
import { ConsentDecisionRecord } from './record.ts'
import type { SigningKey } from '../../platform/vault/signing-keys.ts'

/** The content of a receipt: the recorded decision and its text. Times are RFC 3339, `iat` is in seconds. */
export const ConsentReceipt = Type.Object({
  iss: Type.String(),
  iat: Type.Integer(),
  record: ConsentDecisionRecord,
  text_sha256: Type.String(),
  locale: Type.String(),
  issued_at: Type.String(),
})
export type ConsentReceipt = Static<typeof ConsentReceipt>

/** Keys of one purpose. The newest one signs. All are published (`/v1/auth/.well-known/jwks.json`). */
export interface ReceiptKeys {
  signingKey(purpose: 'receipt'): Promise<Pick<SigningKey, 'kid' | 'privateKey'>>
}

export type ReceiptRejection = 'no-receipt' | 'unknown-key' | 'altered'

export class ReceiptRejectedError extends Error {
  override readonly name = 'ReceiptRejectedError'
  readonly reason: ReceiptRejection

  constructor(reason: ReceiptRejection) {
    super(rejections[reason])
    this.reason = reason
  }
}

const rejections: Readonly<Record<ReceiptRejection, string>> = {
  'no-receipt': 'this is no consent receipt',
  'unknown-key': 'the key set does not hold the key that this receipt names',
  altered: 'this receipt was altered, or signed by somebody else: its signature is wrong',
}

const algorithm = 'EdDSA'
/** Distinguishes a receipt from every other token, also from one of the same key. */
const receiptType = 'consent-receipt+jws'
const longestReceipt = 16_384

export interface ReceiptFacts {
  readonly issuer: string
  readonly record: ConsentDecisionRecord
  readonly locale: string
  readonly now: Date
}

/** A compact JWS. Anybody can verify it with the published keys, without a call to the platform. */
export async function signReceipt(keys: ReceiptKeys, { issuer, record, locale, now }: ReceiptFacts): Promise<string> {
  const { kid, privateKey } = await keys.signingKey('receipt')
  const receipt: ConsentReceipt = {
    iss: issuer,
    iat: Math.floor(now.getTime() / 1000),
    record,
    text_sha256: record.text_sha256,
    locale,
    issued_at: now.toISOString(),
  }
  return new CompactSign(new TextEncoder().encode(JSON.stringify(receipt)))
    .setProtectedHeader({ alg: algorithm, typ: receiptType, kid })
    .sign(privateKey)
}

/** @throws ReceiptRejectedError */
export async function verifyReceipt(receipt: string, keys: readonly JWK[]): Promise<ConsentReceipt> {
  const kid = keyIdOf(receipt)
  const key = keys.find((jwk) => jwk.kid === kid && jwk.kty === 'OKP' && jwk.crv === 'Ed25519')
  if (key === undefined) throw new ReceiptRejectedError('unknown-key')
  const stated = statementOf(await payloadOf(receipt, key))
  if (stated === undefined) throw new ReceiptRejectedError('no-receipt')
  return stated
}

function keyIdOf(receipt: string): string {
  try {
    const { alg, typ, kid } = receipt.length > longestReceipt ? {} : decodeProtectedHeader(receipt)
    if (alg === algorithm && typ === receiptType && kid !== undefined) return kid
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
  }
  throw new ReceiptRejectedError('no-receipt')
}

async function payloadOf(receipt: string, key: JWK): Promise<Uint8Array> {
  try {
    return (await compactVerify(receipt, await importJWK(key, algorithm), { algorithms: [algorithm] })).payload
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) throw new ReceiptRejectedError('altered')
    if (error instanceof errors.JOSEError) throw new ReceiptRejectedError('no-receipt')
    throw error
  }
}

function statementOf(payload: Uint8Array): ConsentReceipt | undefined {
  try {
    const statement: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload))
    return Check(ConsentReceipt, statement) ? statement : undefined
  } catch {
    return undefined
  }
}
