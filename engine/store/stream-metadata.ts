import { v4 } from 'uuid'
import { appendExactly, type AppendTiming, type AppendWatch } from './appending.ts'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import type { EventStoreConnection } from './connection.ts'
import { isJsonObject, type JsonObject } from './events.ts'
import { RevisionConflictError } from './errors.ts'
import type { StreamRevision } from '../../platform/kit/positions.ts'
import { readRawStream, type ReadTiming } from './reading.ts'

/** Stream metadata as it is stored: the server's own members (`$maxCount`, `$maxAge`, `$tb`, `$acl`) and ours. */
export type StreamMetadata = Readonly<JsonObject>

const backoff = { firstMs: 20, mostMs: 1_000 }
const mostConflicts = 20

interface StoredMetadata {
  readonly metadata: StreamMetadata
  readonly revision: StreamRevision
}

/** Whether the server may hide old events of a stream with this metadata. */
export function isHiding(metadata: StreamMetadata): boolean {
  return ['$tb', '$maxCount', '$maxAge'].some((member) => member in metadata)
}

/**
 * The client's own `getStreamMetadata` uses a log position as the revision, so this reads the metadata's stream
 * instead.
 */
export async function readMetadata(
  connection: EventStoreConnection,
  stream: string,
  timing: ReadTiming,
): Promise<StoredMetadata> {
  const read = { from: 'end', direction: 'backwards', limit: 1 } as const
  for await (const { data, revision } of readRawStream(connection.commands, metadataStream(stream), read, timing)) {
    return { metadata: isJsonObject(data) ? data : {}, revision }
  }
  return { metadata: {}, revision: 'no_stream' }
}

/**
 * Sets the members of `changes` and keeps the others. A write replaces all metadata, so the members are merged first.
 * @throws AppendOutcomeUnknownError, EventStoreUnavailableError, RevisionConflictError if other writers never stop
 */
export async function mergeMetadata(
  connection: EventStoreConnection,
  stream: string,
  changes: StreamMetadata,
  timing: { readonly append: AppendTiming; readonly read: ReadTiming },
  watch: AppendWatch,
): Promise<void> {
  const target = metadataStream(stream)
  for (let attempt = 1; ; attempt += 1) {
    const { metadata, revision } = await readMetadata(connection, stream, timing.read)
    const event = {
      id: v4(),
      type: '$metadata',
      text: JSON.stringify({ ...metadata, ...changes }),
      metadata: undefined,
    }
    const answer = await appendExactly(
      connection,
      { stream: target, expected: revision, events: [event] },
      timing.append,
      watch,
    )
    if (answer.kind === 'written') return
    // The conflict may come from an earlier attempt of this write. Merging the same members again does no harm.
    if (attempt === mostConflicts) throw new RevisionConflictError(target, revision, answer.actual)
    await pause(backoffMs(backoff, attempt))
  }
}

function metadataStream(stream: string): string {
  return `$$${stream}`
}
