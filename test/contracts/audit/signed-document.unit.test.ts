import canonicalize from 'canonicalize'
import { assert, jsonValue, property } from 'fast-check'
import { CompactSign, compactVerify, importJWK, type JWTHeaderParameters } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import { canonicalJson } from '../../../contracts/audit/offline/canonical-json.ts'
import { checkManifest, fileFault } from '../../../contracts/audit/offline/manifest.ts'
import { documentRefusal } from '../../../contracts/audit/offline/signed-document.ts'
import { signDocument, signManifest } from '../../../contracts/audit/sign-document.ts'
import { newSigningSecret, signingKeyOf, type SigningKey } from '../../../platform/vault/signing-keys.ts'

const document = { review: { id: 'r', 'ä"\u2028': [1, 1e21, -0.5, null, true] }, a: 'ß' }

let key: SigningKey
let other: SigningKey
let jws: string
const keySet = () => ({ keys: [other.publicJwk, key.publicJwk] })

beforeAll(async () => {
  ;[key, other] = await Promise.all([signingKeyOf(newSigningSecret()), signingKeyOf(newSigningSecret())])
  jws = await signDocument({ signingKey: async () => key }, 'provenance', document)
})

test('the form of a value is the one of RFC 8785', () => {
  assert(
    property(jsonValue({ maxDepth: 4 }), (value) => {
      expect(canonicalJson(value)).toBe(canonicalize(value))
    }),
  )
  expect(canonicalJson({ a: [Number.NaN] })).toBeUndefined()
  expect(canonicalJson({ a: undefined })).toBeUndefined()
  expect(canonicalJson(JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`))).toBeUndefined()
})

describe('a signed document', () => {
  test('verifies with the published keys, also with another library, after any order of its members', async () => {
    const { a, review } = document
    expect(documentRefusal('provenance', { a, review }, jws, keySet())).toBeUndefined()
    const { payload, protectedHeader } = await compactVerify(jws, await importJWK(key.publicJwk))
    expect(Buffer.from(payload).toString()).toBe(canonicalize(document))
    expect(protectedHeader).toEqual({ alg: 'EdDSA', typ: 'provenance+jws', kid: key.kid })
  })

  test('is refused after a change of any character of its signature', () => {
    for (let at = 0; at < jws.length; at += 1) {
      const changed = `${jws.slice(0, at)}${jws[at] === 'A' ? 'B' : 'A'}${jws.slice(at + 1)}`
      expect(documentRefusal('provenance', document, changed, keySet())).toBeDefined()
    }
  })

  test.each([
    ['a changed member', () => [{ ...document, a: 'ss' }, jws, keySet()], 'signature-of-another-document'],
    ['a member more', () => [{ ...document, b: null }, jws, keySet()], 'signature-of-another-document'],
    ['no document', () => [undefined, jws, keySet()], 'signature-of-another-document'],
    ['a key set without its key', () => [document, jws, { keys: [other.publicJwk] }], 'unknown-document-key'],
    ['no key set', () => [document, jws, []], 'unknown-document-key'],
    [
      'another key under its id',
      () => [document, jws, { keys: [{ ...other.publicJwk, kid: key.kid }] }],
      'forged-document-signature',
    ],
    [
      'a key of another kind',
      () => [document, jws, { keys: [{ ...key.publicJwk, crv: 'X25519' }] }],
      'unknown-document-key',
    ],
    ['no signature', () => [document, undefined, keySet()], 'not-signed'],
    ['a part too many', () => [document, `${jws}.e30`, keySet()], 'not-signed'],
  ] as const)('is refused with %s', (_, make, refusal) => {
    const [checked, signature, keys] = make()
    expect(documentRefusal('provenance', checked, signature, keys)).toBe(refusal)
  })

  test.each([
    ['no kid', { kid: undefined }, 'unknown-document-key'],
    ['the kind of a manifest', { typ: 'export-manifest+jws' }, 'not-signed'],
    ['the type of a receipt', { typ: 'consent-receipt+jws' }, 'not-signed'],
    ['a critical member', { crit: ['b64'], b64: true }, 'not-signed'],
  ])('is refused with a header that has %s', async (_, changes, refusal) => {
    const { kid, privateKey } = key
    const header = Object.fromEntries(
      Object.entries({ alg: 'EdDSA', typ: 'provenance+jws', kid, ...changes }).filter(
        ([, value]) => value !== undefined,
      ),
    )
    const signed = await new CompactSign(Buffer.from(canonicalJson(document) ?? ''))
      .setProtectedHeader({ alg: 'EdDSA', ...header } satisfies JWTHeaderParameters)
      .sign(privateKey)
    expect(documentRefusal('provenance', document, signed, keySet())).toBe(refusal)
  })
})

describe('a manifest', () => {
  const files = [
    { path: 'records/a.json', sha256: 'a'.repeat(64), bytes: 7 },
    { path: 'timeline.jsonl', sha256: 'b'.repeat(64), bytes: 0 },
  ]
  const signed = (content: object) => signManifest({ signingKey: async () => key }, { files, ...content })

  test('names its files, and its signature covers every member', async () => {
    const manifest = await signed({ patient_id: 'p' })
    expect(checkManifest(JSON.parse(JSON.stringify(manifest)), keySet())).toEqual({ files, leftOut: [] })
    const leftOut = [{ path: 'images/one.jpg', reason: 'object-missing' }]
    expect(checkManifest(await signed({ left_out: leftOut }), keySet())).toEqual({ files, leftOut })
    const refusal = 'signature-of-another-document'
    expect(checkManifest({ ...manifest, patient_id: 'q' }, keySet())).toEqual({ refusal })
    expect(checkManifest({ ...manifest, files: files.slice(1) }, keySet())).toEqual({ refusal })
    expect(checkManifest({ files }, keySet())).toEqual({ refusal: 'not-signed' })
    expect(checkManifest([], keySet())).toEqual({ refusal: 'not-a-manifest' })
  })

  test.each(['../x', '/etc/passwd', 'a//b', 'a/./b', 'a\\..\\b', 'C:x', '', 'a\0'])(
    'is none with the path %j, which may leave its folder',
    async (path) => {
      const manifest = await signed({ files: [{ path, sha256: '', bytes: 0 }] })
      expect(checkManifest(manifest, keySet())).toEqual({ refusal: 'not-a-manifest' })
    },
  )

  test.each([
    ['the same', { sha256: 'a'.repeat(64), bytes: 7 }, undefined],
    ['other bytes', { sha256: 'c'.repeat(64), bytes: 7 }, { path: 'records/a.json', kind: 'changed' }],
    ['another length', { sha256: 'a'.repeat(64), bytes: 8 }, { path: 'records/a.json', kind: 'changed' }],
    ['no file', undefined, { path: 'records/a.json', kind: 'missing' }],
  ])('compares a file: %s', (_, found, fault) => {
    expect(files[0] && fileFault(files[0], found)).toEqual(fault)
  })
})
