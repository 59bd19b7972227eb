import { v7 } from 'uuid'
import type { EventStore } from '../engine/store/event-store.ts'
import type { StreamRevision } from '../platform/kit/positions.ts'
import { writeProbes } from '../streams/write-probe/aggregate.ts'

/** A try takes less time than the watch waits for the next one, in milliseconds. */
const limits = { appendTimeoutMs: 4_000, appendBudgetMs: 4_000 }

/**
 * Appends one small event to a stream of this process, which keeps its newest event only. After a failed try, nobody
 * knows the end of that stream, so the next try begins another one.
 */
export function createWriteProbe(given: EventStore, now: () => Date): () => Promise<void> {
  const store = given.within(limits)
  let target = writeProbes.of(v7())
  let revision: StreamRevision = 'no_stream'
  return async () => {
    const event = { type: 'WriteProbed', data: { probedAt: now().toISOString() } } as const
    try {
      const isFirst = revision === 'no_stream'
      ;({ revision } = await store.append(target, revision, [event], {
        commandId: v7(),
        correlationId: v7(),
        process: 'write_probe',
      }))
      if (isFirst) await store.writeMetadata(target.stream, { $maxCount: 1 })
    } catch (error) {
      target = writeProbes.of(v7())
      revision = 'no_stream'
      throw error
    }
  }
}
