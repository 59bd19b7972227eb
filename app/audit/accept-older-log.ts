import { v7 } from 'uuid'
import { decodeRecord, encodeRecord, logName, sealedPartOf, type LogRecord } from '../../contracts/audit/log-record.ts'
import { logSealsOf } from '../../contracts/audit/log-seals.ts'
import { lockDataFolder } from '../../embedded/children/data-folder-lock.ts'
import { AdvisoryLocks } from '../../platform/database/advisory-locks.ts'
import { loadConfiguration, type Configuration, type Environment } from '../../platform/configuration/configuration.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import { createPool } from '../../platform/database/database.ts'
import { createGracefulStop } from '../../platform/lifecycle/graceful-stop.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import type { MasterKeyRing } from '../../platform/vault/master-keys.ts'
import { newestOf } from '../../processes/sealing/log-writer.ts'
import { sealingLock } from '../../processes/sealing/sealing.ts'
import type { SignedCheckpoint } from '../../platform/transparency-log/checkpoint.ts'
import type { StoredRecord } from '../../platform/vault/vault-rows.ts'
import { logSealStream } from '../../streams/log-seals/aggregate.ts'
import { requireWholeFolder } from '../backup/restore-folder.ts'
import { startEmbedded } from '../embedded.ts'
import { openMasterKeys } from '../master-keys.ts'
import { operatorAccount } from '../operator-account.ts'
import { objectStoreNeeds, serverNeeds } from '../roles.ts'
import { connectAuditServers, type AuditServers } from './audit-servers.ts'
import { LogWentBackError, requireSealedLog } from './log-went-back.ts'
import type { AcceptOrder } from './orders.ts'

export interface AcceptedLog {
  /** Name of the log that begins now. */
  readonly origin: string
  /** Of the log that ended. */
  readonly size: number
  readonly root: string
  readonly by: string
}

/**
 * Accepts an event store that lacks sealed events: its seals are those of a new log from now on. Starts the embedded
 * servers for it, if the environment names no others.
 */
export async function acceptOlderLog(env: Environment, order: AcceptOrder): Promise<AcceptedLog> {
  const configuration = loadConfiguration(env)
  const isGiven = (name: string) => env[name] !== undefined && env[name] !== ''
  if ([...serverNeeds, ...objectStoreNeeds].every(isGiven)) {
    await requireStopped(configuration)
    return accept(configuration, await openMasterKeys(configuration), order)
  }
  return onEmbeddedServers(configuration, env, order)
}

async function onEmbeddedServers(first: Configuration, env: Environment, order: AcceptOrder): Promise<AcceptedLog> {
  const logger = createLogger({ level: 'silent' })
  const stop = createGracefulStop({ logger })
  const lock = await lockDataFolder(first.dataDir, 0)
  stop.onStop('servers', 'data folder', () => lock.release())
  try {
    await requireWholeFolder(first.dataDir)
    const onLost = () => undefined
    const { environment } = await startEmbedded(first, { logger, stop, onLost })
    const masterKeys = await openMasterKeys(first, true)
    return await accept(loadConfiguration({ ...env, ...environment }), masterKeys, order)
  } finally {
    await stop.stop()
  }
}

/** A platform that runs would go on sealing the log that ends here. */
async function requireStopped({ databaseUrl = '' }: Configuration): Promise<void> {
  const pool = createPool({ url: databaseUrl, max: 1, name: 'platform audit' })
  try {
    const locks = await AdvisoryLocks.open(pool, () => undefined)
    const isFree = await locks.tryAcquire(sealingLock)
    await locks.close()
    if (!isFree) throw new ConfigurationError('a platform runs on these servers: stop it first')
  } finally {
    await pool.end()
  }
}

async function accept(
  configuration: Configuration,
  masterKeys: MasterKeyRing,
  { reason }: AcceptOrder,
): Promise<AcceptedLog> {
  const servers = await connectAuditServers(configuration, masterKeys)
  try {
    const { store, vault } = servers
    const kept = await vault.record('sealed-log')
    if (kept === undefined) throw new Error('nothing is sealed yet: there is no older log to accept')
    const { state } = await store.load(logSealStream)
    const record = newestOf(decodeRecord(kept.bytes), state)
    const { checkpoint } = sealedPartOf(record)
    if (checkpoint === undefined || !(await hasGoneBack(servers)))
      throw new Error('the event store has every sealed event: there is no older log to accept')
    return await beginNewLog(servers, { kept, record, checkpoint, reason })
  } finally {
    await servers.close()
  }
}

/**
 * Begins a new log over the event store as it is. Undefined if nothing was sealed yet.
 * A restored event store needs it even if it has every sealed event: the original may have sealed more since, and one key
 * must not sign two logs.
 */
export async function beginLogOfRestored(servers: AuditServers, reason: string): Promise<AcceptedLog | undefined> {
  const { store, vault } = servers
  const kept = await vault.record('sealed-log')
  if (kept === undefined) return undefined
  const { state } = await store.load(logSealStream)
  const record = newestOf(decodeRecord(kept.bytes), state)
  const { checkpoint } = sealedPartOf(record)
  return checkpoint === undefined ? undefined : beginNewLog(servers, { kept, record, checkpoint, reason })
}

interface EndedLog {
  readonly kept: StoredRecord
  readonly record: LogRecord
  readonly checkpoint: SignedCheckpoint
  readonly reason: string
}

async function beginNewLog(
  servers: AuditServers,
  { kept, record, checkpoint, reason }: EndedLog,
): Promise<AcceptedLog> {
  const by = operatorAccount()
  const { size } = checkpoint
  const root = checkpoint.root.toString('base64')
  await appendAccepted(servers, { reason, by, size, root })
  const next: LogRecord = {
    ...record,
    generation: record.generation + 1,
    checkpoint: null,
    position: null,
    cosigned: null,
    keys: [1],
    unlogged: [],
  }
  if ((await servers.vault.replaceRecord('sealed-log', kept, encodeRecord(next))) === undefined)
    throw new Error('a platform sealed the log meanwhile: stop it first')
  return { origin: logName(next), size, root, by }
}

async function hasGoneBack(servers: AuditServers): Promise<boolean> {
  try {
    await requireSealedLog(servers)
    return false
  } catch (error) {
    if (error instanceof LogWentBackError) return true
    throw error
  }
}

/** A command that was cut off before the vault has its event already. */
async function appendAccepted(
  { store }: AuditServers,
  data: { readonly reason: string; readonly by: string; readonly size: number; readonly root: string },
): Promise<void> {
  for await (const last of logSealsOf(store, { direction: 'backwards', limit: 1 }))
    if (last.type === 'OlderLogAccepted' && last.data.size === data.size && last.data.root === data.root) return
  const { revision } = await store.load(logSealStream)
  const context = { commandId: v7(), correlationId: v7(), process: 'audit' }
  await store.append(logSealStream, revision, [{ type: 'OlderLogAccepted', data }], context)
}
