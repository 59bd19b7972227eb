import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { expect, test } from 'vitest'
import { checkpointRefusal, checkpointText, parseCheckpoint } from '../../../platform/transparency-log/checkpoint.ts'
import { cosign, cosignedAt, withCosignatures } from '../../../platform/transparency-log/cosignature.ts'
import { emptyRoot } from '../../../platform/transparency-log/merkle.ts'
import {
  formatNote,
  formatVkey,
  isSignedBy,
  NoteError,
  parseNote,
  parseVkey,
  signNote,
  signatureOf,
  verifierKey,
} from '../../../platform/transparency-log/signed-note.ts'
import { vectors } from './go-vectors.ts'

const peter = parseVkey('PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW')
const peterSecret = createPrivateKey({
  key: Buffer.concat([
    Buffer.from('302e020100300506032b657004220420', 'hex'),
    Buffer.from('AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz', 'base64').subarray(1),
  ]),
  format: 'der',
  type: 'pkcs8',
})
const peterNote = `If you think cryptography is the answer to your problem,
then you don't know what your problem is.

— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
`

test('signs the note of golang.org/x/mod/sumdb/note, and verifies it', () => {
  const { text, signatures } = parseNote(peterNote)
  expect(formatNote({ text, signatures: [signNote(text, peter, peterSecret)] })).toBe(peterNote)
  const line = signatureOf({ text, signatures }, peter)
  if (line === undefined) throw new Error('the note has no line of the key')
  expect(isSignedBy(peter, text, line)).toBe(true)
  expect(isSignedBy(peter, `${text}x`, line)).toBe(false)
})

test('verifies the example of C2SP signed-note', () => {
  const key = parseVkey('example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k')
  const note = parseNote(
    'This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n',
  )
  const line = signatureOf(note, key)
  expect(line !== undefined && isSignedBy(key, note.text, line)).toBe(true)
})

test('reads keys exactly, and writes them again', () => {
  const vkey = formatVkey(peter)
  expect(vkey).toBe('PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW')
  for (let from = 0; from < vkey.length; from += 1)
    for (let to = from + 1; to <= vkey.length; to += 1)
      if (to - from < vkey.length) expect(() => parseVkey(vkey.slice(from, to))).toThrow(NoteError)
  for (let at = 0; at < vkey.length; at += 1) {
    const next = String.fromCodePoint((vkey.codePointAt(at) ?? 0) + 1)
    expect(() => parseVkey(vkey.slice(0, at) + next + vkey.slice(at + 1))).toThrow(NoteError)
  }
  // The hashes of these fit.
  for (const other of [
    'PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==',
    'PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
  ])
    expect(() => parseVkey(other)).toThrow(NoteError)
})

test.each([
  ['no signature', 'text\n\n'],
  ['no empty line', 'text\n— PeterNeumann x08goA==\n'],
  ['no newline at the end', peterNote.slice(0, -1)],
  ['a control character', `\u0001${peterNote}`],
  ['bytes that are not UTF-8', `\ufffd${peterNote}`],
  ['a hyphen for the dash', peterNote.replace('—', '-')],
  ['loose base64', peterNote.replace('nAM=', 'nAN=')],
  ['a name with a plus', peterNote.replace('— Peter', '— Peter+')],
  ['too many signatures', peterNote + '— PeterNeumann x08go/ZJ\n'.repeat(64)],
])('refuses a note with %s', (_, note) => expect(() => parseNote(note)).toThrow(NoteError))

const log = parseVkey(vectors.checkpoint.log)
const witness = parseVkey(vectors.checkpoint.witness)
const checkpoint = parseCheckpoint(vectors.checkpoint.note)

test('verifies a checkpoint and its cosignature that Go made', () => {
  expect(checkpoint).toMatchObject({ origin: 'log.example/one', size: 70_000 })
  expect(checkpoint.root.toString('base64')).toBe(vectors.roots['70000'])
  expect(checkpointText(checkpoint)).toBe(checkpoint.note.text)
  expect(checkpointRefusal(checkpoint, [peter, log])).toBeUndefined()
  expect(cosignedAt(checkpoint, witness)).toBeInstanceOf(Date)
})

test('refuses a checkpoint of an unknown key, and one with a wrong signature', () => {
  expect(checkpointRefusal(checkpoint, [peter, witness])).toBe('unknown-key')
  const forged = parseCheckpoint(vectors.checkpoint.note.replace('\n70000\n', '\n70001\n'))
  expect(checkpointRefusal(forged, [log])).toBe('forged-signature')
  expect(cosignedAt(forged, witness)).toBe('forged')
  expect(cosignedAt(checkpoint, peter)).toBeUndefined()
})

test.each(['x\n1\n', 'x\n01\nAAAA\n', 'x\n-1\n', `x\n${'9'.repeat(17)}\n`, 'x\n1\nAA==\n'])(
  'is not a checkpoint: %j',
  (text) => {
    const full = text.split('\n').length > 3 ? text : `${text}${emptyRoot.toString('base64')}\n`
    const note = `${full}\n— a AAAAAAA=\n`
    expect(() => (text === 'x\n1\n' ? parseCheckpoint(note.replace('x\n', '')) : parseCheckpoint(note))).toThrow(
      NoteError,
    )
  },
)

test('cosigns with Ed25519, extension lines included', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const key = verifierKey('w.example', 4, publicKey.export({ type: 'spki', format: 'der' }).subarray(-32))
  const extended = parseCheckpoint(vectors.checkpoint.note.replace('\n\n', '\nextension\n\n'))
  const line = cosign(extended, key, privateKey, 1_700_000_000)
  const signed = withCosignatures(withCosignatures(extended, [line]), [line])
  expect(signed.note.signatures).toHaveLength(3)
  expect(cosignedAt(parseCheckpoint(formatNote(signed.note)), key)).toEqual(new Date(1_700_000_000_000))
  expect(cosignedAt(withCosignatures(checkpoint, [line]), key)).toBe('forged')
})

test('verifies cosignatures with ML-DSA-44', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ml-dsa-44')
  const key = verifierKey('w.example/pq', 6, publicKey.export({ type: 'spki', format: 'der' }).subarray(-1312))
  expect(parseVkey(formatVkey(key))).toMatchObject({ name: 'w.example/pq', id: key.id, type: 6 })
  const uint64 = (value: number) => Buffer.from(value.toString(16).padStart(16, '0'), 'hex')
  const message = Buffer.concat([
    Buffer.from('subtree/v1\n\0\x0cw.example/pq'),
    uint64(1_700_000_000),
    Buffer.from('\x0flog.example/one'),
    uint64(0),
    uint64(70_000),
    checkpoint.root,
  ])
  const bytes = Buffer.concat([uint64(1_700_000_000), sign(null, message, privateKey)])
  const signed = withCosignatures(checkpoint, [{ name: key.name, id: key.id, bytes }])
  expect(cosignedAt(signed, key)).toEqual(new Date(1_700_000_000_000))
  bytes[100] = (bytes[100] ?? 0) ^ 1
  expect(cosignedAt(signed, key)).toBe('forged')
})
