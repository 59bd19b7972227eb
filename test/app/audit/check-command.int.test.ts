import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../../app/audit/run.ts'
import type { Verdict } from '../../../app/audit/check-command.ts'
import { readCommand } from '../../../app/command-line.ts'
import { signManifest } from '../../../contracts/audit/sign-document.ts'
import { newSigningSecret, signingKeyOf } from '../../../platform/vault/signing-keys.ts'
import { cosign, withCosignatures } from '../../../platform/transparency-log/cosignature.ts'
import { entryOf } from '../../../platform/transparency-log/event-entry.ts'
import { formatProof } from '../../../platform/transparency-log/log-proof.ts'
import { leafHash, rootOf } from '../../../platform/transparency-log/merkle.ts'
import { formatVkey } from '../../../platform/transparency-log/signed-note.ts'
import { TileTree } from '../../../platform/transparency-log/tiles.ts'
import { event, newKey, signed } from './planted-log.ts'

const main = fileURLToPath(new URL('../../../app/main.ts', import.meta.url))
const [log, witness, stranger] = [newKey('log.example/x'), newKey('w.example', 4), newKey('log.example/x')]
let folder: string
let file: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proof-'))
  file = join(folder, 'event.tlog-proof')
  const entries = Array.from({ length: 9 }, (_, at) => entryOf(event('consent-1', at, at + 1)))
  const leaves = entries.map(leafHash)
  const checkpoint = signed({ size: 9, root: () => rootOf(leaves) }, log)
  const cosigned = withCosignatures(checkpoint, [cosign(checkpoint, witness.key, witness.privateKey, 1_800_000_000)])
  const hashes = await new TileTree(9, async () => Buffer.concat(leaves)).inclusionProof(4)
  await writeFile(file, formatProof({ extra: entries[4], index: 4, hashes, checkpoint: cosigned }))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

function check(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [main, 'audit', ...args],
      { env: { PLATFORM_DATA_DIR: folder } },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr })
      },
    )
  })
}

/** The same without a process of its own. An error ends a process with 2. */
async function checkHere(...args: string[]): Promise<Verdict> {
  const command = await readCommand(['audit', ...args])
  if (command.name !== 'audit') throw new Error(`${command.name} is no audit`)
  return runAudit(
    command.order,
    {},
    () => undefined,
    () => undefined,
  )
}

test('checks a proof without any server, and prints the event that it proves', async () => {
  const { code, stdout } = await check(
    'check',
    file,
    '--key',
    formatVkey(log.key),
    '--witness',
    formatVkey(witness.key),
  )
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    entry: { stream: 'consent-1', revision: 4, type: 'ConsentRecorded' },
    origin: 'log.example/x',
    size: 9,
    witnesses: [{ name: 'w.example', at: '2027-01-15T08:00:00.000Z' }],
  })
})

test('ends with 1 for a proof that does not hold, and with 2 if it cannot check', async () => {
  const other = await check('check', file, '--key', formatVkey(stranger.key))
  expect(other).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('not signed with the key of --key'),
  })
  const missing = await checkHere('check', join(folder, 'nothing'), '--key', formatVkey(log.key))
  expect(missing).toEqual({ code: 2, text: expect.stringContaining('cannot be read') })
  await expect(checkHere('check', file, '--key', 'x')).rejects.toThrow('--key')
  expect(await check('verify')).toMatchObject({ code: 2, stderr: expect.stringContaining('audit needs ESDB_URL') })
})

test('checks the files beside a manifest, and names each one that is missing or changed', async () => {
  const signingKey = await signingKeyOf(newSigningSecret())
  const contents = ['a', '', 'x'.repeat(200_000)]
  const files = contents.map((content, at) => ({
    path: `records/${at}.json`,
    sha256: hash('sha256', content),
    bytes: content.length,
  }))
  const manifest = await signManifest({ signingKey: async () => signingKey }, { files, patient_id: 'p' })
  await mkdir(join(folder, 'records'))
  for (const [at, content] of contents.entries()) await writeFile(join(folder, `records/${at}.json`), content)
  const [path, jwks] = [join(folder, 'manifest.json'), join(folder, 'jwks.json')]
  await writeFile(path, JSON.stringify(manifest))
  await writeFile(jwks, JSON.stringify({ keys: [signingKey.publicJwk] }))
  const options = ['--key', formatVkey(log.key), '--jwks', jwks]
  const clean = await checkHere('check', path, ...options)
  expect([clean.code, JSON.parse(clean.text)]).toEqual([0, { files: 3, bytes: 200_001 }])
  const ofExport = async (content: Parameters<typeof signManifest>[1]) => {
    await writeFile(path, JSON.stringify(await signManifest({ signingKey: async () => signingKey }, content)))
    return checkHere('check', path, ...options)
  }
  const left_out = [{ path: 'images/one.jpg', reason: 'object-missing' }]
  const lacking = await ofExport(Object.assign({ files }, { left_out }))
  expect([lacking.code, JSON.parse(lacking.text)]).toEqual([0, { files: 3, bytes: 200_001, left_out }])
  const received = files.map((one, at) => (at === 2 ? { ...one, received_sha256: hash('sha256', 'y') } : one))
  expect(await ofExport({ files: received })).toEqual({
    code: 1,
    text: 'FAULT changed-before-the-export: records/2.json',
  })
  await writeFile(path, JSON.stringify(manifest))

  await writeFile(join(folder, 'records/0.json'), 'b')
  await rm(join(folder, 'records/1.json'))
  expect(await checkHere('check', path, ...options)).toEqual({
    code: 1,
    text: 'FAULT changed: records/0.json\nFAULT missing: records/1.json',
  })
  await writeFile(path, JSON.stringify({ ...manifest, patient_id: 'q' }))
  const changed = await checkHere('check', path, ...options)
  expect(changed).toEqual({ code: 1, text: expect.stringContaining('signature-of-another-document') })
  await expect(checkHere('check', path, ...options.slice(0, 2))).rejects.toThrow('needs --jwks FILE')
  expect(await checkHere('check', path, ...options.slice(0, 3), file)).toMatchObject({ code: 2 })
})
