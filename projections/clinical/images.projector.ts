import type { AssessmentEvent, ReceivedImage } from '../../streams/assessment/events.ts'
import type { ImageEvent } from '../../streams/image/events.ts'
import { defineProjector, insert, patch, type RowChange } from '../runtime/projector.ts'
import { imageOwners, images } from './images.table.ts'

/** Images of assessments and those that were declared by themselves: callers know one kind of id. */
export const imagesProjector = defineProjector<AssessmentEvent | ImageEvent>()({
  name: 'images',
  version: 1,
  tables: [imageOwners, images],
  handlers: {
    ImageDeclared: ({ data, revision }) => [
      insert(imageOwners, {
        owner_id: data.imageId,
        org_id: data.organisationId,
        patient_id: data.patientId,
        case_id: data.caseId,
        body_site_id: data.bodySiteId,
        status: 'awaiting_upload',
        created_at: data.declaredAt,
        updated_at: data.declaredAt,
        stream_revision: revision,
      }),
      insert(images, {
        image_id: data.imageId,
        owner_id: data.imageId,
        ordinal: 0,
        capture_type: data.captureType,
        mime_type: data.mimeType,
      }),
    ],
    ImageReceived: ({ data, revision }) => [
      patch(
        imageOwners,
        { owner_id: data.imageId },
        { status: 'received', updated_at: data.receivedAt, stream_revision: revision },
      ),
      stored(data.imageId, data),
    ],
    AssessmentRequested: ({ data, revision }) => [
      insert(imageOwners, {
        owner_id: data.assessmentId,
        org_id: data.organisationId,
        patient_id: data.patientId,
        assessment_id: data.assessmentId,
        body_site_id: data.finding.bodySiteId,
        status: 'awaiting_upload',
        created_at: data.requestedAt,
        updated_at: data.requestedAt,
        stream_revision: revision,
      }),
      ...data.images.map((image, ordinal) =>
        insert(images, {
          image_id: image.imageId,
          owner_id: data.assessmentId,
          ordinal,
          capture_type: image.captureType,
          mime_type: image.mimeType,
        }),
      ),
    ],
    AssessmentUploadsAwaited: ({ data, revision }) => [seen(data.assessmentId, revision)],
    AssessmentSubmitted: ({ data, revision }) => [
      patch(
        imageOwners,
        { owner_id: data.assessmentId },
        { case_id: data.caseId, status: 'received', updated_at: data.submittedAt, stream_revision: revision },
      ),
      ...data.images.map((image) => stored(data.assessmentId, image)),
    ],
    AssessmentReviewRequested: ({ data, revision }) => [seen(data.assessmentId, revision)],
    AssessmentReviewRenewed: ({ data, revision }) => [seen(data.assessmentId, revision)],
    AssessmentCompleted: ({ data, revision }) => [
      patch(
        imageOwners,
        { owner_id: data.assessmentId },
        { status: 'processed', updated_at: data.completedAt, stream_revision: revision },
      ),
    ],
    AssessmentFailed: ({ data, revision }) => [seen(data.assessmentId, revision)],
  },
})

function stored(ownerId: string, { imageId, object, width, height }: ReceivedImage): RowChange {
  const { key, sha256, bytes } = object
  return patch(
    images,
    { owner_id: ownerId, image_id: imageId },
    { object_key: key, sha256, bytes: String(bytes), width, height },
  )
}

/** Nothing of the images has changed, but the stream has gone on. */
function seen(ownerId: string, revision: bigint): RowChange {
  return patch(imageOwners, { owner_id: ownerId }, { stream_revision: revision })
}
