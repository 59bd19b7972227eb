import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isSealedStream } from '../../../contracts/audit/sealed-events.ts'
import { newRecord } from '../../../contracts/audit/log-record.ts'
import { startObjectStore } from '../../../embedded/object-store/start-object-store.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { connectObjectStore, type ObjectStore } from '../../../platform/storage/object-store.ts'
import type { Vault } from '../../../platform/vault/vault.ts'
import { LogWriter } from '../../../processes/sealing/log-writer.ts'

export const pageEvents = 10_000

export interface BenchObjects {
  readonly objects: ObjectStore
  stop(): Promise<void>
}

/** An object store for tiles, durable as in an installation. */
export async function startBenchObjects(folder: string): Promise<BenchObjects> {
  const account = { accessKeyId: 'bench', secretAccessKey: randomUUID() }
  const dataDir = join(folder, 'tiles')
  await mkdir(dataDir, { recursive: true })
  const server = await startObjectStore({ dataDir, port: 0, bucket: 'tiles', ...account })
  const { endpoint } = server
  const objects = connectObjectStore({
    endpoint,
    region: 'us-east-1',
    bucket: 'tiles',
    ...account,
    now: () => new Date(),
  })
  return {
    objects,
    async stop() {
      objects.close()
      await server.stop()
    },
  }
}

/** Seals the whole log, in the pages of a platform. Returns the bytes of the events that it read. */
export async function sealAll(servers: {
  readonly store: EventStore
  readonly vault: Vault
  readonly objects: ObjectStore
}): Promise<{ readonly writer: LogWriter; readonly bytes: number }> {
  const writer = await LogWriter.open({ ...servers, failpoint: () => undefined }, newRecord('bench.example/log'))
  let bytes = 0
  for await (const event of servers.store.readStoredLog({ after: writer.position })) {
    if (!isSealedStream(event.stream)) continue
    bytes += event.dataBytes.length + event.metadataBytes.length + event.stream.length + event.type.length
    writer.add(event)
    if (writer.waiting === pageEvents) await writer.seal()
  }
  if (writer.waiting > 0) await writer.seal()
  return { writer, bytes }
}
