import type { RecordedEvent } from '../../streams/store/events.ts'
import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import type { AiReviewSlotEvent } from '../../streams/ai-review-slot/events.ts'
import type { AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import type { ConsentChannelEvent } from '../../streams/channels/consent.ts'
import { parseOwnedStream } from '../../streams/aggregate.ts'
import {
  defineProjector,
  defineTable,
  insert,
  insertSelect,
  patch,
  remove,
  removeWhere,
  type RowChange,
} from '../../projections/runtime/projector.ts'
import { todoTable } from '../runtime/process.ts'
import { causeOf, type CausedPayload } from '../runtime/step-identity.ts'

/** The consent that an analysis needs (specification 4.4). */
export const requiredConsentCode = 'ai_analysis'

/**
 * Whoever claims a slot opens its review in the same step; only where that is cut off somebody else has to, so many milliseconds
 * after the instant that the claim names. For a request that waited longer that is at once: opening twice is opening once.
 */
const openGraceMs = 2_000

/** The reviews that have not ended, by patient: those that a withdrawn consent concerns (T24). */
const openReviews = defineTable({
  name: 'open_reviews',
  columns: { ai_review_id: 'text', org_id: 'text', patient_id: { type: 'text', nullable: true } },
  primaryKey: ['ai_review_id'],
  indexes: [{ columns: ['org_id', 'patient_id'] }],
})

export interface ClaimPayload extends CausedPayload {
  readonly channelRevision: string
}

export interface OpenPayload extends CausedPayload {
  readonly caseId: string
  readonly productId: string
}

/**
 * What a review still needs. `claim` is keyed by the request event, everything else by the review: its first event
 * (`open`), its start job (`start`), its next poll (`poll`), its end after a withdrawn consent (`withdraw`).
 */
export const aiReviewToDo = defineProjector<
  AiReviewChannelEvent | ConsentChannelEvent | AiReviewSlotEvent | AiReviewEvent
>()({
  name: 'ai_review_todo',
  version: 3,
  // A withdrawn consent that is passed over would leave a review at work.
  decisive: true,
  tables: [todoTable, openReviews],
  handlers: {
    'ai_review.requested': (event) => {
      const { data, id, revision } = event
      const payload: ClaimPayload = { cause: causeOf(event), channelRevision: revision.toString() }
      return [insert(todoTable, { key: id, step: 'claim', org_id: data.orgId, due_at: data.occurred_at, payload })]
    },
    AiReviewRequestAnswered: ({ data }) => [remove(todoTable, { key: data.requestEventId, step: 'claim' })],
    AiReviewSlotClaimed: (event) => {
      const { data } = event
      const payload: OpenPayload = { cause: causeOf(event), caseId: data.caseId, productId: data.productId }
      const due_at = new Date(Date.parse(data.claimedAt) + openGraceMs).toISOString()
      return [
        ...(data.requestEventId === null ? [] : [remove(todoTable, { key: data.requestEventId, step: 'claim' })]),
        insert(todoTable, { key: data.aiReviewId, step: 'open', org_id: data.orgId, due_at, payload }),
      ]
    },
    AiReviewRequested: (event) => {
      const { data } = event
      const payload: CausedPayload = { cause: causeOf(event) }
      return [
        remove(todoTable, { key: data.aiReviewId, step: 'open' }),
        insert(openReviews, { ai_review_id: data.aiReviewId, org_id: data.orgId, patient_id: data.patientId }),
        insert(todoTable, {
          key: data.aiReviewId,
          step: 'start',
          org_id: data.orgId,
          due_at: data.requestedAt,
          payload,
        }),
      ]
    },
    AiReviewStarted: ({ data }) => [
      patch(openReviews, { ai_review_id: data.aiReviewId }, { patient_id: data.patientId }),
    ],
    // The next call of the start job is due at once.
    AiReviewProviderCaseCreated: ({ data }) => [
      patch(todoTable, { key: data.aiReviewId, step: 'start' }, { due_at: data.createdAt }),
    ],
    AiReviewImageSent: ({ data }) => [
      patch(todoTable, { key: data.aiReviewId, step: 'start' }, { due_at: data.sentAt }),
    ],
    AiReviewStartDeferred: ({ data }) => [
      patch(todoTable, { key: data.aiReviewId, step: 'start' }, { due_at: data.retryAt }),
    ],
    AiReviewProcessingAccepted: (event) => {
      const { data, stream } = event
      const payload: CausedPayload = { cause: causeOf(event) }
      const org_id = parseOwnedStream(stream).orgId
      return [
        remove(todoTable, { key: data.aiReviewId, step: 'start' }),
        insert(todoTable, { key: data.aiReviewId, step: 'poll', org_id, due_at: data.nextPollAt, payload }),
      ]
    },
    AiReviewPollDeferred: ({ data }) => [
      patch(todoTable, { key: data.aiReviewId, step: 'poll' }, { due_at: data.nextPollAt }),
    ],
    AiReviewCallPostponed: ({ data }) => [
      patch(
        todoTable,
        { key: data.aiReviewId, step: data.call === 'result' ? 'poll' : 'start' },
        { due_at: data.retryAt },
      ),
    ],
    'consent.withdrawn': consentRefused,
    'consent.denied': consentRefused,
    // A decision that came after the one that was looked at has its own instant here, and is still to be looked at.
    AiReviewConsentConfirmed: ({ data }) => [
      removeWhere(todoTable, { key: data.aiReviewId, step: 'withdraw', due_at: data.checkedAt }),
    ],
    AiReviewCompleted: ({ data }) => ended(data.aiReviewId),
    AiReviewFailed: ({ data }) => ended(data.aiReviewId),
    AiReviewCancelled: ({ data }) => ended(data.aiReviewId),
    AiReviewSuperseded: ({ data }) => ended(data.aiReviewId),
  },
})

function ended(aiReviewId: string): RowChange[] {
  return [removeWhere(todoTable, { key: aiReviewId }), remove(openReviews, { ai_review_id: aiReviewId })]
}

function consentRefused(
  event: Pick<RecordedEvent, 'id' | 'metadata'> & { readonly data: ConsentChannelEvent['data'] },
): RowChange[] {
  const { data } = event
  const payload: CausedPayload = { cause: causeOf(event) }
  if (data.consent_type_code !== requiredConsentCode) return []
  return [
    // Denied and then withdrawn, or withdrawn twice, before the first is worked off: one withdrawal is due, the latest.
    insertSelect(todoTable, {
      from: openReviews,
      where: { org_id: data.org_id, patient_id: data.patient_id },
      existing: 'replace',
      columns: {
        key: { column: 'ai_review_id' },
        step: { value: 'withdraw' },
        org_id: { column: 'org_id' },
        due_at: { value: data.occurred_at },
        payload: { value: payload },
      },
    }),
  ]
}
