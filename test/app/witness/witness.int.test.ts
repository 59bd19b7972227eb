import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { originHash } from '../../../app/witness/witness-files.ts'
import { startWitness, type RunningWitness } from '../../../app/witness/start-witness.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { checkpointText, parseCheckpoint } from '../../../platform/transparency-log/checkpoint.ts'
import { cosignedAt, withCosignatures } from '../../../platform/transparency-log/cosignature.ts'
import { leafHash, rootOf, type Hash } from '../../../platform/transparency-log/merkle.ts'
import {
  formatNote,
  formatVkey,
  parseSignatureLine,
  parseVkey,
  signNote,
  verifierKey,
} from '../../../platform/transparency-log/signed-note.ts'
import { TileTree } from '../../../platform/transparency-log/tiles.ts'

const at = new Date('2026-03-01T10:00:00.000Z')
const logger = createLogger({ level: 'silent' })

function newLog(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const key = verifierKey(origin, 1, publicKey.export({ type: 'spki', format: 'der' }).subarray(-32))
  const leaves = Array.from({ length: 100 }, (_, index) => leafHash(Buffer.from(`${origin} ${index}`)))
  const signed = (size: number, root: Hash = rootOf(leaves.slice(0, size))) => {
    const text = checkpointText({ origin, size, root })
    return formatNote({ text, signatures: [signNote(text, key, privateKey)] })
  }
  const proof = (from: number, to: number) =>
    new TileTree(to, async () => Buffer.concat(leaves.slice(0, to))).consistencyProof(from)
  const asked = async (from: number, to: number) =>
    `old ${from}\n${(await proof(from, to)).map((hash) => `${hash.toString('base64')}\n`).join('')}\n${signed(to)}`
  return { origin, vkey: formatVkey(key), signed, asked }
}

const [log, second, unknown] = [newLog('log.example/a'), newLog('log.example/b'), newLog('log.example/c')]
let folder: string
let witness: RunningWitness
const start = (name?: string) =>
  startWitness(
    { dataDir: folder, logs: [log.vkey, second.vkey], port: 0, name },
    { host: '127.0.0.1', logger, now: () => at },
  )
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'witness-'))
  witness = await start('witness.example/clinic')
})
afterAll(async () => {
  await witness.stop()
  await rm(folder, { recursive: true, force: true })
})

async function post(body: string, path = '/add-checkpoint') {
  const response = await fetch(witness.address + path, { method: 'POST', body })
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}

async function newest(origin: string) {
  const response = await fetch(`${witness.address}/${originHash(origin)}/checkpoint`)
  return { status: response.status, text: await response.text() }
}

test('signs the first checkpoint of a log, and one that continues it', async () => {
  expect(await newest(log.origin)).toMatchObject({ status: 404 })
  for (const [from, to] of [
    [0, 10],
    [10, 33],
    [33, 33],
  ] as const) {
    const { status, text } = await post(await log.asked(from, to))
    expect(status).toBe(200)
    const line = parseSignatureLine(text.trimEnd())
    const signed = withCosignatures(parseCheckpoint(log.signed(to)), [line])
    expect(cosignedAt(signed, parseVkey(witness.vkey))).toEqual(at)
    expect((await newest(log.origin)).text).toBe(formatNote(signed.note))
  }
})

test('names the size that it knows, if the caller does not know it', async () => {
  expect(await post(await log.asked(0, 40))).toEqual({ status: 409, type: 'text/x.tlog.size', text: '33\n' })
  expect(await post(await log.asked(10, 20))).toMatchObject({ status: 409, text: '33\n' })
})

test('signs nothing that does not continue what it signed', async () => {
  const other = newLog(log.origin)
  const good = await log.asked(33, 40)
  const rewritten = good.slice(0, good.indexOf('\n\n') + 2) + log.signed(40, rootOf([leafHash(Buffer.from('x'))]))
  const sameSize = `old 33\n\n${log.signed(33, rootOf([leafHash(Buffer.from('x'))]))}`
  const cases: [string, number][] = [
    [rewritten, 422],
    [sameSize, 422],
    [good.replace(/\n[^\n]*\n\n/, '\n\n'), 422],
    [await unknown.asked(0, 5), 404],
    [`old 33\n\n${other.signed(40)}`, 403],
    [good.replace('\n40\n', '\n41\n'), 403],
    [`old 50\n\n${log.signed(40)}`, 400],
    ['old x\n\n', 400],
    ['', 400],
    [`old 33\n${'AAAA\n'.repeat(3)}\n${log.signed(40)}`, 400],
    [`old 0\n\n${second.signed(0, rootOf([leafHash(Buffer.from('x'))]))}`, 422],
    ['x'.repeat(100_001), 413],
  ]
  for (const [body, status] of cases) expect((await post(body)).status).toBe(status)
  expect(parseCheckpoint((await newest(log.origin)).text).size).toBe(33)
  expect(await newest(second.origin)).toMatchObject({ status: 404 })
})

test('has no other addresses', async () => {
  expect((await post('', '/other')).status).toBe(404)
  expect((await fetch(`${witness.address}/add-checkpoint`)).status).toBe(405)
  expect((await fetch(`${witness.address}/${'0'.repeat(64)}/checkpoint`)).status).toBe(404)
  expect((await fetch(`${witness.address}/..%2fname/checkpoint`)).status).toBe(404)
})

test('of requests at the same time, only those that continue each other are signed', async () => {
  const requests = [40, 50, 60, 70].map(async (size) => post(await log.asked(33, size)))
  const statuses = (await Promise.all(requests)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  expect(statuses.filter((status) => status === 409)).toHaveLength(3)
})

test('keeps its key, its name and what it signed over a restart', async () => {
  const { vkey } = witness
  const { size } = parseCheckpoint((await newest(log.origin)).text)
  await witness.stop()
  await expect(start('another.example')).rejects.toThrow('has the name witness.example/clinic')
  witness = await start()
  expect(witness.vkey).toBe(vkey)
  expect((await post(await log.asked(0, 100))).text).toBe(`${size}\n`)
  for (const file of await readdir(folder)) expect((await stat(join(folder, file))).mode & 0o077).toBe(0)
})

test('refuses keys that are no keys of a log, and a folder that another witness uses', async () => {
  const order = { dataDir: folder, port: 0, name: undefined }
  const options = { host: '127.0.0.1', logger, now: () => at }
  for (const logs of [['x'], [witness.vkey]])
    await expect(startWitness({ ...order, logs }, options)).rejects.toThrow('--log takes the key of a log')
})
