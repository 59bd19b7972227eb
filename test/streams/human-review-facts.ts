import type { HumanReviewChannelEvent } from '../../streams/channels/human-review.ts'
import { humanReviewTaskId, humanReviewTasks } from '../../streams/human-review-task/aggregate.ts'
import type { HumanReviewTaskEvent, LesionDecision } from '../../streams/human-review-task/events.ts'
import type { HumanReviewPolicyEvent, PolicyRule } from '../../streams/human-review-policy/events.ts'
import { envelope } from './channel-facts.ts'
import { at, factsOf, hash, ids } from './facts.ts'

export const taskId = humanReviewTaskId(ids.review)
export const clinicians = {
  ada: '00000000-0000-4000-8000-000000000081',
  bob: '00000000-0000-4000-8000-000000000082',
  eve: '00000000-0000-4000-8000-000000000083',
}

/** A rule without selectors, with the relevant members changed. */
export function rule(changes: Partial<PolicyRule> = {}): PolicyRule {
  return {
    always: null,
    categories: null,
    priorityAtMost: null,
    referralFlags: null,
    imageQualities: null,
    share: null,
    opinions: 1,
    ...changes,
  }
}

export const policyFact = factsOf<HumanReviewPolicyEvent>({
  HumanReviewPolicySet: {
    organisationId: ids.org,
    rules: [
      rule({ categories: ['MALIGNANT'], priorityAtMost: 2, imageQualities: ['IMAGE_QUALITY_SUITABLE'], share: 0.5 }),
    ],
    leaseSeconds: 900,
    updatedBy: clinicians.eve,
    updatedAt: at(0),
  },
})

/** The members of an opinion with these decisions. */
export function opinionOn(...decisions: readonly LesionDecision[]) {
  const corrections = decisions.flatMap(({ outcome, ...correction }) => (outcome === 'correct' ? [correction] : []))
  return {
    lesions: decisions.map(({ lesionNumber, outcome }) => ({ lesionNumber, outcome })),
    corrections: corrections.length === 0 ? null : corrections,
  }
}

const request = { key: hash('a'), fingerprint: hash('b') }
const icd10 = { code: 'C43.9', term: 'Malignant melanoma of skin, unspecified' }
const snomed = { code: '372244006', term: 'Malignant melanoma' }

export const taskFact = factsOf<HumanReviewTaskEvent>({
  HumanReviewTaskOpened: {
    taskId,
    organisationId: ids.org,
    aiReviewId: ids.review,
    reviewOrdinal: 4,
    caseId: ids.case,
    patientId: ids.patient,
    productId: ids.product,
    assessmentId: ids.assessment,
    selectedBy: ['categories', 'share'],
    opinionsRequired: 1,
    providerVersion: '5.2.1',
    lesions: [
      { lesionNumber: 1, category: 'MALIGNANT', icd10, snomed },
      { lesionNumber: 2, category: 'BENIGN', icd10: { code: null, term: null }, snomed: { code: null, term: null } },
    ],
    openedAt: at(60),
  },
  HumanReviewNotSelected: { taskId, aiReviewId: ids.review, checkedAt: at(60) },
  HumanReviewAssessmentAssigned: { taskId, assessmentId: ids.assessment, assignedAt: at(62) },
  HumanReviewConsentConfirmed: { taskId, checkedAt: at(65) },
  HumanReviewTaskClaimed: { taskId, userId: clinicians.ada, leaseUntil: at(970), request: null, claimedAt: at(70) },
  HumanReviewTaskReleased: {
    taskId,
    userId: clinicians.ada,
    reason: 'requested',
    request: null,
    releasedAt: at(80),
  },
  HumanReviewReleaseUnneeded: { taskId, userId: clinicians.ada, request, decidedAt: at(80) },
  HumanReviewOpinionGiven: {
    taskId,
    patientId: ids.patient,
    number: 1,
    userId: clinicians.ada,
    ...opinionOn(
      { lesionNumber: 1, outcome: 'confirm', icd10: null, snomed: null, category: null },
      { lesionNumber: 2, outcome: 'correct', icd10, snomed, category: 'canary-category' },
    ),
    recommendation: 'urgent_referral',
    note: 'canary-note',
    opinionsRequired: 1,
    request,
    givenAt: at(90),
  },
  HumanReviewTaskDecided: { taskId, opinion: 1, agreesWithAi: false, decidedAt: at(90) },
  HumanReviewTaskCancelled: { taskId, reason: 'superseded', cancelledAt: at(100) },
})

/** A fact of the task that `taskFact` makes, in its stream. */
export const ownTask = (event: HumanReviewTaskEvent) => ({
  ...event,
  stream: humanReviewTasks.of(ids.org, taskId).stream,
})

const published = {
  org_id: ids.org,
  task_id: taskId,
  ai_review_id: ids.review,
  case_id: ids.case,
  product_id: ids.product,
  assessment_id: ids.assessment,
}

/** The events of the human-review channel. */
export const humanReviewPublicFact = factsOf<HumanReviewChannelEvent>({
  'human_review.task.opened': { ...published, status: 'open', ...envelope('human_review.task.opened', 60) },
  'human_review.task.claimed': {
    ...published,
    status: 'claimed',
    user_id: clinicians.ada,
    ...envelope('human_review.task.claimed', 70),
  },
  'human_review.task.released': {
    ...published,
    status: 'open',
    reason: 'requested',
    user_id: clinicians.ada,
    ...envelope('human_review.task.released', 80),
  },
  'human_review.task.opinion_given': {
    ...published,
    status: 'open',
    user_id: clinicians.ada,
    ...envelope('human_review.task.opinion_given', 90),
  },
  'human_review.task.decided': {
    ...published,
    status: 'decided',
    user_id: clinicians.ada,
    agrees_with_ai: false,
    decided_at: at(90),
    ...envelope('human_review.task.decided', 90),
  },
  'human_review.task.cancelled': {
    ...published,
    status: 'cancelled',
    reason: 'superseded',
    ...envelope('human_review.task.cancelled', 100),
  },
})
