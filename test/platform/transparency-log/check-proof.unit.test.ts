import { generateKeyPairSync } from 'node:crypto'
import canonicalize from 'canonicalize'
import { expect, test } from 'vitest'
import { checkProof } from '../../../platform/transparency-log/check-proof.ts'
import { checkpointText, parseCheckpoint } from '../../../platform/transparency-log/checkpoint.ts'
import { cosign, withCosignatures } from '../../../platform/transparency-log/cosignature.ts'
import { entryOf, parseEntry } from '../../../platform/transparency-log/event-entry.ts'
import { formatProof, parseProof } from '../../../platform/transparency-log/log-proof.ts'
import { isIncluded, leafHash, rootOf } from '../../../platform/transparency-log/merkle.ts'
import {
  formatNote,
  NoteError,
  parseVkey,
  signNote,
  verifierKey,
  type SignatureType,
} from '../../../platform/transparency-log/signed-note.ts'
import { TileTree } from '../../../platform/transparency-log/tiles.ts'
import { entryOfVectors, vectors } from './go-vectors.ts'

const event = {
  id: '0190f0a0-0000-7000-8000-000000000001',
  stream: 'consent-Ä"\\\u0007-1',
  revision: 7n,
  type: 'ConsentRecorded',
  dataBytes: Buffer.from('{"a":1}'),
  metadataBytes: Buffer.alloc(0),
}

test('makes the entry of an event in the form of RFC 8785', () => {
  const entry = entryOf(event)
  const parsed = parseEntry(entry)
  expect(entry.toString()).toBe(canonicalize(parsed))
  expect(parsed).toEqual({
    id: event.id,
    stream: event.stream,
    revision: 7,
    type: event.type,
    data: '015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862',
    metadata: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  })
  for (const other of ['[]', '{}', 'null', '{"id":', '7'])
    expect(() => parseEntry(Buffer.from(other))).toThrow(NoteError)
})

test('reads the proof that Go made, and writes it again', () => {
  const proof = parseProof(vectors.proof)
  expect(proof.extra?.toString()).toBe('leaf 1234')
  const { index, hashes, checkpoint } = proof
  expect(isIncluded(leafHash(entryOfVectors(1234)), { index, size: 70_000, proof: hashes }, checkpoint.root)).toBe(true)
  expect(formatProof(proof)).toBe(vectors.proof)
  expect(parseProof(vectors.proof.replace(/extra .*\n/, '')).extra).toBeUndefined()
})

const lines = vectors.proof.split('\n')
test.each([
  ['another version', vectors.proof.replace('@v1', '@v2')],
  ['no index', vectors.proof.replace(/index .*\n/, '')],
  ['a leading zero', vectors.proof.replace('index 1234', 'index 01234')],
  ['loose base64 as extra', vectors.proof.replace(/extra .*\n/, 'extra a\n')],
  ['a short hash', [...lines.slice(0, 3), 'AAAA', ...lines.slice(4)].join('\n')],
  ['64 hashes', [...lines.slice(0, 3), ...Array.from({ length: 64 }, () => lines[3]), ...lines.slice(20)].join('\n')],
  ['no checkpoint', vectors.proof.slice(0, vectors.proof.indexOf('\n\n') + 2)],
  ['nothing', ''],
])('refuses a proof with %s', (_, text) => expect(() => parseProof(text)).toThrow(NoteError))

function newKey(name: string, type: SignatureType) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return { key: verifierKey(name, type, publicKey.export({ type: 'spki', format: 'der' }).subarray(-32)), privateKey }
}
const log = newKey('log.example/x', 1)
const [first, second, stranger] = [newKey('w1.example', 4), newKey('w2.example', 4), newKey('w3.example', 4)]

async function proofOf(count: number, index: number, witnesses = [first, second]): Promise<string> {
  const entries = Array.from({ length: count }, (_, at) => entryOf({ ...event, revision: BigInt(at) }))
  const leaves = entries.map(leafHash)
  const tree = new TileTree(count, async () => Buffer.concat(leaves))
  const text = checkpointText({ origin: log.key.name, size: count, root: rootOf(leaves) })
  const signed = parseCheckpoint(formatNote({ text, signatures: [signNote(text, log.key, log.privateKey)] }))
  const cosignatures = witnesses.map(({ key, privateKey }) => cosign(signed, key, privateKey, 1_800_000_000))
  const checkpoint = withCosignatures(signed, cosignatures)
  return formatProof({ extra: entries[index], index, hashes: await tree.inclusionProof(index), checkpoint })
}

test('accepts the proof of an event with every witness that must have signed', async () => {
  const checked = checkProof(await proofOf(100, 42), { log: [log.key], witnesses: [first.key, second.key] })
  expect(checked).toMatchObject({
    entry: { id: event.id, revision: 42 },
    index: 42,
    origin: 'log.example/x',
    size: 100,
  })
  expect(checked).toMatchObject({ witnesses: [{ name: 'w1.example' }, { name: 'w2.example' }] })
})

test('names why it refuses a proof', async () => {
  const proof = await proofOf(100, 42)
  const keys = { log: [log.key], witnesses: [first.key] }
  const other = Buffer.from(entryOf({ ...event, revision: 43n })).toString('base64')
  const forged = proof.replace('\n100\n', '\n101\n')
  const withoutExtra = proof.replace(/extra .*\n/, '')
  expect(checkProof(proof, { ...keys, log: [parseVkey(vectors.checkpoint.log)] })).toEqual({ refusal: 'unknown-key' })
  expect(checkProof(forged, keys)).toEqual({ refusal: 'forged-signature' })
  expect(checkProof(proof.replace(/extra .*/, `extra ${other}`), keys)).toEqual({ refusal: 'not-in-the-log' })
  expect(checkProof(proof.replace('index 42', 'index 41'), keys)).toEqual({ refusal: 'not-in-the-log' })
  expect(checkProof(proof, { ...keys, witnesses: [stranger.key] })).toEqual({ refusal: 'not-witnessed' })
  expect(checkProof(withoutExtra, keys)).toEqual({ refusal: 'not-a-proof' })
  expect(checkProof('{}', keys)).toEqual({ refusal: 'not-a-proof' })
  const line = proof.split('\n').find((each) => each.includes('w1.example')) ?? ''
  const wrong = line.replace(/.(?==*$)/, (letter) => (letter === 'A' ? 'Q' : 'A'))
  expect(checkProof(proof.replace(line, wrong), keys)).toEqual({ refusal: 'forged-witness' })
})

test('finds changed characters of a proof, wherever they are', async () => {
  const proof = await proofOf(200, 128, [])
  const keys = { log: [log.key], witnesses: [] }
  expect(checkProof(proof, keys)).not.toHaveProperty('refusal')
  for (let at = 0; at < proof.length; at += 7) {
    const flipped = `${proof.slice(0, at)}${proof[at] === 'A' ? 'B' : 'A'}${proof.slice(at + 1)}`
    expect(checkProof(flipped, keys)).toHaveProperty('refusal')
  }
})

test('is at most 2 KB without extra and with two witnesses, in a log of 2^24 events', async () => {
  const proof = parseProof(await proofOf(100, 42))
  const hashes = Array.from({ length: 24 }, () => rootOf([]))
  expect(formatProof({ ...proof, extra: undefined, hashes }).length).toBeLessThanOrEqual(2_048)
})
