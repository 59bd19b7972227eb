import { Type } from 'typebox'
import {
  AssessmentStatus,
  CaptureType,
  FailureCode,
  HumanReview,
  Outcome,
  type AssessmentEvent,
} from '../../streams/assessment/events.ts'
import { humanReviewAfter, type HumanReviewEvent } from '../../streams/assessment/aggregate.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import { defineProjector, defineTable, sealed, type RowChange } from '../../engine/projections/projector.ts'
import { insertRow, patchRow } from '../../engine/projections/row-changes.ts'

const Result = Type.Object({ ai_provider: Type.String(), outcome: Outcome, completed_at: Type.String() })

export const assessmentsTable = defineTable({
  name: 'assessments',
  columns: {
    assessment_id: 'uuid',
    org_id: 'uuid',
    patient_id: 'uuid',
    case_id: { type: 'uuid', nullable: true },
    status: { type: 'text', values: AssessmentStatus.enum },
    external_reference: sealed(Type.String()),
    result: { type: 'jsonb', schema: Result, nullable: true },
    failure_code: { type: 'text', values: FailureCode.enum, nullable: true },
    /** Of the newest AI review with a task. Null without a task. */
    review: { type: 'jsonb', schema: HumanReview, nullable: true },
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['assessment_id'],
})

export const assessmentImagesTable = defineTable({
  name: 'assessment_images',
  columns: {
    assessment_id: 'uuid',
    image_id: 'uuid',
    /** Place in the request, from 0. */
    ordinal: 'integer',
    capture_type: { type: 'text', values: CaptureType.enum },
    object_key: { type: 'text', nullable: true },
  },
  primaryKey: ['assessment_id', 'image_id'],
})

export const assessmentsProjector = defineProjector<AssessmentEvent>()({
  name: 'assessments',
  version: 5,
  tables: [assessmentsTable, assessmentImagesTable],
  handlers: {
    AssessmentRequested: ({ data, revision }) => [
      insertRow(assessmentsTable, {
        ...data,
        orgId: data.organisationId,
        // The next event of the same append may change this to `awaiting_images`.
        status: 'processing',
        createdAt: data.requestedAt,
        updatedAt: data.requestedAt,
        streamRevision: revision,
      }),
      ...data.images.map((image, ordinal) =>
        insertRow(assessmentImagesTable, { ...image, assessmentId: data.assessmentId, ordinal }),
      ),
    ],
    AssessmentUploadsAwaited: ({ data: { assessmentId }, revision }) => [
      patchRow(assessmentsTable, { assessmentId, status: 'awaiting_images', streamRevision: revision }),
    ],
    AssessmentSubmitted: ({ data: { assessmentId, caseId, submittedAt, images }, revision }) => [
      patchRow(assessmentsTable, {
        assessmentId,
        status: 'processing',
        caseId,
        updatedAt: submittedAt,
        streamRevision: revision,
      }),
      ...images.map(({ imageId, object }) =>
        patchRow(assessmentImagesTable, { assessmentId, imageId, objectKey: object.key }),
      ),
    ],
    AssessmentReviewRequested: ({ data: { assessmentId }, revision }) => [
      patchRow(assessmentsTable, { assessmentId, streamRevision: revision }),
    ],
    AssessmentReviewRenewed: ({ data: { assessmentId }, revision }) => [
      patchRow(assessmentsTable, { assessmentId, streamRevision: revision }),
    ],
    AssessmentCompleted: ({ data: { assessmentId, aiProvider, outcome, completedAt }, revision }) => [
      patchRow(assessmentsTable, {
        assessmentId,
        status: 'completed',
        result: { ai_provider: aiProvider, outcome, completed_at: completedAt },
        updatedAt: completedAt,
        streamRevision: revision,
      }),
    ],
    AssessmentFailed: ({ data: { assessmentId, code, failedAt }, revision }) => [
      patchRow(assessmentsTable, {
        assessmentId,
        status: 'failed',
        failureCode: code,
        updatedAt: failedAt,
        streamRevision: revision,
      }),
    ],
    AssessmentHumanReviewOpened: (event) => [reviewed(event)],
    AssessmentHumanReviewDecided: (event) => [reviewed(event)],
    AssessmentHumanReviewCancelled: (event) => [reviewed(event)],
  },
})

function reviewed(event: HumanReviewEvent & Pick<RecordedEvent, 'revision'>): RowChange {
  const { assessmentId, isNewest } = event.data
  const seen = { assessmentId, streamRevision: event.revision }
  if (!isNewest) return patchRow(assessmentsTable, seen)
  const { humanReview: review, updatedAt } = humanReviewAfter(event)
  return patchRow(assessmentsTable, { ...seen, review, updatedAt })
}
