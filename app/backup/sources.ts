import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openLogCopy, type LogCopy } from 'embedded-eventstore/log-copy'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { EventFilter } from '../../engine/store/subscription-options.ts'
import type { ChunkStore } from '../../platform/backup/chunks.ts'
import type { Entry } from '../../platform/backup/index-lines.ts'
import type { Manifest } from '../../platform/backup/manifests.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import { exportsPrefix } from '../../processes/audit/export-runs.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import { ifPresent } from '../../platform/kit/error-codes.ts'
import { formatPosition } from '../../platform/kit/positions.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { copyVault } from '../../platform/vault/vault-copy.ts'

/** Files of the data folder that a backup contains, if they are there. */
export const backedUpFiles = ['credentials.json', 'embedded.json', 'master-keys'] as const

/** The embedded event store of a data folder. */
export function eventStoreFolder(dataDir: string): string {
  return join(dataDir, 'eventstore')
}

/** What a backup has of the event store. */
export interface EventStoreCopy {
  /** Of the embedded one. Empty if another one was copied by its own means. */
  readonly segments: LogCopy['segments']
  /** What the copy contains. Of the embedded one it is known when all segments were read. */
  contents(): Pick<Manifest, 'position' | 'facts_until' | 'events' | 'log_end'>
  close(): void
}

/**
 * Fixes the position of the backup, then copies the event store. Another one than the embedded one is copied by
 * EVENTSTORE_BACKUP_COMMAND, which has ended before the vault is copied: so the vault has the keys of all its events.
 * @throws ConfigurationError without that command, Error if it fails
 */
export async function copyEventStore(
  { dataDir, esdbUrl = '', eventstoreBackupCommand }: CopySettings,
  store: Pick<EventStore, 'head'>,
  backupId: string,
): Promise<EventStoreCopy> {
  const settings = await ifPresent(readFile(join(dataDir, 'embedded.json'), 'utf8'))
  const port = /"eventstore": (\d+)/.exec(settings ?? '')?.[1]
  if (port !== undefined && esdbUrl.includes(`@localhost:${port}?`)) return embeddedCopy(dataDir)
  if (eventstoreBackupCommand === undefined)
    throw new ConfigurationError(
      'ESDB_URL leads to an event store that is not the embedded one: EVENTSTORE_BACKUP_COMMAND must copy it',
    )
  const begun = new Date()
  const head = await store.head(everything)
  const position = formatPosition(head)
  await runCopyCommand(eventstoreBackupCommand, { BACKUP_ID: backupId, BACKUP_POSITION: position })
  const contents = { position, facts_until: begun.toISOString(), events: null, log_end: null }
  return { segments: [], contents: () => contents, close: () => undefined }
}

type CopySettings = Pick<Configuration, 'dataDir' | 'esdbUrl' | 'eventstoreBackupCommand'>

/** All streams but those of the event store itself. */
export const everything: EventFilter = { streamPrefixes: [''] }

function embeddedCopy(dataDir: string): EventStoreCopy {
  const log = openLogCopy(eventStoreFolder(dataDir))
  return {
    segments: log.segments,
    contents() {
      const { events, last } = log.contents
      const position = last === undefined ? null : `${last.position}/${last.position}`
      const factsUntil = last === undefined ? null : new Date(last.createdAt).toISOString()
      return { position, facts_until: factsUntil, events, log_end: log.end }
    },
    close: () => log.close(),
  }
}

const mostOutput = 2_000

/** Waits as long as the copy takes. Its output is shown if it fails. */
async function runCopyCommand(command: string, variables: Readonly<Record<string, string>>): Promise<void> {
  const child = spawn(command, {
    shell: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...variables },
  })
  let output = ''
  const take = (bytes: Buffer) => void (output = `${output}${bytes.toString()}`.slice(-mostOutput))
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  const [code, signal] = await once(child, 'close')
  if (code === 0) return
  throw new Error(
    `EVENTSTORE_BACKUP_COMMAND ended with ${code === null ? String(signal) : `code ${String(code)}`}: ${output.trim()}`,
  )
}

interface Sources {
  readonly eventStore: Pick<EventStoreCopy, 'segments'>
  readonly vaultUrl: string
  readonly objects: Pick<ObjectStore, 'list' | 'read'>
  readonly dataDir: string
}

/**
 * Stores everything, in this order: the log, whose end is fixed already; the vault, which then has each key that an
 * event of the log needs; the objects, among which are those that the events name.
 */
export async function* storeSources(
  { eventStore, vaultUrl, objects, dataDir }: Sources,
  chunks: ChunkStore,
): AsyncGenerator<Entry, void, undefined> {
  for (const segment of eventStore.segments)
    yield { kind: 'segment', name: String(segment.base), ...(await chunks.store(segment.chunks())) }
  for await (const { name, lines } of copyVault(vaultUrl)) yield { kind: 'table', name, ...(await chunks.store(lines)) }
  yield* inLanes(lasting(objects.list('')), ({ key }) => storeObject(objects, key, chunks))
  for (const name of backedUpFiles) {
    const bytes = await ifPresent(readFile(join(dataDir, name)))
    if (bytes !== undefined) yield { kind: 'file', name, ...(await chunks.store(piece(bytes))) }
  }
}

/** Exports live for a day, and are not sealed with the key of their patient: a backup would keep them longer. */
async function* lasting(listed: ReturnType<ObjectStore['list']>): ReturnType<ObjectStore['list']> {
  for await (const object of listed) if (!object.key.startsWith(exportsPrefix)) yield object
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
  return { kind: 'object', name: key, ...type, ...(await chunks.storeHashed(object.chunks)) }
}

async function* piece(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
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
