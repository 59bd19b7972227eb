import type { EventStoreDBClient } from '@eventstore/db-client'
import { ClientWrongVersion, isRefusal } from './client-errors.ts'
import { backoffMs, pause } from './backoff.ts'
import { EventStoreRefusedError, EventStoreUnavailableError } from './errors.ts'

/** Stream metadata: the server's own (`maxCount`, `maxAge`, `truncateBefore`) and members of ours. */
export type StreamMetadata = Readonly<Record<string, string | number | boolean>>

const backoff = { firstMs: 50, mostMs: 1_000 }

export async function readMetadata(client: EventStoreDBClient, stream: string, budgetMs: number): Promise<StreamMetadata> {
  return (await patiently(`metadata of ${stream}`, budgetMs, () => read(client, stream))).metadata
}

/** Sets the members of `changes` and keeps the others: writing metadata replaces it whole, so it is merged first. */
export async function mergeMetadata(
  client: EventStoreDBClient,
  stream: string,
  changes: StreamMetadata,
  budgetMs: number,
): Promise<void> {
  await patiently(`metadata of ${stream}`, budgetMs, async () => {
    const { metadata, revision } = await read(client, stream)
    await client.setStreamMetadata(stream, { ...metadata, ...changes }, { expectedRevision: revision })
  })
}

async function read(client: EventStoreDBClient, stream: string) {
  const { metadata, metastreamRevision } = await client.getStreamMetadata(stream)
  const members: Record<string, string | number | boolean> = {}
  for (const [name, value] of Object.entries(metadata ?? {})) {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') members[name] = value
  }
  return { metadata: members, revision: metastreamRevision ?? ('no_stream' as const) }
}

/** Reading and merging may be repeated whatever became of the last try. */
async function patiently<Result>(what: string, budgetMs: number, act: () => Promise<Result>): Promise<Result> {
  const startedAt = performance.now()
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await act()
    } catch (error) {
      if (isRefusal(error)) throw new EventStoreRefusedError(what, { cause: error })
      const isLost = !(error instanceof ClientWrongVersion) && performance.now() - startedAt >= budgetMs
      if (isLost) throw new EventStoreUnavailableError(what, { cause: error })
    }
    await pause(backoffMs(backoff, attempt))
  }
}
