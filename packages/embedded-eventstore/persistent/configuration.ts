import { randomUUID } from 'node:crypto'
import { eventData } from '../log/frame.ts'
import { append } from '../streams/append.ts'
import { readBackwards, viewStream } from '../streams/read-stream.ts'
import { METADATA_EVENT, metastreamOf } from '../streams/stream-metadata.ts'
import type { StreamStore } from '../streams/stream-store.ts'
import { ALL_STREAM, type GroupSettings, streamOf } from './group-settings.ts'
import { fromStored, toStored, type StoredSettings } from './stored-settings.ts'

const STREAM = '$persistentSubscriptionConfig'
const EVENT = '$PersistentConfig'
const VERSION = '2'
const NO_BYTES = Buffer.alloc(0)

/** The configuration of all groups, in the form of the server: each change writes all groups to a system stream. */
export class GroupConfiguration {
  private readonly store: StreamStore
  private entries: StoredSettings[] = []
  private hasMetadata = false

  constructor(store: StreamStore) {
    this.store = store
  }

  /**
   * Reads the last configuration. Groups that this node cannot run stay in it but are not returned. Throws
   * CorruptLogError and Error.
   */
  load(): GroupSettings[] {
    const view = viewStream(this.store, STREAM)
    if (view.kind !== 'readable') return []
    this.hasMetadata = true
    for (const [last] of readBackwards(this.store, STREAM, view.head, 1)) {
      if (last !== undefined) this.entries = entriesOf(JSON.parse(eventData(last).toString('utf8')))
    }
    return this.entries.flatMap((entry) => fromStored(entry) ?? reportUnknown(entry))
  }

  /** Adds or replaces a group. Calls `done` once the change is durable. */
  put(settings: GroupSettings, username: string, done: () => void): void {
    const entry = toStored(settings)
    const index = this.indexOf(streamOf(settings.source), settings.group)
    if (index === -1) this.entries.push(entry)
    else this.entries[index] = entry
    this.save(username, done)
  }

  remove(stream: string, group: string, username: string, done: () => void): void {
    const index = this.indexOf(stream, group)
    if (index !== -1) this.entries.splice(index, 1)
    this.save(username, done)
  }

  private indexOf(stream: string, group: string): number {
    return this.entries.findLastIndex((entry) => entry['stream'] === stream && (entry['group'] ?? '') === group)
  }

  private save(username: string, done: () => void): void {
    if (!this.hasMetadata) this.write(metastreamOf(STREAM), METADATA_EVENT, { $maxCount: 2 }, ignore)
    this.hasMetadata = true
    const updated = new Date().toISOString().replace('Z', '0000+00:00')
    this.write(STREAM, EVENT, { version: VERSION, updated, updatedBy: username, entries: this.entries }, done)
  }

  private write(stream: string, type: string, json: StoredSettings, done: () => void): void {
    const data = Buffer.from(JSON.stringify(json))
    append(
      this.store,
      stream,
      'any',
      [{ id: randomUUID(), type, contentType: 'application/json', data, metadata: NO_BYTES }],
      done,
    )
  }
}

function entriesOf(config: unknown): StoredSettings[] {
  if (typeof config !== 'object' || config === null || !('version' in config))
    throw new Error(`${STREAM} does not contain a configuration`)
  const entries: unknown = 'entries' in config ? config.entries : []
  if (!Array.isArray(entries)) throw new Error(`${STREAM} does not contain a list of groups`)
  return entries.flatMap((entry) => (typeof entry === 'object' && entry !== null ? [{ ...entry }] : []))
}

function reportUnknown(entry: StoredSettings): GroupSettings[] {
  const stream = typeof entry['stream'] === 'string' ? entry['stream'] : ALL_STREAM
  process.stderr.write(`${JSON.stringify({ level: 'error', event: 'group-ignored', stream, group: entry['group'] })}\n`)
  return []
}

function ignore(): void {}
