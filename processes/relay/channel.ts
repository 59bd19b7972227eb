import type { RecordedEvent } from '../../streams/store/events.ts'

/** What a channel publishes, before the runtime adds the envelope. No PHI. */
export interface PublicEvent {
  /** Public type, `ai_review.completed`; becomes the stored event type. */
  readonly type: string
  /** The specification's payload, flat. */
  readonly data: Readonly<Record<string, unknown>>
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
export type Translation<Deps> = {
  translate(event: RecordedEvent, deps: Deps): readonly PublicEvent[] | Promise<readonly PublicEvent[]>
}['translate']

/** One public channel and what it is made from. */
export interface ChannelDefinition<Deps> {
  /** Exactly `<domain>.events`. */
  readonly stream: string
  /** Stream prefixes of the categories that it draws on, `ai_review-`. */
  readonly sources: readonly string[]
  /** How the payload names the organisation: `org_id` or `orgId`. Added unless the payload has it. */
  readonly organisationMember: 'org_id' | 'orgId'
  /** By domain event type. */
  readonly translate: Readonly<Record<string, Translation<Deps>>>
}
