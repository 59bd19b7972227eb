import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import { defineProjector, insert, patch } from '../runtime/projector.ts'
import { assessmentImages, assessments } from './table.ts'

export const assessmentsProjector = defineProjector<AssessmentEvent>()({
  name: 'assessments',
  version: 2,
  tables: [assessments, assessmentImages],
  handlers: {
    AssessmentRequested: ({ data, revision }) => [
      insert(assessments, {
        assessment_id: data.assessmentId,
        org_id: data.organisationId,
        patient_id: data.patientId,
        // Until the next event of the same append says which, nobody is to be told to upload anything.
        status: 'processing',
        external_reference: data.externalReference,
        created_at: data.requestedAt,
        updated_at: data.requestedAt,
        stream_revision: revision,
      }),
      ...data.images.map((image, ordinal) =>
        insert(assessmentImages, {
          assessment_id: data.assessmentId,
          image_id: image.imageId,
          ordinal,
          capture_type: image.captureType,
        }),
      ),
    ],
    AssessmentUploadsAwaited: ({ data, revision }) => [
      patch(
        assessments,
        { assessment_id: data.assessmentId },
        { status: 'awaiting_images', stream_revision: revision },
      ),
    ],
    AssessmentSubmitted: ({ data, revision }) => [
      patch(
        assessments,
        { assessment_id: data.assessmentId },
        { status: 'processing', case_id: data.caseId, updated_at: data.submittedAt, stream_revision: revision },
      ),
      ...data.images.map((image) =>
        patch(
          assessmentImages,
          { assessment_id: data.assessmentId, image_id: image.imageId },
          { object_key: image.object.key },
        ),
      ),
    ],
    AssessmentReviewRequested: ({ data, revision }) => [
      patch(assessments, { assessment_id: data.assessmentId }, { stream_revision: revision }),
    ],
    AssessmentReviewRenewed: ({ data, revision }) => [
      patch(assessments, { assessment_id: data.assessmentId }, { stream_revision: revision }),
    ],
    AssessmentCompleted: ({ data, revision }) => [
      patch(
        assessments,
        { assessment_id: data.assessmentId },
        {
          status: 'completed',
          result: { ai_provider: data.aiProvider, outcome: data.outcome, completed_at: data.completedAt },
          updated_at: data.completedAt,
          stream_revision: revision,
        },
      ),
    ],
    AssessmentFailed: ({ data, revision }) => [
      patch(
        assessments,
        { assessment_id: data.assessmentId },
        { status: 'failed', failure_code: data.code, updated_at: data.failedAt, stream_revision: revision },
      ),
    ],
  },
})
