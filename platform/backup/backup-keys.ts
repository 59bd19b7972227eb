import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from 'node:crypto'
import { ConfigurationError } from '../configuration/profile-rules.ts'
import { MasterKeyError, parseMasterKeys } from '../vault/master-keys.ts'

const cipherName = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/** The bytes are not those that were sealed under this label with this key. */
export class SealedBytesError extends Error {
  override readonly name = 'SealedBytesError'
  readonly code = 'sealed-bytes'
}

/** One key of `BACKUP_KEYS`, as two keys that are derived from it. */
export class BackupKey {
  readonly id: string
  readonly #content: KeyObject
  readonly #names: KeyObject

  constructor(id: string, key: KeyObject) {
    this.id = id
    this.#content = derived(key, 'backup content')
    this.#names = derived(key, 'backup names')
  }

  /**
   * The name of bytes with this SHA-256. Equal bytes have equal names. Without the key a name says nothing about the
   * bytes.
   */
  nameOf(sha256: Uint8Array): string {
    return createHmac('sha256', this.#names).update(sha256).digest('hex')
  }

  /** The label is not stored. So bytes in the place of others do not open. */
  seal(label: string, bytes: Uint8Array): Buffer {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv(cipherName, this.#content, nonce).setAAD(Buffer.from(label))
    return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
  }

  /** @throws SealedBytesError */
  open(label: string, sealed: Uint8Array): Buffer {
    const end = sealed.length - tagBytes
    if (end < nonceBytes) throw new SealedBytesError('the bytes are cut')
    const decipher = createDecipheriv(cipherName, this.#content, sealed.subarray(0, nonceBytes))
    decipher.setAAD(Buffer.from(label)).setAuthTag(sealed.subarray(end))
    const opened = decipher.update(sealed.subarray(nonceBytes, end))
    try {
      decipher.final()
    } catch (error) {
      throw new SealedBytesError('the bytes were changed, or belong elsewhere', { cause: error })
    }
    return opened
  }
}

/** The first key seals. The others open older backups. */
export interface BackupKeys {
  readonly newest: BackupKey
  readonly byId: ReadonlyMap<string, BackupKey>
}

/** @throws ConfigurationError without keys, or if they have another form */
export function readBackupKeys(text: string | undefined): BackupKeys {
  if (text === undefined)
    throw new ConfigurationError(
      'BACKUP_KEYS must be set: backups are encrypted. It has the form of MASTER_KEYS. Keep a copy of it apart from the backups',
    )
  try {
    const ring = parseMasterKeys(text)
    const byId = new Map([...ring.byId].map(([id, { key }]) => [id, new BackupKey(id, key)]))
    return { newest: byId.get(ring.wrapWith.id) ?? new BackupKey(ring.wrapWith.id, ring.wrapWith.key), byId }
  } catch (error) {
    if (error instanceof MasterKeyError) throw new ConfigurationError(`BACKUP_KEYS: ${error.message}`)
    throw error
  }
}

function derived(key: KeyObject, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', purpose, 32)))
}
