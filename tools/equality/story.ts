import { v5 } from 'uuid'
import { eventIdOf, type DomainEvent, type RecordedEvent } from '../../streams/store/events.ts'
import type { DeliveredEventType } from '../../streams/webhook-delivery/events.ts'
import type { WebhookEventType } from '../../streams/webhook-subscriptions/events.ts'
import type { SeededRandom } from '../node-checks/seeded-random.ts'
import { tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'

/** Events that were appended in one go; ids follow from the command, as the store makes them. */
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
  /** The patient's key is destroyed. */
  readonly isErased: boolean
  /** Whatever is said of the patient is null in the story already, since no codec stands between it and a reader. */
  readonly readsAsNull: boolean
  isRevoked: boolean
}

export interface ConsentType {
  readonly id: string
  readonly orgId: TenantId
  readonly code: string
  /** Only one that was never decided on can be deleted. */
  status: 'unused' | 'used' | 'deleted'
}

export interface Subscription {
  readonly id: string
  readonly orgId: TenantId
  eventTypes: readonly WebhookEventType[]
  status: 'active' | 'disabled' | 'deleted'
  /** Revision at which its endpoint became what it is. */
  endpointRevision: number
}

export interface Assessment {
  readonly id: string
  readonly patient: Patient
  readonly caseId: string
  readonly imageIds: readonly string[]
  status: 'awaiting' | 'submitted' | 'asked' | 'over'
}

/** Declared by itself. */
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

/** A completed review with lesions, told on the channel. */
export interface Analysis {
  readonly review: Review
  readonly lesionNumbers: readonly number[]
  isRecorded: boolean
  /** The review that took its place, once the channel told so. */
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

/** A request on the AI-review channel that no slot has taken. */
export interface OpenRequest {
  readonly eventId: string
  readonly orgId: TenantId
  readonly caseId: string
  readonly patient: Patient | undefined
  readonly imageIds: readonly string[]
}

const firstInstant = Date.parse('2026-03-01T10:00:00.000Z')

/** What has happened so far in several organisations, and who may say what next: acts append only what the platform could. */
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
  /** Cases that were opened since their reviews led to findings. */
  readonly casesOfReviews = new Set<string>()
  /** Withdrawals and denials on the channel, newest last: when they were published, of whom. */
  readonly refusals: { readonly patientId: string; readonly at: string }[] = []
  readonly organisations: readonly TenantId[]
  readonly #namespace: string
  #minted = 0
  #instant = firstInstant

  readonly #hasCodec: boolean

  /** With a codec, the facts of erased patients are told in full: it is the codec that makes them null. */
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

  /** A UUID that nothing else of the story has; now and then one in capitals, as callers write them. */
  id(random: SeededRandom): string {
    this.#minted += 1
    const id = v5(`id ${this.#minted}`, this.#namespace)
    return random.oneIn(6) ? id.toUpperCase() : id
  }

  /** RFC 3339; time stands still or goes on. */
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

/** The story as the log would show it: one append shares its commit position, and places between events are nobody's. */
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
      return { id: eventIdOf(commandId, index), stream, revision, position, recordedAt, type, data, metadata }
    }),
  )
}
