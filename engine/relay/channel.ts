import type { ChannelStream, envelope } from '../aggregates/channel-stream.ts'
import { exists, loadSufficient, type Existing } from '../commands/execute.ts'
import type { CategoryDefinition } from '../store/catalogue.ts'
import type { EventStore } from '../store/event-store.ts'
import type { DomainEvent, RecordedEvent } from '../store/events.ts'
import type { EventOf } from '../store/schema.ts'

/** An event of a channel, before the relay adds the envelope. No PHI. */
export interface ChannelOutput {
  /** Public type, `ai_review.completed`; becomes the stored event type. */
  readonly type: string
  /** The specification's payload, flat. */
  readonly data: object
  /**
   * The instant of the domain event, by our clock. The clock of the event store may be ahead of ours, so no due time may
   * use the instant of storage.
   */
  readonly occurredAt: string
  /** Version of the payload, as the channel's stream declares it. */
  readonly schemaVersion: number
  /** Number of public events between the first cause and this event. Default 0. */
  readonly hop?: number
}

/** Makes the public events of one domain event, in order. There may be none. An error is retried, never skipped. */
type Translation<Deps> = (event: RecordedEvent, deps: Deps) => Translated
type Translated = readonly ChannelOutput[] | Promise<readonly ChannelOutput[]>

/** A public channel, as `defineChannel` makes it. */
export interface Channel<Deps> {
  /** Exactly `<domain>.events`. */
  readonly stream: string
  /** Stream prefixes of its source categories, `ai_review-`. */
  readonly sources: readonly string[]
  /** The member for the organisation, which the relay adds to the payload. */
  readonly organisationMember: string | null
  /** By domain event type. */
  readonly translate: Readonly<Record<string, Translation<Deps>>>
}

type Definitions = CategoryDefinition['events']

/** A recorded event of a union. `type` decides the type of its data. */
export type Recorded<Event extends DomainEvent> = Event extends DomainEvent ? RecordedEvent<Event> : never

/** An aggregate of any state. Declared with methods, so that each one fits without a cast. */
interface AnyAggregate extends CategoryDefinition {
  readonly initialState: object
  at(stream: string): AnyTarget
}
interface AnyTarget {
  readonly stream: string
  readonly fold: {
    readonly category: string
    readonly initialState: object
    readonly wholeState?: string
    evolve(state: object, event: DomainEvent): object
  }
}

type EventsOf<Source extends AnyAggregate> = Source extends AnyAggregate ? EventOf<Source['events']> : never

/** The state of the records whose streams have events of this type. */
type StateWith<Source extends AnyAggregate, Type extends string> = Source extends AnyAggregate
  ? Type extends EventOf<Source['events']>['type']
    ? Existing<Source['initialState']>
    : never
  : never

/**
 * Loads the state of the record in whose stream the event is. Cached state serves if `suffices` accepts it, so a translation
 * takes from it only facts that never change afterwards. Without a condition that is any state after the first event.
 */
interface LoadState<State> {
  <Needed extends State>(suffices: (state: State) => state is Needed): Promise<Needed>
  (suffices?: (state: State) => boolean): Promise<State>
}

/** Of the states that translations load. */
export interface StateStore {
  readonly store: Pick<EventStore, 'load' | 'presume'>
}

/** The payload of the specification, without what the relay adds: the envelope and the organisation. */
type PayloadOf<Data, OrganisationMember extends string | null> = Data extends unknown
  ? Omit<Data, keyof typeof envelope | NonNullable<OrganisationMember>>
  : never

/** Makes an event of the channel. `occurredAt` is the instant of the domain event. */
type Publish<Event extends DomainEvent, OrganisationMember extends string | null> = <Type extends Event['type']>(
  type: Type,
  occurredAt: string,
  payload: PayloadOf<Extract<Event, { type: Type }>['data'], OrganisationMember>,
) => ChannelOutput

interface Definition<Source extends AnyAggregate, Events extends Definitions, Member extends string | null, Deps> {
  readonly stream: ChannelStream<Events, Member>
  /** The aggregates whose events the channel publishes. */
  readonly sources: readonly Source[]
  readonly translate: {
    readonly [Type in EventsOf<Source>['type']]?: (
      event: RecordedEvent<Extract<EventsOf<Source>, { type: Type }>>,
      publish: Publish<EventOf<Events>, Member>,
      state: LoadState<StateWith<Source, Type>>,
      deps: Deps,
    ) => Translated
  }
}

/** Declared as a method, so the translation of one event type needs no cast. */
type AnyTranslation<Events extends Definitions, Member extends string | null, Deps> = {
  translate(
    event: RecordedEvent,
    publish: Publish<EventOf<Events>, Member>,
    state: (suffices?: (state: object) => boolean) => Promise<object>,
    deps: Deps,
  ): Translated
}['translate']

/** The translation of source events into events of the channel. */
export function defineChannel<
  Source extends AnyAggregate,
  Events extends Definitions,
  Member extends string | null,
  Deps,
>({ stream, sources, translate }: Definition<Source, Events, Member, Deps>): Channel<Deps & StateStore> {
  const { name, organisationMember } = stream
  const versions = new Map(Object.values(stream.events).map(({ type, version }) => [type, version]))
  const publish = (type: string, occurredAt: string, data: object): ChannelOutput => {
    const schemaVersion = versions.get(type)
    if (schemaVersion === undefined) throw new TypeError(`${name} declares no event ${type}`)
    return { type, occurredAt, schemaVersion, data }
  }
  const translations: Record<string, Translation<Deps & StateStore>> = {}
  for (const [type, translation] of Object.entries<AnyTranslation<Events, Member, Deps> | undefined>(translate)) {
    const source = sources.find(({ events }) => type in events)
    if (translation === undefined || source === undefined) continue
    translations[type] = (event, deps) =>
      translation(event, publish, (suffices) => stateAt(deps.store, source.at(event.stream), suffices), deps)
  }
  const prefixes = sources.map(({ category }) => `${category}-`)
  return { stream: name, sources: prefixes, organisationMember, translate: translations }
}

async function stateAt(
  store: StateStore['store'],
  target: AnyTarget,
  suffices: (state: object) => boolean = () => true,
): Promise<object> {
  const isUsable = (state: object) => exists(state) && suffices(state)
  const state = await loadSufficient(store, target, isUsable)
  if (!isUsable(state)) throw new Error(`an event of ${target.fold.category} lacks the events before it`)
  return state
}

/** The event that a to-do row stands for. Rows contain its place on the channel, so payloads stay out of the list. */
export async function readChannelEvent<Events extends Definitions, Type extends EventOf<Events>['type']>(
  store: Pick<EventStore, 'readAt'>,
  { name }: ChannelStream<Events, string | null>,
  revision: string,
  types: readonly Type[],
): Promise<Recorded<Extract<EventOf<Events>, { type: Type }>>> {
  const event = await store.readAt<EventOf<Events>>(name, BigInt(revision))
  if (event !== undefined && isOf(event, types)) return event
  throw new Error(`${name} has no event ${revision} of type ${types.join(' or ')}`)
}

/** Whether an event is of one of these types. The store has checked its data by its type. */
export function isOf<Event extends DomainEvent, Type extends string>(
  event: RecordedEvent<Event>,
  types: readonly Type[],
): event is Recorded<Extract<Event, { type: Type }>> {
  return types.some((type) => type === event.type)
}
