import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { writeDurably } from 'embedded-eventstore/durable-file'
import { parseCheckpoint, type SignedCheckpoint } from '../../platform/transparency-log/checkpoint.ts'
import { formatNote, isKeyName, signatureTypes, verifierKey } from '../../platform/transparency-log/signed-note.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import type { WitnessKey } from './add-checkpoint.ts'

const ownerOnly = 0o600

/** The witness's key and name, made at the first start. */
export async function keepKey(folder: string, wanted: string | undefined): Promise<WitnessKey> {
  const name = await kept(join(folder, 'name'), () => wanted ?? `${hostname()}/witness`)
  if (wanted !== undefined && wanted !== name)
    throw new ConfigurationError(`this witness has the name ${name}: its signatures name it, so it stays`)
  if (!isKeyName(name)) throw new ConfigurationError('the name of a witness has no blanks and no plus: set --name')
  const pem = await kept(join(folder, 'key.pem'), () => {
    const { privateKey } = generateKeyPairSync('ed25519')
    return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().trim()
  })
  const privateKey = createPrivateKey(pem)
  const raw = createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).subarray(-32)
  return { key: verifierKey(name, signatureTypes.ed25519Cosignature, raw), privateKey }
}

async function kept(file: string, make: () => string): Promise<string> {
  const present = await readIfThere(file)
  if (present !== undefined) return present.trim()
  const made = make()
  await writeDurably(file, `${made}\n`, ownerOnly)
  return made
}

/** Name of a log in files and addresses. */
export function originHash(origin: string): string {
  return createHash('sha256').update(origin).digest('hex')
}

/** The newest checkpoint of a log that the witness signed, with its signature. */
export async function readLatest(folder: string, hash: string): Promise<SignedCheckpoint | undefined> {
  const note = await readIfThere(fileOf(folder, hash))
  return note === undefined ? undefined : parseCheckpoint(note)
}

export async function storeLatest(folder: string, checkpoint: SignedCheckpoint): Promise<void> {
  await writeDurably(fileOf(folder, originHash(checkpoint.origin)), formatNote(checkpoint.note), ownerOnly)
}

function fileOf(folder: string, hash: string): string {
  return join(folder, `${hash}.checkpoint`)
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
