import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openLogCopy, type LogCopy } from 'embedded-eventstore/log-copy'
import type { ChunkStore } from '../../platform/backup/chunks.ts'
import type { Entry } from '../../platform/backup/index-lines.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import { ifPresent } from '../../platform/kit/error-codes.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { copyVault } from '../../platform/vault/vault-copy.ts'

/** Files of the data folder that a backup contains, if they are there. */
export const backedUpFiles = ['credentials.json', 'embedded.json', 'master-keys'] as const

/** The embedded event store of a data folder. */
export function eventStoreFolder(dataDir: string): string {
  return join(dataDir, 'eventstore')
}

/** @throws ConfigurationError if the platform uses another event store */
export async function openEmbeddedLog(dataDir: string, esdbUrl: string): Promise<LogCopy> {
  const settings = await ifPresent(readFile(join(dataDir, 'embedded.json'), 'utf8'))
  const port = /"eventstore": (\d+)/.exec(settings ?? '')?.[1]
  if (port === undefined || !esdbUrl.includes(`@localhost:${port}?`))
    throw new ConfigurationError(
      `backup create copies the embedded event store of ${dataDir}, and ESDB_URL leads to another one. This version cannot back up a real event store: copy it by its own means`,
    )
  return openLogCopy(eventStoreFolder(dataDir))
}

interface Sources {
  readonly log: LogCopy
  readonly vaultUrl: string
  readonly objects: Pick<ObjectStore, 'list' | 'read'>
  readonly dataDir: string
}

/**
 * Stores everything, in this order: the log, whose end is fixed already; the vault, which then has each key that an
 * event of the log needs; the objects, among which are those that the events name.
 */
export async function* storeSources(
  { log, vaultUrl, objects, dataDir }: Sources,
  chunks: ChunkStore,
): AsyncGenerator<Entry, void, undefined> {
  for (const segment of log.segments)
    yield { kind: 'segment', name: String(segment.base), ...(await chunks.store(segment.chunks())) }
  for await (const { name, lines } of copyVault(vaultUrl)) yield { kind: 'table', name, ...(await chunks.store(lines)) }
  yield* inLanes(objects.list(''), ({ key }) => storeObject(objects, key, chunks))
  for (const name of backedUpFiles) {
    const bytes = await ifPresent(readFile(join(dataDir, name)))
    if (bytes !== undefined) yield { kind: 'file', name, ...(await chunks.store(once(bytes))) }
  }
}

/** Undefined if the object was removed after it was listed. */
async function storeObject(
  objects: Pick<ObjectStore, 'read'>,
  key: string,
  chunks: ChunkStore,
): Promise<Entry | undefined> {
  const object = await objects.read(key)
  if (object === undefined) return undefined
  const type = object.contentType === undefined ? {} : { type: object.contentType }
  return { kind: 'object', name: key, ...type, ...(await chunks.store(object.chunks)) }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes
}

const lanes = 8

/** Works on a few items at a time. Yields the results in the order of the items, without those that are undefined. */
async function* inLanes<Item, Result>(
  items: AsyncIterable<Item>,
  work: (item: Item) => Promise<Result | undefined>,
): AsyncGenerator<Result, void, undefined> {
  const running: Promise<Result | undefined>[] = []
  for await (const item of items) {
    const begun = work(item)
    // It is awaited later, and its failure must not end the process before.
    begun.catch(() => undefined)
    running.push(begun)
    if (running.length < lanes) continue
    const result = await running.shift()
    if (result !== undefined) yield result
  }
  for (const each of running) {
    const result = await each
    if (result !== undefined) yield result
  }
}
