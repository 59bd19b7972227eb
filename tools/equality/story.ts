import { sealedData } from '../../test/support/given-projector.ts'
import { v5 } from 'uuid'
import { eventIdOf, type DomainEvent, type RecordedEvent } from '../../engine/store/events.ts'
import type { DeliveredEventType } from '../../streams/webhook-delivery/events.ts'
import type { WebhookEventType } from '../../streams/webhook-subscriptions/events.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import { tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'

/** The events of one append. Ids derive from the command, as in the store. */
export interface StoryAppend {
  readonly stream: string
  readonly orgId: TenantId
  readonly commandId: string
  readonly correlationId: string
  readonly events: readonly DomainEvent[]
}

export interface Patient {
  readonly id: string
  readonly orgId: TenantId
  /** The patient's key was destroyed. */
  readonly isErased: boolean
  /** Without a codec, the story itself contains null for the personal data of an erased patient. */
  readonly readsAsNull: boolean
  isRevoked: boolean
}

export interface ConsentType {
  readonly id: string
  readonly orgId: TenantId
  readonly code: string
  /** A consent type can be deleted only while no decision uses it. */
  status: 'unused' | 'used' | 'deleted'
}

export interface Subscription {
  readonly id: string
  readonly orgId: TenantId
  eventTypes: readonly WebhookEventType[]
  status: 'active' | 'disabled' | 'deleted'
  /** Revision of the last change of the endpoint. */
  endpointRevision: number
}

export interface Assessment {
  readonly id: string
  readonly patient: Patient
  readonly caseId: string
  readonly imageIds: readonly string[]
  status: 'awaiting' | 'submitted' | 'asked' | 'over'
  /** The review that ends it. Null if it ended without one. */
  aiReviewId: string | null
  /** The human review of that review: `recorded` if the assessment contains its opening, `followed` if it contains its end. */
  task: 'none' | 'open' | 'recorded' | 'followed'
}

/** An image that was declared on its own. */
export interface Image {
  readonly id: string
  readonly orgId: TenantId
  isReceived: boolean
}

export interface Review {
  readonly id: string
  readonly orgId: TenantId
  readonly caseId: string
  readonly productId: string
  readonly patient: Patient | undefined
  readonly imageIds: readonly string[]
  readonly requestEventId: string | null
  status: 'claimed' | 'open' | 'case' | 'awaiting' | 'over' | 'superseded'
  polls: number
}

/** A completed review with lesions, published on the channel. */
export interface Analysis {
  readonly review: Review
  readonly lesionNumbers: readonly number[]
  isRecorded: boolean
  /** The review that superseded it, once the channel published that. */
  supersededById: string | null
  areSuperseded: boolean
}

export interface Delivery {
  readonly id: string
  readonly orgId: TenantId
  readonly subscriptionId: string
  readonly eventId: string
  readonly eventType: DeliveredEventType
  /** Null for a test. */
  readonly assessmentId: string | null
  status: 'due' | 'over'
  attempts: number
  isScheduled: boolean
}

/** A request on the AI-review channel without a claimed review slot. */
export interface OpenRequest {
  readonly eventId: string
  readonly orgId: TenantId
  readonly caseId: string
  readonly patient: Patient | undefined
  readonly imageIds: readonly string[]
}

const firstInstant = Date.parse('2026-03-01T10:00:00.000Z')

/** The state of several organisations after all acts so far. Acts append only events that the platform could append. */
export class Story {
  readonly appends: StoryAppend[] = []
  readonly patients: Patient[] = []
  readonly consentTypes: ConsentType[] = []
  readonly subscriptions: Subscription[] = []
  readonly assessments: Assessment[] = []
  readonly images: Image[] = []
  readonly requests: OpenRequest[] = []
  readonly reviews: Review[] = []
  readonly deliveries: Delivery[] = []
  readonly analyses: Analysis[] = []
  /** Ids of the tasks of human review, each with its review. No rule may have selected it. */
  readonly tasks = new Map<string, Review>()
  /** Cases that were opened because their reviews led to findings. */
  readonly casesOfReviews = new Set<string>()
  /** Withdrawals and denials on the channel, newest last, with publication time and patient. */
  readonly refusals: { readonly patientId: string; readonly at: string }[] = []
  readonly organisations: readonly TenantId[]
  readonly #namespace: string
  #minted = 0
  #instant = firstInstant

  readonly #hasCodec: boolean

  /** With a codec, the story contains the full facts of erased patients, and the codec turns them into null. */
  constructor(namespace: string, { hasCodec = false }: { readonly hasCodec?: boolean } = {}) {
    this.#namespace = namespace
    this.#hasCodec = hasCodec
    this.organisations = ['a', 'b', 'c'].map((name) => tenantOfFact(v5(`organisation ${name}`, namespace)))
  }

  newPatient(random: SeededRandom): Patient {
    const isErased = random.oneIn(4)
    const patient = {
      id: this.id(random),
      orgId: random.pick(this.organisations),
      isErased,
      readsAsNull: isErased && !this.#hasCodec,
      isRevoked: false,
    }
    this.patients.push(patient)
    return patient
  }

  /** A new UUID of the story. Some have capital letters, as callers send them. */
  id(random: SeededRandom): string {
    this.#minted += 1
    const id = v5(`id ${this.#minted}`, this.#namespace)
    return random.oneIn(6) ? id.toUpperCase() : id
  }

  /** An RFC 3339 instant. Time stands still or advances. */
  instant(random: SeededRandom): string {
    this.#instant += random.below(4_000)
    return new Date(this.#instant).toISOString()
  }

  /** Returns the ids of the events. */
  append(orgId: TenantId, stream: string, ...events: DomainEvent[]): string[] {
    const commandId = v5(`command ${this.appends.length}`, this.#namespace)
    const correlationId = v5(`correlation ${this.appends.length >> 2}`, this.#namespace)
    this.appends.push({ stream, orgId, commandId, correlationId, events })
    return events.map((_, index) => eventIdOf(commandId, index))
  }
}

/**
 * The story as the log would contain it. Events of one append share the commit position, and positions between events
 * belong to no event.
 */
export function recordedLog(appends: readonly StoryAppend[]): RecordedEvent[] {
  const revisions = new Map<string, bigint>()
  return appends.flatMap(({ stream, orgId, commandId, correlationId, events }, place) =>
    events.map(({ type, data }, index): RecordedEvent => {
      const revision = (revisions.get(stream) ?? -1n) + 1n
      revisions.set(stream, revision)
      const commit = BigInt(place + 1) * 1_000n
      const position = { commit, prepare: commit - BigInt((events.length - index) * 10) }
      const metadata = { commandId, $correlationId: correlationId, orgId, schemaVersion: 1, signature: '' }
      const recordedAt = new Date(firstInstant + place * 1_000).toISOString()
      const sealed = sealedData(stream, { type, data })
      return { id: eventIdOf(commandId, index), stream, revision, position, recordedAt, type, data, sealed, metadata }
    }),
  )
}
