import { tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'
import type { CategoryDefinition } from '../store/catalogue.ts'
import type { Fold, Target } from '../store/events.ts'
import type { EventDefinition, EventOf } from '../store/schema.ts'

type Definitions = Readonly<Record<string, EventDefinition>>

interface Definition<State, Events extends Definitions, Key extends readonly string[]> {
  /** First part of the stream name. It contains no hyphen, so that `<category>-` is an exact prefix filter. */
  readonly category: string
  /** Rest of the stream name: `idOfOrganisation` for records of an organisation. */
  readonly id: (...key: Key) => string
  readonly events: Events
  readonly initialState: NoInfer<State>
  /** Pure. */
  readonly evolve: (state: State, event: EventOf<Events>) => State
  /** The type of event that contains the whole state, if there is one: see `Fold`. */
  readonly wholeState?: keyof Events & string
}

/** An aggregate: its streams, its events and the state that follows from them. It is also its entry in the catalogue. */
export interface Aggregate<State, Events extends Definitions, Key extends readonly string[]>
  extends CategoryDefinition, Fold<State, EventOf<Events>> {
  readonly events: Events
  /** The stream of one record, to be loaded, decided on or appended to. */
  of(...key: Key): Target<State, EventOf<Events>>
  /** The stream with this name. Throws if it belongs to another category. */
  at(stream: string): Target<State, EventOf<Events>>
}

export function defineAggregate<State, Events extends Definitions, Key extends readonly string[]>({
  id,
  ...definition
}: Definition<State, Events, Key>): Aggregate<State, Events, Key> {
  const prefix = `${definition.category}-`
  const aggregate: Aggregate<State, Events, Key> = {
    ...definition,
    of: (...key) => ({ fold: aggregate, stream: prefix + id(...key) }),
    at(stream) {
      if (!stream.startsWith(prefix)) throw new TypeError(`not a stream of ${definition.category}`)
      return { fold: aggregate, stream }
    },
  }
  return aggregate
}

/**
 * `<orgId>-<id>`. The stream name contains the organisation: a record of another organisation is a stream that does not
 * exist.
 */
export function idOfOrganisation(orgId: TenantId, id: string): string {
  return `${orgId}-${id}`
}

const uuidLength = 36

/** Whether an organisation owns the stream of an aggregate. */
export function isOwnedStream(stream: string): boolean {
  const hyphen = stream.indexOf('-')
  return hyphen > 0 && stream.length > hyphen + 2 + uuidLength
}

/** The parts of `<category>-<orgId>-<id>`. Throws on any other name. */
export function parseOwnedStream(stream: string): {
  category: string
  orgId: TenantId
  id: string
} {
  const hyphen = stream.indexOf('-')
  const category = stream.slice(0, hyphen)
  const orgId = tenantOfFact(stream.slice(hyphen + 1, hyphen + 1 + uuidLength))
  const id = stream.slice(hyphen + 2 + uuidLength)
  if (hyphen < 1 || orgId.length !== uuidLength || id === '') throw new Error(`not an owned stream: ${category}`)
  return { category, orgId, id }
}
