import { Type, type TProperties } from 'typebox'
import type { CategoryDefinition } from '../store/catalogue.ts'
import { Id, Instant, Nullable } from './types.ts'

/**
 * The additive members of every public event, next to its payload. `event_id` is the id of the stored event. Consumers
 * de-duplicate by it and ignore unknown members.
 */
export const envelope = {
  event_id: Id,
  event_type: Type.String(),
  occurred_at: Instant,
  schema_version: Type.Integer({ minimum: 1 }),
  causation_id: Nullable(Type.String()),
  correlation_id: Nullable(Type.String()),
  hop: Type.Integer({ minimum: 0 }),
} satisfies TProperties

/** A public event's data: the flat payload of the specification, and the envelope. */
export function publicData<Payload extends TProperties>(payload: Payload) {
  return Type.Object({ ...payload, ...envelope })
}

type Definitions = CategoryDefinition['events']

/** The stream of a public channel and its events. It is its own entry in the catalogue. */
export interface ChannelStream<
  Events extends Definitions,
  OrganisationMember extends string | null,
> extends CategoryDefinition {
  /** Exactly `<domain>.events`. */
  readonly name: string
  readonly events: Events
  /** The member of each payload for the organisation, which the relay adds. Null: the translation names organisations. */
  readonly organisationMember: OrganisationMember
}

export function defineChannelStream<Events extends Definitions, OrganisationMember extends 'org_id' | 'orgId' | null>(
  definition: Omit<ChannelStream<Events, OrganisationMember>, 'category'>,
): ChannelStream<Events, OrganisationMember> {
  return { ...definition, category: definition.name }
}
