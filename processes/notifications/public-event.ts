import type { Static } from 'typebox'
import { publicData } from '../../engine/aggregates/channel-stream.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { channelStreams } from '../../streams/channels/channel-streams.ts'
import type { ForeignEvent } from '../../streams/foreign-event/events.ts'
import type { DomainEvent, RecordedEvent } from '../../engine/store/events.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { isInt32, memberOf } from '../../platform/outbound/outside-answers.ts'
import { organisationsOf, type NamedOrganisations } from './matches.ts'

/** An event of any channel: its envelope, and the payload that differs from type to type. */
export interface PublicEvent {
  readonly type: string
  readonly data: Static<typeof Envelope> & Readonly<Record<string, unknown>>
}
const Envelope = publicData({})

interface Place {
  readonly channelStream: string
  readonly channelRevision: string
}

/** A channel of the platform. Its events contain no personal health information; those of others may. */
function isOwnChannel(stream: string): boolean {
  return channelStreams.some(({ name }) => name === stream)
}

/** The event at its place on its channel. Undefined if an operator has dropped it, also where later ones are left. */
export async function readPublicEvent(
  store: Pick<EventStore, 'readStream'>,
  { channelStream, channelRevision }: Place,
  eventId: string,
): Promise<RecordedEvent<PublicEvent> | undefined> {
  const from = BigInt(channelRevision)
  const stored = isOwnChannel(channelStream)
    ? await eventAt<PublicEvent>(store, channelStream, from)
    : publicForm(await eventAt<ForeignReceived>(store, channelStream, from))
  return stored?.id === eventId ? stored : undefined
}

type ForeignReceived = Extract<ForeignEvent, { type: 'ForeignEventReceived' }>

async function eventAt<Event extends DomainEvent>(
  store: Pick<EventStore, 'readStream'>,
  stream: string,
  from: bigint,
): Promise<RecordedEvent<Event> | undefined> {
  // Backwards a hidden event is skipped, and its id is not that of an older one.
  for await (const event of store.readStream<Event>(stream, { from, direction: 'backwards', limit: 1 })) return event
  return undefined
}

/** A foreign event needs no envelope. Undefined if its data was erased. */
function publicForm(event: RecordedEvent<ForeignReceived> | undefined): RecordedEvent<PublicEvent> | undefined {
  if (event === undefined) return undefined
  const { data: text, eventId, eventType, receivedAt } = event.data
  const data: unknown = text === null ? undefined : JSON.parse(text)
  if (typeof data !== 'object' || data === null) return undefined
  const hop = memberOf(data, 'hop')
  const envelope = {
    event_id: eventId,
    event_type: eventType,
    occurred_at: receivedAt,
    schema_version: 1,
    causation_id: null,
    correlation_id: null,
    hop: isInt32(hop) && hop > 0 ? hop : 0,
  }
  return { ...event, type: eventType, data: { ...data, ...envelope } }
}

/**
 * The variables of a template: the members of the payload. Addresses of images are credentials. As in the feed, an event of
 * several organisations names only the one whose message it is. Other services may name them in several members.
 */
export function variablesOf(
  { data: { images: _, ...members } }: Pick<RecordedEvent<PublicEvent>, 'data'>,
  orgId: TenantId,
): string {
  const named: NamedOrganisations = Object(members)
  if (organisationsOf(named).length < 2) return JSON.stringify(members)
  const own = { org_id: orgId, orgId, organisationId: orgId, organisationIds: [orgId] }
  const narrowed = Object.entries(own).filter(([name]) => Object.hasOwn(members, name))
  return JSON.stringify({ ...members, ...Object.fromEntries(narrowed) })
}

/**
 * Whether an event of another service names a patient, in any member: the platform does not know its schema. The
 * variables may then contain personal health information, even if the template has no `phi`.
 */
export function isAboutPatient({ stream, data }: RecordedEvent<PublicEvent>): boolean {
  return !isOwnChannel(stream) && namesPatient(data)
}

const patientMember = /^patients?[_-]?(ids?)?$/i

/** Without recursion, level by level. Foreign events are limited in size and depth. */
function namesPatient(data: object): boolean {
  let level: readonly unknown[] = [data]
  while (level.length > 0) {
    const members = level.flatMap((value) => Object.entries(value ?? {}))
    if (members.some(([name, value]) => value !== null && patientMember.test(name))) return true
    level = members.map(([, value]) => value).filter((value) => typeof value === 'object')
  }
  return false
}

const deepest = 8

/** The text at a dotted path, through own members only. Undefined if there is none. */
export function textAt(data: object, path: string): string | undefined {
  const names = path.split('.')
  if (names.length > deepest) return undefined
  const found = names.reduce<unknown>((value, name) => memberOf(value, name), data)
  return typeof found === 'string' && found !== '' ? found : undefined
}
