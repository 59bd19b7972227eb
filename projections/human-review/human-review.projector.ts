import { Type } from 'typebox'
import { PolicyRule, type HumanReviewPolicyEvent } from '../../streams/human-review-policy/events.ts'
import {
  DecidedLesion,
  HumanReviewTaskStatus,
  LesionCorrection,
  SelectorName,
  TaskCancelReason,
  type HumanReviewTaskEvent,
} from '../../streams/human-review-task/events.ts'
import { Recommendation } from '../../streams/assessment/events.ts'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import { defineProjector, defineTable, sealed, type RowChange } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, upsertRow, type ChangeOf } from '../../engine/projections/row-changes.ts'

export const humanReviewPoliciesTable = defineTable({
  name: 'policies',
  columns: {
    org_id: 'uuid',
    rules: { type: 'jsonb', schema: Type.Array(PolicyRule) },
    lease_seconds: 'integer',
    updated_by: { type: 'uuid', nullable: true },
    updated_at: 'timestamptz',
    /** Counts from 0. */
    stream_revision: 'bigint',
  },
  primaryKey: ['org_id'],
})

export const humanReviewTasksTable = defineTable({
  name: 'tasks',
  columns: {
    task_id: 'uuid',
    org_id: 'uuid',
    status: { type: 'text', values: HumanReviewTaskStatus.enum },
    ai_review_id: 'uuid',
    case_id: 'uuid',
    patient_id: 'uuid',
    product_id: 'uuid',
    assessment_id: { type: 'uuid', nullable: true },
    selected_by: { type: 'jsonb', schema: Type.Array(SelectorName) },
    opinions_required: 'integer',
    claimed_by: { type: 'uuid', nullable: true },
    lease_until: { type: 'timestamptz', nullable: true },
    decision_number: { type: 'integer', nullable: true },
    agrees_with_ai: { type: 'boolean', nullable: true },
    cancel_reason: { type: 'text', values: TaskCancelReason.enum, nullable: true },
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    decided_at: { type: 'timestamptz', nullable: true },
    stream_revision: 'bigint',
  },
  primaryKey: ['task_id'],
  indexes: [
    { columns: ['org_id', 'created_at', 'task_id'] },
    { columns: ['org_id', 'status', 'created_at', 'task_id'] },
    { columns: ['org_id', 'case_id'] },
    { columns: ['org_id', 'decided_at'] },
  ],
})

export const humanReviewOpinionsTable = defineTable({
  name: 'opinions',
  columns: {
    task_id: 'uuid',
    number: 'integer',
    user_id: 'uuid',
    lesions: { type: 'jsonb', schema: Type.Array(DecidedLesion) },
    corrections: sealed(Type.Array(LesionCorrection)),
    recommendation: { type: 'text', values: Recommendation.enum },
    note: sealed(Type.String()),
    given_at: 'timestamptz',
  },
  primaryKey: ['task_id', 'number'],
})

/** The lesions of each task as the AI sees them. Opinions have the outcomes. */
export const humanReviewLesionsTable = defineTable({
  name: 'lesions',
  columns: {
    task_id: 'uuid',
    lesion_number: 'integer',
    provider_version: { type: 'text', nullable: true },
    category: { type: 'text', nullable: true },
  },
  primaryKey: ['task_id', 'lesion_number'],
})

/** Policies and tasks of human review. Agreement figures are counted from tasks, their lesions and opinions. */
export const humanReviewProjector = defineProjector<HumanReviewPolicyEvent | HumanReviewTaskEvent>()({
  name: 'human_review',
  version: 3,
  tables: [humanReviewPoliciesTable, humanReviewTasksTable, humanReviewOpinionsTable, humanReviewLesionsTable],
  handlers: {
    HumanReviewPolicySet: ({ data, revision }) => [
      upsertRow(humanReviewPoliciesTable, { ...data, orgId: data.organisationId, streamRevision: revision }),
    ],
    HumanReviewTaskOpened: ({ data, stream, revision }) => [
      insertRow(humanReviewTasksTable, {
        ...data,
        orgId: parseOwnedStream(stream).orgId,
        status: 'open',
        createdAt: data.openedAt,
        updatedAt: data.openedAt,
        streamRevision: revision,
      }),
      ...data.lesions.map(({ lesionNumber, category }) =>
        insertRow(humanReviewLesionsTable, {
          taskId: data.taskId,
          lesionNumber,
          providerVersion: data.providerVersion,
          category,
        }),
      ),
    ],
    // Such a stream has no task, and no further event.
    HumanReviewNotSelected: () => [],
    HumanReviewTaskClaimed: (event) => {
      const { userId, leaseUntil, claimedAt } = event.data
      return [changed(event, claimedAt, { status: 'claimed', claimedBy: userId, leaseUntil })]
    },
    HumanReviewTaskReleased: (event) => [changed(event, event.data.releasedAt, unclaimed)],
    HumanReviewOpinionGiven: (event) => {
      const { givenAt, opinionsRequired } = event.data
      return [
        insertRow(humanReviewOpinionsTable, event.data),
        changed(event, givenAt, { ...unclaimed, opinionsRequired }),
      ]
    },
    HumanReviewTaskDecided: (event) => {
      const { opinion: decisionNumber, agreesWithAi, decidedAt } = event.data
      return [changed(event, decidedAt, { ...unclaimed, status: 'decided', decisionNumber, agreesWithAi, decidedAt })]
    },
    HumanReviewAssessmentAssigned: ({ data: { taskId, assessmentId }, revision }) => [
      patchRow(humanReviewTasksTable, { taskId, assessmentId, streamRevision: revision }),
    ],
    HumanReviewConsentConfirmed: revisionOnly,
    HumanReviewReleaseUnneeded: revisionOnly,
    HumanReviewTaskCancelled: (event) => {
      const { reason: cancelReason, cancelledAt } = event.data
      return [changed(event, cancelledAt, { ...unclaimed, status: 'cancelled', cancelReason })]
    },
  },
})

const unclaimed = { status: 'open', claimedBy: null, leaseUntil: null } as const

interface TaskEvent {
  readonly data: { readonly taskId: string }
  readonly revision: bigint
}

/** Nothing else of the record changes. */
function revisionOnly({ data: { taskId }, revision: streamRevision }: TaskEvent): RowChange[] {
  return [patchRow(humanReviewTasksTable, { taskId, streamRevision })]
}

function changed(
  { data: { taskId }, revision }: TaskEvent,
  updatedAt: string,
  set: Omit<ChangeOf<typeof humanReviewTasksTable>, 'taskId'>,
): RowChange {
  return patchRow(humanReviewTasksTable, { ...set, taskId, updatedAt, streamRevision: revision })
}
