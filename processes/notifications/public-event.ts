import type { EventStore } from '../../streams/store/event-store.ts'
import type { RecordedEvent } from '../../streams/store/events.ts'
import type { PublicEvent } from '../runtime/define-process.ts'
import { memberOf } from '../adapters/outside-answers.ts'
import { isUuid } from '../../platform/http/formats.ts'

interface Place {
  readonly channelStream: string
  readonly channelRevision: string
}

/** The event at its place on its channel. Undefined if an operator has dropped it. */
export async function readPublicEvent(
  store: Pick<EventStore, 'readStream'>,
  { channelStream, channelRevision }: Place,
  eventId: string,
): Promise<RecordedEvent<PublicEvent> | undefined> {
  const from = BigInt(channelRevision)
  for await (const event of store.readStream<PublicEvent>(channelStream, { from, limit: 1 }))
    if (event.id === eventId) return event
  return undefined
}

/** The variables of a template: the members of the payload (contract-2, C7). Addresses of images are credentials. */
export function variablesOf({ data: { images: _, ...members } }: Pick<RecordedEvent<PublicEvent>, 'data'>): string {
  return JSON.stringify(members)
}

/** The clinical patient whom the event concerns. */
export function patientOf({ patient_id, patientId }: PublicEvent['data']): string | null {
  const named = patient_id ?? patientId
  return typeof named === 'string' && isUuid(named) ? named : null
}

const deepest = 8

/** The text at a dotted path, through own members only. Undefined if there is none. */
export function textAt(data: object, path: string): string | undefined {
  const names = path.split('.')
  if (names.length > deepest) return undefined
  const found = names.reduce<unknown>((value, name) => memberOf(value, name), data)
  return typeof found === 'string' && found !== '' ? found : undefined
}
