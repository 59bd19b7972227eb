import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto'
import { chmod, link, open, readFile, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

interface MasterKey {
  readonly id: string
  /** 32 bytes. */
  readonly key: KeyObject
}

/** The keys that wrap everything in the vault. The first one wraps. The others only unwrap older secrets. */
export interface MasterKeyRing {
  readonly wrapWith: MasterKey
  readonly byId: ReadonlyMap<string, MasterKey>
}

/** Describes the error in a key ring, never contains a key. */
export class MasterKeyError extends Error {
  override readonly name = 'MasterKeyError'
  readonly code = 'master-key'
}

/** The entries of a key ring: `id:base64key`, or `id:vault:v1:…` if a transit engine wraps the key. */
export function masterKeyEntries(text: string): readonly string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}

/** The wrapped key of an entry. Undefined if the entry has the key itself. */
export function wrappedKeyIn(entry: string): { readonly id: string; readonly ciphertext: string } | undefined {
  const [, id = '', ciphertext] = /^([^:]*):(vault:v\d{1,9}:[A-Za-z0-9+/=_-]+)$/.exec(entry) ?? []
  return ciphertext === undefined ? undefined : { id, ciphertext }
}

/** Reads `MASTER_KEYS`: `id:base64key[,id:base64key]`, 32 bytes each. */
export function parseMasterKeys(text: string): MasterKeyRing {
  const keys = masterKeyEntries(text).map(parseMasterKey)
  const [wrapWith] = keys
  if (wrapWith === undefined) throw new MasterKeyError('no master key given: expected id:base64key[,id:base64key]')
  const byId = new Map(keys.map((each) => [each.id, each]))
  if (byId.size !== keys.length) throw new MasterKeyError('two master keys have the same id')
  return { wrapWith, byId }
}

function parseMasterKey(entry: string, index: number): MasterKey {
  const place = `master key ${index + 1}`
  const colon = entry.indexOf(':')
  const id = entry.slice(0, Math.max(colon, 0))
  if (!/^[A-Za-z0-9_.-]{1,64}$/.test(id)) {
    throw new MasterKeyError(`${place} has no id of 1 to 64 letters, digits, '_', '.' or '-' before a colon`)
  }
  if (wrappedKeyIn(entry) !== undefined)
    throw new MasterKeyError(`${place} (${id}) is wrapped by a transit engine: set MASTER_KEY_PROVIDER=transit`)
  const encoded = entry.slice(colon + 1)
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) throw new MasterKeyError(`${place} (${id}) is not base64`)
  const key = Buffer.from(encoded, 'base64')
  if (key.length !== 32) throw new MasterKeyError(`${place} (${id}) has ${key.length} bytes instead of 32`)
  return { id, key: createSecretKey(key) }
}

/** A new random master key, as an entry of a key ring. */
export function newMasterKey(id: string): string {
  return `${id}:${randomBytes(32).toString('base64')}`
}

/**
 * The key ring in a file of mode 0600, created if missing. Two processes that start at once get the same ring. It is on
 * the disk before this resolves.
 * @throws MasterKeyError if others may read the file
 */
export async function createMasterKeyFile(path: string): Promise<MasterKeyRing> {
  return parseMasterKeys(await masterKeyFile(path, async (id) => newMasterKey(id)))
}

/**
 * The text of such a file.
 * @param create makes the entry of a first key. Without it a missing file is an error
 */
export async function masterKeyFile(path: string, create?: (id: string) => Promise<string>): Promise<string> {
  if (create !== undefined && !(await exists(path))) await writeNewKey(path, await create('master-1'))
  const { mode } = await stat(path)
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    throw new MasterKeyError('the master key file is open to other users: its mode must be 0600')
  }
  return readFile(path, 'utf8')
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

async function writeNewKey(path: string, entry: string): Promise<void> {
  const draft = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`
  const file = await open(draft, 'wx', 0o600)
  try {
    await file.writeFile(`${entry}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  try {
    await chmod(draft, 0o600)
    // A link never replaces a file. The second process uses the first one's key.
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(draft, { force: true })
  }
  await syncFolder(dirname(path))
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
