import { createSecretKey, randomBytes } from 'node:crypto'
import { isOwnStream } from '../../contracts/audit/sealed-events.ts'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import { openEventStore, type EventStore } from '../../engine/store/event-store.ts'
import type { StoredBytes } from '../../engine/store/log-frames.ts'
import type { OpenedManifest } from '../../platform/backup/manifests.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import { jsonOf } from '../../platform/kit/json-reading.ts'
import { MissingKeyError, onlyEventKey, type KeyVault } from '../../platform/kit/key-vault.ts'
import { createPool, ensureDatabase } from '../../platform/database/database.ts'
import { comparePositions, formatPosition, parsePosition, startOfLog } from '../../platform/kit/positions.ts'
import { noOrganisation } from '../../platform/kit/tenants.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { users } from '../../streams/user/aggregate.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { connectObjects } from '../audit/audit-servers.ts'
import { requireBucket } from '../bucket-check.ts'
import { clearly } from '../start-errors.ts'
import { everything } from './sources.ts'

/**
 * Requires the event store that belongs to the backup: one of ESDB_URL if it is not in the backup, and then at the
 * backup's position or past it. Writes nothing.
 * @throws ConfigurationError
 */
export async function requireEventStoreOf({ manifest }: OpenedManifest, { esdbUrl }: Configuration): Promise<void> {
  if (manifest.log_end !== null) {
    if (esdbUrl === undefined) return
    throw new ConfigurationError('ESDB_URL must not be set: the backup contains an embedded event store')
  }
  if (esdbUrl === undefined)
    throw new ConfigurationError(
      'ESDB_URL must lead to the event store that was restored by its own means: it is not in the backup',
    )
  const position = parsePosition(manifest.position ?? '')
  const store = await openEventStore({ url: esdbUrl, catalogue, vault: noKeys })
  try {
    const head = await clearly('ESDB_URL', () => store.head(everything))
    if (position !== undefined && comparePositions(head, position) < 0)
      throw new ConfigurationError(
        `the event store of ESDB_URL ends at ${formatPosition(head)}, before the position of the backup, ${formatPosition(position)}: restore its copy first`,
      )
  } finally {
    await store.close()
  }
}

/**
 * The restored vault belongs to the event store. Another installation's would get events that it did not sign, and could
 * not start any more.
 * @throws ConfigurationError if the vault has signed none of its events
 */
export async function requireSignedEvents(store: Pick<EventStore, 'readStoredLog' | 'isSigned'>): Promise<void> {
  for await (const event of store.readStoredLog({ after: startOfLog }))
    if (isOwnStream(event.stream) && (await store.isSigned(event))) return
  throw new ConfigurationError(
    'the event store of ESDB_URL is of another installation: the vault signed no event of it',
  )
}

/**
 * The event store may be newer than the vault of the backup. Then its log names persons who were erased meanwhile.
 * @returns how many keys the log has as destroyed
 */
export async function destroyKeysOfLog({
  store,
  vault,
}: {
  readonly store: Pick<EventStore, 'readStoredLog' | 'isSigned'>
  readonly vault: Pick<Vault, 'eraseSubject' | 'rewriteFiles'>
}): Promise<number> {
  let count = 0
  for await (const event of store.readStoredLog({ after: startOfLog })) {
    const subject = destroyedSubjectIn(event)
    if (subject === undefined || !(await store.isSigned(event))) continue
    await vault.eraseSubject(...subject)
    count += 1
  }
  // The log has these erasures as complete, so no step removes the keys from the files of the restored vault.
  if (count > 0) await vault.rewriteFiles()
  return count
}

/** Organisation and id of the person whose key the event reports as destroyed. */
function destroyedSubjectIn({ stream, type, dataBytes }: StoredBytes): readonly [string, string] | undefined {
  if (type === 'UserKeyDestroyed') return [noOrganisation, stream.slice(`${users.category}-`.length)]
  if (type !== 'PatientErasureStepDone') return undefined
  const { step }: { readonly step?: unknown } = Object(jsonOf(Buffer.from(dataBytes).toString()))
  if (step !== 'keys_destroyed') return undefined
  const { orgId, id } = parseOwnedStream(stream)
  return [orgId, id]
}

/**
 * Read models of another log would go on behind the restored one, and leave its newer events out.
 * @throws ConfigurationError if a platform has used the database
 */
export async function requireNewDatabase(url: string): Promise<void> {
  await ensureDatabase(url)
  const pool = createPool({ url, max: 1, name: 'platform restore' })
  try {
    const { rows } = await pool.query(`select where to_regclass('runtime.projectors') is not null`)
    if (rows.length > 0)
      throw new ConfigurationError('the database of DATABASE_URL is not new: it has read models. Name another one')
  } finally {
    await pool.end()
  }
}

/**
 * The objects of another platform would be among those of the restored one. To be asked before the vault is filled, which
 * is not filled again.
 * @throws Error without the bucket, or if it has objects
 */
export async function requireEmptyBucket(configuration: Configuration): Promise<void> {
  await requireBucket(configuration)
  const objects = connectObjects(configuration)
  try {
    for await (const { key } of objects.list(''))
      throw new ConfigurationError(`the bucket of S3_BUCKET is not empty: it has ${key}`)
  } finally {
    objects.close()
  }
}

const refuseKey = (_orgId: string, subjectId: string) => Promise.reject(new MissingKeyError('subject', subjectId))

/** The end of a log is found without a look into its events. */
const noKeys: KeyVault = {
  subjectKeyForWriting: refuseKey,
  subjectKeyForReading: refuseKey,
  eventKeys: async () => onlyEventKey(createSecretKey(randomBytes(32))),
}
