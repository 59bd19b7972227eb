import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { startEventStore } from 'embedded-eventstore'
import { isRealEventStore, realEventStoreUrl } from 'embedded-eventstore/testing'
import { runFolder } from './postgres.ts'

let started: ReturnType<typeof startEventStore> | undefined

/**
 * The address of the embedded node of this worker, or of the server of `ESDB_URL`. Its log also contains what other files
 * write. The node ends with the worker.
 */
export async function workerEventStore(): Promise<string> {
  if (isRealEventStore) return realEventStoreUrl
  started ??= mkdtemp(join(runFolder(), 'event-store-')).then((dataDir) => startEventStore({ dataDir }))
  return (await started).url
}
