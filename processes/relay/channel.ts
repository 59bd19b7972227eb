import type { ChannelStream, envelope } from '../../streams/channels/channel.ts'
import type { CategoryDefinition } from '../../streams/store/catalogue.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import type { DomainEvent, RecordedEvent } from '../../streams/store/events.ts'
import type { EventOf } from '../../streams/store/schema.ts'

/** What a channel publishes, before the relay adds the envelope. No PHI. */
export interface PublicEvent {
  /** Public type, `ai_review.completed`; becomes the stored event type. */
  readonly type: string
  /** The specification's payload, flat. */
  readonly data: object
  /**
   * When it occurred, by the clock that times are compared with here: the domain event's own instant. Else when it was stored, by
   * the event store's clock, which may be ahead of ours; nothing may be due by that.
   */
  readonly occurredAt?: string
  /** Version of the payload; 1 unless said. */
  readonly schemaVersion?: number
  /** How many public events stand between this one and the first cause; 0 unless said. */
  readonly hop?: number
}

/** Makes the public events of one domain event, in order; none is fine. A throw is retried, never skipped. */
export type Translation<Deps> = (event: RecordedEvent, deps: Deps) => Translated
type Translated = readonly PublicEvent[] | Promise<readonly PublicEvent[]>

/** A public channel as its relay runs it; `defineChannel` makes it. */
export interface Channel<Deps> {
  /** Exactly `<domain>.events`. */
  readonly stream: string
  /** Stream prefixes of the categories that it draws on, `ai_review-`. */
  readonly sources: readonly string[]
  /** How the payload names the organisation, which the relay adds. */
  readonly organisationMember: string | null
  /** By domain event type. */
  readonly translate: Readonly<Record<string, Translation<Deps>>>
}

type Definitions = CategoryDefinition['events']

/** A recorded event of a union, whose `type` tells its data. */
export type Recorded<Event extends DomainEvent> = Event extends DomainEvent ? RecordedEvent<Event> : never

type EventsOf<Source extends CategoryDefinition> = Source extends CategoryDefinition ? EventOf<Source['events']> : never

/** The payload of the specification, without what the relay adds: the envelope and the organisation. */
type PayloadOf<Data, OrganisationMember extends string | null> = Data extends unknown
  ? Omit<Data, keyof typeof envelope | NonNullable<OrganisationMember>>
  : never

/** Makes an event of the channel. `occurredAt` is the instant of the domain event. */
type Publish<Event extends DomainEvent, OrganisationMember extends string | null> = <Type extends Event['type']>(
  type: Type,
  occurredAt: string,
  payload: PayloadOf<Extract<Event, { type: Type }>['data'], OrganisationMember>,
) => PublicEvent

interface Definition<
  Source extends CategoryDefinition,
  Events extends Definitions,
  Member extends string | null,
  Deps,
> {
  readonly stream: ChannelStream<Events, Member>
  /** Aggregates whose events it publishes. */
  readonly sources: readonly Source[]
  readonly translate: {
    readonly [Type in EventsOf<Source>['type']]?: (
      event: RecordedEvent<Extract<EventsOf<Source>, { type: Type }>>,
      publish: Publish<EventOf<Events>, Member>,
      deps: Deps,
    ) => Translated
  }
}

/** Declared as a method so that the translation of one event type is a translation of the table without a cast. */
type AnyTranslation<Events extends Definitions, Member extends string | null, Deps> = {
  translate(event: RecordedEvent, publish: Publish<EventOf<Events>, Member>, deps: Deps): Translated
}['translate']

/** Which events of its sources a channel publishes, and as what. */
export function defineChannel<
  Source extends CategoryDefinition,
  Events extends Definitions,
  Member extends string | null,
  Deps,
>({ stream, sources, translate }: Definition<Source, Events, Member, Deps>): Channel<Deps> {
  const { name, organisationMember } = stream
  const translations: Record<string, Translation<Deps>> = {}
  for (const [type, translation] of Object.entries<AnyTranslation<Events, Member, Deps> | undefined>(translate))
    if (translation !== undefined) translations[type] = (event, deps) => translation(event, publicEvent, deps)
  const prefixes = sources.map(({ category }) => `${category}-`)
  return { stream: name, sources: prefixes, organisationMember, translate: translations }
}

function publicEvent(type: string, occurredAt: string, data: object): PublicEvent {
  return { type, occurredAt, data }
}

/** The event that a to-do row stands for. Rows contain its place on the channel, so payloads stay out of the list. */
export async function readChannelEvent<Events extends Definitions, Type extends EventOf<Events>['type']>(
  store: Pick<EventStore, 'readStream'>,
  { name }: ChannelStream<Events, string | null>,
  revision: string,
  types: readonly Type[],
): Promise<Recorded<Extract<EventOf<Events>, { type: Type }>>> {
  const place = BigInt(revision)
  for await (const event of store.readStream<EventOf<Events>>(name, { from: place, limit: 1 })) {
    if (event.revision === place && isOf(event, types)) return event
  }
  throw new Error(`${name} has no event ${revision} of type ${types.join(' or ')}`)
}

/** Whether an event is of one of these types. The store has checked its data by its type. */
export function isOf<Event extends DomainEvent, Type extends string>(
  event: RecordedEvent<Event>,
  types: readonly Type[],
): event is Recorded<Extract<Event, { type: Type }>> {
  return types.some((type) => type === event.type)
}
