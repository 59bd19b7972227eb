import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ByteClient } from './byte-client.ts'
import { readExport } from './export-file.ts'
import type { TransferredEvent } from './exported-line.ts'

export type ImportResult = {
  events: number
  /** Events that the store wrote by itself before their turn: the metadata that revives a deleted stream. */
  writtenByStore: number
  /** Events without data at the place of scavenged events. They keep the revisions equal. */
  filled: number
}

/** The data that a soft delete writes to the metadata stream. */
const SOFT_DELETE = /^\s*\{\s*"\$tb"\s*:\s*9223372036854775807\s*\}\s*$/
const LONGEST_WAIT_MS = 5000
const RETRY_MS = 20
const TOMBSTONE = 2n ** 63n - 1n
const EVENTS_AT_ONCE = 500
const BYTES_AT_ONCE = 512 << 10
export const FILLER_EVENT = 'scavenged'

/**
 * Writes an export into a store that has none of its streams. Streams, revisions, ids, types, bytes and order stay the
 * same. Checks the whole file before it writes anything. Rejects at the first event that the store refuses.
 */
export async function importStore(url: string, file: string): Promise<ImportResult> {
  for await (const _event of readExport(file));
  const client = new ByteClient(url)
  try {
    const importing = new Importing(client)
    for await (const event of readExport(file)) await importing.take(event)
    await importing.flush()
    return importing.result
  } finally {
    await client.dispose()
  }
}

class Importing {
  readonly result: ImportResult = { events: 0, writtenByStore: 0, filled: 0 }
  private readonly client: ByteClient
  private readonly heads = new Map<string, bigint>()
  private readonly deleted = new Set<string>()
  private group: TransferredEvent[] = []
  private groupBytes = 0

  constructor(client: ByteClient) {
    this.client = client
  }

  /**
   * Consecutive events of one stream go into one append. Metadata goes alone, because the store answers it with its own
   * metadata.
   */
  async take(event: TransferredEvent): Promise<void> {
    const size = event.data.length + event.metadata.length
    const last = this.group.at(-1)
    const joins =
      last !== undefined &&
      last.stream === event.stream &&
      last.revision + 1n === event.revision &&
      !event.stream.startsWith('$$')
    if (!joins || this.group.length >= EVENTS_AT_ONCE || this.groupBytes + size > BYTES_AT_ONCE) await this.flush()
    this.group.push(event)
    this.groupBytes += size
  }

  async flush(): Promise<void> {
    const events = this.group
    const first = events[0]
    this.group = []
    this.groupBytes = 0
    if (first === undefined) return
    if (first.revision === TOMBSTONE) await this.tombstone(first.stream)
    else if (this.deleted.has(originalOf(first.stream)) && isSoftDelete(first)) await this.deleteAgain(first)
    else await this.append(first.stream, first.revision, events)
    this.result.events += events.length
  }

  private async append(stream: string, revision: bigint, events: TransferredEvent[]): Promise<void> {
    if (this.isBareRevival(stream, events)) await this.client.revive(originalOf(stream))
    const before = this.heads.get(stream) ?? -1n
    for (let missing = before + 1n; missing < revision; missing += 1n) await this.fill(stream, missing)
    const outcome = await this.client.append(stream, revision - 1n, events)
    if (outcome.kind === 'conflict' && !(await this.isWrittenByStore(events))) {
      throw new Error(
        `${stream} already has events up to revision ${outcome.head}, but revision ${revision} was to be written: import into a store without these streams`,
      )
    }
    if (outcome.kind === 'conflict') this.result.writtenByStore += 1
    this.heads.set(stream, revision + BigInt(events.length) - 1n)
    if (events.some(isSoftDelete)) this.deleted.add(originalOf(stream))
    else this.deleted.delete(originalOf(stream))
  }

  /**
   * A real server crashes when it has to revive a stream whose metadata stream is tombstoned. It does not start
   * again.
   */
  private async tombstone(stream: string): Promise<void> {
    if (stream.startsWith('$$') && this.deleted.has(originalOf(stream))) {
      throw new Error(
        `${stream} is tombstoned while ${originalOf(stream)} is deleted: an append to the deleted stream would crash a real server permanently`,
      )
    }
    await this.client.tombstone(stream)
  }

  /** Deletes a deleted stream again. An append of the same metadata would revive the stream. */
  private async deleteAgain({ stream, revision }: TransferredEvent): Promise<void> {
    await this.client.softDelete(originalOf(stream))
    this.heads.set(stream, revision)
  }

  /**
   * An append without events revives a deleted stream and leaves exactly this metadata. An append of the metadata
   * itself would add further metadata.
   */
  private isBareRevival(stream: string, [event]: TransferredEvent[]): boolean {
    const original = originalOf(stream)
    if (event === undefined || !event.isJson || original === stream || !this.deleted.has(original)) return false
    const revived = Buffer.from(`{"$tb":${(this.heads.get(original) ?? -1n) + 1n}}`)
    return isSameJson(event.data, revived)
  }

  /** A store that revives a stream writes the metadata for it immediately, with its own id. */
  private async isWrittenByStore([event, ...more]: TransferredEvent[]): Promise<boolean> {
    if (event === undefined || more.length > 0 || !event.stream.startsWith('$$')) return false
    const last = await this.readableLast(event.stream, event.revision)
    return (
      last !== undefined &&
      last.revision === event.revision &&
      last.type === event.type &&
      isSameJson(last.data, event.data)
    )
  }

  /** The last event of a stream once readers see that revision. On a server that is a moment after the writer. */
  private async readableLast(stream: string, revision: bigint): Promise<TransferredEvent | undefined> {
    const giveUpAt = performance.now() + LONGEST_WAIT_MS
    for (;;) {
      const last = await this.client.last(stream)
      if ((last !== undefined && last.revision >= revision) || performance.now() > giveUpAt) return last
      await sleep(RETRY_MS)
    }
  }

  private async fill(stream: string, revision: bigint): Promise<void> {
    const outcome = await this.client.append(stream, revision - 1n, [
      {
        id: fillerId(stream, revision),
        type: FILLER_EVENT,
        isJson: false,
        data: Buffer.alloc(0),
        metadata: Buffer.alloc(0),
      },
    ])
    if (outcome.kind === 'conflict')
      throw new Error(
        `${stream} already has events up to revision ${outcome.head}: import into a store without these streams`,
      )
    this.result.filled += 1
  }
}

/** A repeated import finds fillers by their ids too. */
function fillerId(stream: string, revision: bigint): string {
  const hex = hash('sha256', `${FILLER_EVENT} ${revision}@${stream}`)
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}

function originalOf(stream: string): string {
  return stream.startsWith('$$') ? stream.slice(2) : stream
}

function isSoftDelete({ stream, isJson, data }: TransferredEvent): boolean {
  return isJson && stream.startsWith('$$') && SOFT_DELETE.test(Buffer.from(data).toString('utf8'))
}

function isSameJson(one: Uint8Array, other: Uint8Array): boolean {
  const canonical = (bytes: Uint8Array): string => {
    const value = parsedJson(bytes)
    return JSON.stringify(value, (_key, part: unknown) =>
      typeof part === 'object' && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : part,
    )
  }
  return canonical(one) === canonical(other)
}

/** Data with the content type JSON may still be invalid JSON. */
function parsedJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch {
    return Buffer.from(bytes).toString('base64')
  }
}
