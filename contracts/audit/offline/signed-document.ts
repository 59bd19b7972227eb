import { createPublicKey, verify, type KeyObject } from 'node:crypto'
import { canonicalJson, isObject } from './canonical-json.ts'

/** What a signature is about, as its header has it. A signature of one kind is none of the other. */
export const documentTypes = { provenance: 'provenance+jws', manifest: 'export-manifest+jws' } as const
export type DocumentKind = keyof typeof documentTypes

export type SignatureRefusal =
  | 'not-signed'
  | 'unknown-document-key'
  | 'forged-document-signature'
  | 'signature-of-another-document'

/**
 * Judges a compact JWS (EdDSA, Ed25519) of the RFC 8785 form of a document, with the keys of a JSON Web Key Set.
 * Undefined: one of the keys signed exactly this document.
 */
export function documentRefusal(
  kind: DocumentKind,
  document: unknown,
  jws: unknown,
  keySet: unknown,
): SignatureRefusal | undefined {
  const [head = '', payload = '', signature = '', ...others] = typeof jws === 'string' ? jws.split('.') : []
  const header = headerOf(head)
  const [stated, signed] = [bytesOf(payload), bytesOf(signature)]
  if (
    header?.['alg'] !== 'EdDSA' ||
    header['typ'] !== documentTypes[kind] ||
    'crit' in header ||
    stated === undefined ||
    signed === undefined ||
    others.length > 0
  )
    return 'not-signed'
  const key = keyOf(header['kid'], keySet)
  if (key === undefined) return 'unknown-document-key'
  if (!verify(null, Buffer.from(`${head}.${payload}`), key, signed)) return 'forged-document-signature'
  const form = canonicalJson(document)
  return form !== undefined && stated.equals(Buffer.from(form)) ? undefined : 'signature-of-another-document'
}

function headerOf(encoded: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const header: unknown = JSON.parse(bytesOf(encoded)?.toString() ?? '')
    return isObject(header) ? header : undefined
  } catch {
    return undefined
  }
}

/** Undefined unless the text is the one base64url form of its bytes. */
function bytesOf(encoded: string): Buffer | undefined {
  const bytes = Buffer.from(encoded, 'base64url')
  return encoded !== '' && bytes.toString('base64url') === encoded ? bytes : undefined
}

function keyOf(kid: unknown, keySet: unknown): KeyObject | undefined {
  const keys: unknown = isObject(keySet) ? keySet['keys'] : undefined
  const named = (Array.isArray(keys) ? keys : []).find((each: unknown) => isObject(each) && each['kid'] === kid)
  if (kid === undefined || !isObject(named)) return undefined
  const { kty, crv, x } = named
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string' || bytesOf(x)?.length !== 32) return undefined
  return createPublicKey({ key: { kty, crv, x }, format: 'jwk' })
}
