import { Type, type Static } from 'typebox'
import { Check } from 'typebox/schema'
import { v7 } from 'uuid'
import { Nullable } from '../http/members.ts'
import { jsonOf } from '../kit/json-reading.ts'
import { SealedBytesError, type BackupKey, type BackupKeys } from './backup-keys.ts'
import type { BackupPlace } from './place.ts'

const Stored = Type.Object({
  bytes: Type.Integer({ minimum: 0 }),
  chunks: Type.Array(Type.String()),
})

/** What a backup is. It is written last: without it there are only chunks. */
export const Manifest = Type.Object({
  format: Type.Literal(1),
  id: Type.String(),
  installation: Type.String(),
  created_at: Type.String(),
  /** Of the last event. */
  position: Nullable(Type.String()),
  /** When the last event was recorded; if the event store is not in the backup, when its copy began. */
  facts_until: Nullable(Type.String()),
  /** Null if the event store is not in the backup. */
  events: Nullable(Type.Integer({ minimum: 0 })),
  /** Position behind the last append. Null if the event store was copied by its own means, and is not in the backup. */
  log_end: Nullable(Type.Integer({ minimum: 0 })),
  entries: Type.Integer({ minimum: 0 }),
  /** Of all entries. */
  bytes: Type.Integer({ minimum: 0 }),
  index: Stored,
})
export type Manifest = Static<typeof Manifest>

const Place = Type.Object({ format: Type.Literal(1), installation: Type.String() })
const Verified = Type.Object({ verified_at: Type.String() })

export type ManifestFault = 'manifest-missing' | 'manifest-changed' | 'key-unknown' | 'other-installation'

export class ManifestError extends Error {
  override readonly name = 'ManifestError'
  readonly code: ManifestFault

  constructor(code: ManifestFault, message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** A manifest that opened, and the key of its chunks. */
export interface OpenedManifest {
  readonly manifest: Manifest
  readonly key: BackupKey
}

const folder = 'backups'
const placeFile = 'place'
const extension = '.manifest'
const magic = 'CAPBACKUP1'
const firstLine = new RegExp(`^${magic} ([A-Za-z0-9_.-]{1,64})$`)

const manifestFile = (id: string) => `${folder}/${id}${extension}`
const verifiedFile = (id: string) => `${folder}/${id}.verified`

/**
 * A place belongs to the installation whose backup came first.
 * @throws ManifestError for the place of another one
 */
export async function claimPlace(place: BackupPlace, keys: BackupKeys, installation: string): Promise<void> {
  const owner = await ownerOf(place, keys)
  if (owner !== undefined && owner.installation !== installation)
    throw new ManifestError('other-installation', `${place.address} has the backups of another installation`)
  if (owner?.keyId === keys.newest.id) return
  await putSealed(place, placeFile, keys.newest, { format: 1, installation })
}

/** @throws ManifestError */
export async function ownerOf(
  place: BackupPlace,
  keys: BackupKeys,
): Promise<{ readonly installation: string; readonly keyId: string } | undefined> {
  const opened = await openSealed(place, placeFile, keys)
  if (opened === undefined) return undefined
  if (!Check(Place, opened.value)) throw new ManifestError('manifest-changed', `${placeFile} has an unknown form`)
  return { installation: opened.value.installation, keyId: opened.key.id }
}

export async function putManifest(place: BackupPlace, key: BackupKey, manifest: Manifest): Promise<void> {
  await putSealed(place, manifestFile(manifest.id), key, manifest)
}

export async function putVerified(place: BackupPlace, key: BackupKey, id: string, at: Date): Promise<void> {
  await putSealed(place, verifiedFile(id), key, { verified_at: at.toISOString() })
}

/** When a backup was verified last. Null if never. */
export async function verifiedAt(place: BackupPlace, keys: BackupKeys, id: string): Promise<string | null> {
  const opened = await openSealed(place, verifiedFile(id), keys)
  return Check(Verified, opened?.value) ? opened.value.verified_at : null
}

/** Ids of the backups, oldest first: they begin with their time. */
export async function backupIds(place: BackupPlace): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const { name } of place.list(folder))
    if (name.endsWith(extension)) ids.push(name.slice(folder.length + 1, -extension.length))
  return ids.toSorted()
}

/**
 * An id behind those of all backups of the place. The clock may have been ahead when one of them was made: it must not
 * count as newer than this one.
 */
export async function nextBackupId(place: BackupPlace, now: Date): Promise<string> {
  const newestMs = (await backupIds(place)).filter(isTimed).map(timeOf).at(-1) ?? 0
  return v7({ msecs: Math.max(now.getTime(), newestMs + 1) })
}

const isTimed = (id: string) => /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(id)

/** A UUID of version 7 begins with its time, in milliseconds. */
function timeOf(id: string): number {
  return parseInt(id.replaceAll('-', '').slice(0, 12), 16)
}

/** @throws ManifestError */
export async function openManifest(place: BackupPlace, keys: BackupKeys, id: string): Promise<OpenedManifest> {
  const opened = await openSealed(place, manifestFile(id), keys)
  if (opened === undefined) throw new ManifestError('manifest-missing', `${place.address} has no backup ${id}`)
  const { value, key } = opened
  if (!Check(Manifest, value) || value.id !== id)
    throw new ManifestError('manifest-changed', `${manifestFile(id)} has a form that this version does not know`)
  const owner = await ownerOf(place, keys)
  if (owner === undefined) throw new ManifestError('manifest-missing', `${placeFile} is missing in ${place.address}`)
  if (owner.installation !== value.installation)
    throw new ManifestError('other-installation', `${manifestFile(id)} is of another installation than its place`)
  return { manifest: value, key }
}

export async function removeManifest(place: BackupPlace, id: string): Promise<void> {
  await place.remove(manifestFile(id))
  await removeVerified(place, id)
}

export async function removeVerified(place: BackupPlace, id: string): Promise<void> {
  await place.remove(verifiedFile(id))
}

async function putSealed(place: BackupPlace, name: string, key: BackupKey, value: object): Promise<void> {
  const sealed = key.seal(name, Buffer.from(JSON.stringify(value)))
  // What it names is durable first.
  await place.flush()
  await place.put(name, Buffer.concat([Buffer.from(`${magic} ${key.id}\n`), sealed]))
  await place.flush()
}

async function openSealed(
  place: BackupPlace,
  name: string,
  keys: BackupKeys,
): Promise<{ readonly value: unknown; readonly key: BackupKey } | undefined> {
  const bytes = await place.get(name)
  if (bytes === undefined) return undefined
  const end = bytes.subarray(0, 100).indexOf('\n')
  const keyId = firstLine.exec(bytes.toString('latin1', 0, Math.max(end, 0)))?.[1]
  if (keyId === undefined) throw new ManifestError('manifest-changed', `${name} is cut or was changed`)
  const key = keys.byId.get(keyId)
  if (key === undefined)
    throw new ManifestError('key-unknown', `${name} needs the key ${keyId}, which BACKUP_KEYS lacks`)
  try {
    return { value: jsonOf(key.open(name, bytes.subarray(end + 1)).toString('utf8')), key }
  } catch (error) {
    if (!(error instanceof SealedBytesError)) throw error
    throw new ManifestError(
      'manifest-changed',
      `${name} is cut, was changed, or was sealed with another key named ${keyId}`,
      error,
    )
  }
}
