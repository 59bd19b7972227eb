import { randomUUID } from 'node:crypto'
import { logKeys } from '../../../contracts/audit/log-keys.ts'
import { tileReader } from '../../../contracts/audit/log-objects.ts'
import { decodeRecord, newRecord, sealedPartOf, type LogRecord } from '../../../contracts/audit/log-record.ts'
import { isSealedStream } from '../../../contracts/audit/sealed-events.ts'
import type { StoredBytes } from '../../../engine/store/log-frames.ts'
import { startOfLog } from '../../../platform/kit/positions.ts'
import { connectObjectStore, type ObjectStore } from '../../../platform/storage/object-store.ts'
import { checkpointRefusal, type SignedCheckpoint } from '../../../platform/transparency-log/checkpoint.ts'
import { entryOf } from '../../../platform/transparency-log/event-entry.ts'
import { leafHash, rootOf } from '../../../platform/transparency-log/merkle.ts'
import { TileTree } from '../../../platform/transparency-log/tiles.ts'
import { LogWriter, type SealingServers } from '../../../processes/sealing/log-writer.ts'
import { consents } from '../../../streams/consent/aggregate.ts'
import { contextOf, openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { consentFact } from '../../streams/facts.ts'
import { hostedObjectStore } from '../../support/hosted-stand-ins.ts'

export const origin = 'log.example/test'

/** A log of its own, with a vault and an object store. */
export interface SealingWorld extends DecisionWorld {
  readonly objects: ObjectStore
  readonly servers: SealingServers
  /** The servers, for a command. */
  readonly env: Readonly<Record<string, string>>
  /** Appends so many events, each to a stream of its own. */
  write(events: number): Promise<void>
  /** All events that belong to the sealed log, in their order. */
  stored(): Promise<StoredBytes[]>
  /** A seal of all that is there, as a process makes it that starts now. */
  sealAll(servers?: SealingServers): Promise<LogWriter>
  record(): Promise<LogRecord>
  /** The newest checkpoint of the vault, after a check of its signature, its root and its tiles against the events. */
  checkedCheckpoint(): Promise<SignedCheckpoint>
}

export async function openSealingWorld(): Promise<SealingWorld> {
  const account = { accessKeyId: 'test', secretAccessKey: randomUUID() }
  const [world, server] = await Promise.all([
    openDecisionWorld({ hasOwnNode: true }),
    hostedObjectStore({ bucket: 'assessments', ...account }),
  ])
  const objects = connectObjectStore({
    endpoint: server.endpoint,
    region: 'us-east-1',
    bucket: 'assessments',
    ...account,
    now: () => new Date(),
  })
  const { store, vault, orgId } = world
  const servers = { store, vault, objects, failpoint: () => undefined }

  async function stored(): Promise<StoredBytes[]> {
    const events: StoredBytes[] = []
    for await (const event of store.readStoredLog({ after: startOfLog }))
      if (isSealedStream(event.stream)) events.push(event)
    return events
  }
  async function record(): Promise<LogRecord> {
    const kept = await vault.record('sealed-log')
    return kept === undefined ? newRecord(origin) : decodeRecord(kept.bytes)
  }
  return {
    ...world,
    objects,
    servers,
    env: {
      ESDB_URL: world.url,
      VAULT_DATABASE_URL: world.vaultUrl,
      MASTER_KEYS: world.masterKeys,
      S3_ENDPOINT: server.endpoint,
      S3_BUCKET: 'assessments',
      S3_ACCESS_KEY_ID: account.accessKeyId,
      S3_SECRET_ACCESS_KEY: account.secretAccessKey,
    },
    stored,
    record,
    async write(events) {
      for (let left = events; left > 0; left -= 1) {
        const fact = consentFact('ConsentRecorded', {})
        await store.append(consents.of(orgId, randomUUID()), 'no_stream', [fact], contextOf(world))
      }
    },
    async sealAll(given = servers) {
      const writer = await LogWriter.open(given, newRecord(origin))
      for await (const event of store.readStoredLog({ after: writer.position }))
        if (isSealedStream(event.stream)) writer.add(event)
      if (writer.waiting > 0) await writer.seal()
      return writer
    },
    async checkedCheckpoint() {
      const { checkpoint } = sealedPartOf(await record())
      if (checkpoint === undefined) throw new Error('nothing is sealed')
      const refusal = checkpointRefusal(checkpoint, await logKeys(vault, origin))
      const leaves = (await stored()).slice(0, checkpoint.size).map((event) => leafHash(entryOf(event)))
      const tree = new TileTree(checkpoint.size, tileReader(objects, 1))
      const roots = [rootOf(leaves), await tree.root()]
      if (refusal !== undefined || roots.some((root) => !root.equals(checkpoint.root)))
        throw new Error(`the checkpoint is wrong: ${refusal ?? 'its root'}`)
      return checkpoint
    },
    async close() {
      objects.close()
      await Promise.all([world.close(), server.stop()])
    },
  }
}
