import { Check } from 'typebox/schema'
import type { EventStore, ReadStreamOptions } from '../../engine/store/event-store.ts'
import type { DomainEvent, RecordedEvent } from '../../engine/store/events.ts'
import { logSealStream } from '../../streams/log-seals/aggregate.ts'
import { logSealEvents, type LogSealEvent } from '../../streams/log-seals/events.ts'

/** A seal, a cosignature or an accepted older log, with its place in the event store. */
export type RecordedSeal = LogSealEvent & Omit<RecordedEvent, 'type' | 'data'>

/** The events of the stream of seals. */
export async function* logSealsOf(
  store: Pick<EventStore, 'readStream'>,
  options: Pick<ReadStreamOptions, 'from' | 'direction' | 'limit'> = {},
): AsyncGenerator<RecordedSeal, void, undefined> {
  for await (const event of store.readStream(logSealStream.stream, options)) yield { ...event, ...sealOf(event) }
}

/** The codec checked the shape; this tells the types apart. */
function sealOf({ type, data }: DomainEvent): LogSealEvent {
  const seal = sealIn(type, data)
  if (seal === undefined) throw new Error(`${type} is no event of the stream of seals`)
  return seal
}

/** Undefined for a content of another form. */
export function sealIn(type: string, data: unknown): LogSealEvent | undefined {
  const { LogSealed, LogCosigned, OlderLogAccepted, SealKeyRotated, SealKeysEnded } = logSealEvents
  if (type === 'LogSealed' && Check(LogSealed.schema, data)) return { type, data }
  if (type === 'LogCosigned' && Check(LogCosigned.schema, data)) return { type, data }
  if (type === 'OlderLogAccepted' && Check(OlderLogAccepted.schema, data)) return { type, data }
  if (type === 'SealKeyRotated' && Check(SealKeyRotated.schema, data)) return { type, data }
  if (type === 'SealKeysEnded' && Check(SealKeysEnded.schema, data)) return { type, data }
  return undefined
}
