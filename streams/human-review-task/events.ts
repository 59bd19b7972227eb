import { Type, type Static } from 'typebox'
import { Recommendation } from '../assessment/events.ts'
import { opinionBounds } from '../human-review-policy/events.ts'
import { defineEvent, Phi, type EventOf } from '../../engine/store/schema.ts'
import { CausingRequest, Count, Id, Instant, Nullable, OrgId } from '../../engine/aggregates/types.ts'
import { CodedTerm, ReviewOrdinal } from '../types.ts'

export const HumanReviewTaskStatus = Type.Enum(['open', 'claimed', 'decided', 'cancelled'])

/** The selectors of a rule, as the API names them. */
export const SelectorName = Type.Enum([
  'always',
  'categories',
  'priority_at_most',
  'referral_flags',
  'image_qualities',
  'share',
])
export type SelectorName = Static<typeof SelectorName>

export const ReleaseReason = Type.Enum(['requested', 'lease_expired'])
export const TaskCancelReason = Type.Enum(['superseded', 'consent_withdrawn', 'subject_erased'])
export type TaskCancelReason = Static<typeof TaskCancelReason>

/** The diagnosis of the AI for a lesion. It has codes only: no PHI. */
export const ReviewedLesion = Type.Object({
  lesionNumber: Count,
  category: Nullable(Type.String()),
  icd10: CodedTerm,
  snomed: CodedTerm,
})
export type ReviewedLesion = Static<typeof ReviewedLesion>

export const LesionOutcome = Type.Enum(['confirm', 'correct', 'reject'])

const lesionOutcome = { lesionNumber: Count, outcome: LesionOutcome }
export const DecidedLesion = Type.Object(lesionOutcome)
const correction = { icd10: Nullable(CodedTerm), snomed: Nullable(CodedTerm), category: Nullable(Type.String()) }

/** Most characters of each of its five texts. */
export const correctionTextLimit = 255
/** What a clinician wrote about a corrected lesion. */
export const LesionCorrection = Type.Object({ lesionNumber: Count, ...correction })

/** What a clinician decided about a lesion. Codes and category only with `correct`, and none after an erasure. */
export const LesionDecision = Type.Object({ ...lesionOutcome, ...correction })
export type LesionDecision = Static<typeof LesionDecision>

export const humanReviewTaskEvents = {
  /** The policy in force selected a completed AI review. A later policy does not change the task. */
  HumanReviewTaskOpened: defineEvent(
    'HumanReviewTaskOpened',
    Type.Object({
      taskId: Id,
      organisationId: OrgId,
      aiReviewId: Id,
      reviewOrdinal: ReviewOrdinal,
      caseId: Id,
      patientId: Id,
      productId: Id,
      /** The assessment that has the case and the product of the review. Null if there was none. */
      assessmentId: Nullable(Id),
      selectedBy: Type.Array(SelectorName),
      opinionsRequired: Type.Integer(opinionBounds),
      providerVersion: Nullable(Type.String()),
      lesions: Type.Array(ReviewedLesion),
      openedAt: Instant,
    }),
  ),
  /** No rule of the policy in force selected the completed AI review. So nothing is due about it any more. */
  HumanReviewNotSelected: defineEvent(
    'HumanReviewNotSelected',
    Type.Object({ taskId: Id, aiReviewId: Id, checkedAt: Instant }),
  ),
  /** The case of the task got its assessment after the task. Also recorded after the end of the task. */
  HumanReviewAssessmentAssigned: defineEvent(
    'HumanReviewAssessmentAssigned',
    Type.Object({ taskId: Id, assessmentId: Id, assignedAt: Instant }),
  ),
  /** Also recorded when the holder extends the lease. */
  HumanReviewTaskClaimed: defineEvent(
    'HumanReviewTaskClaimed',
    Type.Object({ taskId: Id, userId: Id, leaseUntil: Instant, request: CausingRequest, claimedAt: Instant }),
  ),
  HumanReviewTaskReleased: defineEvent(
    'HumanReviewTaskReleased',
    Type.Object({ taskId: Id, userId: Id, reason: ReleaseReason, request: CausingRequest, releasedAt: Instant }),
  ),
  /** A request with a key to release a task that nobody holds. A repeat of it must not release a later claim. */
  HumanReviewReleaseUnneeded: defineEvent(
    'HumanReviewReleaseUnneeded',
    Type.Object({ taskId: Id, userId: Id, request: CausingRequest, decidedAt: Instant }),
  ),
  HumanReviewOpinionGiven: defineEvent(
    'HumanReviewOpinionGiven',
    Type.Object({
      taskId: Id,
      patientId: Id,
      number: Type.Integer({ minimum: 1, maximum: 3 }),
      userId: Id,
      lesions: Type.Array(DecidedLesion),
      /** What the clinician wrote about corrected lesions. Null without one. */
      corrections: Phi(Nullable(Type.Array(LesionCorrection))),
      recommendation: Recommendation,
      note: Phi(Nullable(Type.String())),
      /** 3 from the second opinion on, if it differs from the first one. */
      opinionsRequired: Type.Integer({ minimum: 1, maximum: 3 }),
      request: CausingRequest,
      givenAt: Instant,
    }),
    { subject: 'patientId' },
  ),
  /** In the same append as the last opinion. */
  HumanReviewTaskDecided: defineEvent(
    'HumanReviewTaskDecided',
    Type.Object({
      taskId: Id,
      opinion: Type.Integer({ minimum: 1, maximum: 3 }),
      agreesWithAi: Type.Boolean(),
      decidedAt: Instant,
    }),
  ),
  /** A refusal of consent was recorded with an earlier date, and a later decision overrides it. */
  HumanReviewConsentConfirmed: defineEvent(
    'HumanReviewConsentConfirmed',
    Type.Object({ taskId: Id, checkedAt: Instant }),
  ),
  HumanReviewTaskCancelled: defineEvent(
    'HumanReviewTaskCancelled',
    Type.Object({ taskId: Id, reason: TaskCancelReason, cancelledAt: Instant }),
  ),
} as const

export type HumanReviewTaskEvent = EventOf<typeof humanReviewTaskEvents>
