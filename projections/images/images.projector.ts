import { CaptureType, type AssessmentEvent, type ReceivedImage } from '../../streams/assessment/events.ts'
import { ImageStatus, type ImageEvent } from '../../streams/image/events.ts'
import { defineProjector, defineTable, type RowChange } from '../../engine/projections/projector.ts'
import { insertRow, patchRow } from '../../engine/projections/row-changes.ts'

/** The owner of images: an assessment, with one status for all its images, or a single declared image. */
export const imageOwnersTable = defineTable({
  name: 'image_owners',
  columns: {
    /** The assessment's id, or the image's own. */
    owner_id: 'uuid',
    org_id: 'uuid',
    patient_id: 'uuid',
    case_id: { type: 'uuid', nullable: true },
    assessment_id: { type: 'uuid', nullable: true },
    /** The images also have owners of their own: a workflow collected them for the assessment. */
    is_collected: 'boolean',
    body_site_id: { type: 'uuid', nullable: true },
    status: { type: 'text', values: ImageStatus.enum },
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['owner_id'],
  indexes: [
    { columns: ['org_id', 'created_at', 'owner_id'] },
    { columns: ['org_id', 'patient_id', 'created_at', 'owner_id'] },
    { columns: ['case_id'] },
  ],
})

export const imagesTable = defineTable({
  name: 'images',
  columns: {
    image_id: 'uuid',
    owner_id: 'uuid',
    /** Place among the owner's images, from 0. */
    ordinal: 'integer',
    capture_type: { type: 'text', values: CaptureType.enum },
    mime_type: 'text',
    object_key: { type: 'text', nullable: true },
    sha256: { type: 'text', nullable: true },
    bytes: { type: 'bigint', nullable: true },
    width: { type: 'integer', nullable: true },
    height: { type: 'integer', nullable: true },
  },
  primaryKey: ['owner_id', 'image_id'],
  indexes: [{ columns: ['image_id'] }],
})

/** Images of assessments, and single images. Callers use the same kind of id for both. */
export const imagesProjector = defineProjector<AssessmentEvent | ImageEvent>()({
  name: 'images',
  version: 3,
  tables: [imageOwnersTable, imagesTable],
  handlers: {
    ImageDeclared: ({ data, revision }) => [
      insertRow(imageOwnersTable, {
        ...data,
        ownerId: data.imageId,
        orgId: data.organisationId,
        isCollected: false,
        status: 'awaiting_upload',
        createdAt: data.declaredAt,
        updatedAt: data.declaredAt,
        streamRevision: revision,
      }),
      insertRow(imagesTable, { ...data, ownerId: data.imageId, ordinal: 0 }),
    ],
    ImageReceived: ({ data, revision }) => [
      patchRow(imageOwnersTable, {
        ownerId: data.imageId,
        status: 'received',
        updatedAt: data.receivedAt,
        streamRevision: revision,
      }),
      stored(data.imageId, data),
    ],
    AssessmentRequested: ({ data, revision }) => [
      insertRow(imageOwnersTable, {
        ...data,
        ownerId: data.assessmentId,
        orgId: data.organisationId,
        isCollected: data.mode === 'collected',
        bodySiteId: data.finding.bodySiteId,
        status: 'awaiting_upload',
        createdAt: data.requestedAt,
        updatedAt: data.requestedAt,
        streamRevision: revision,
      }),
      ...data.images.map((image, ordinal) => insertRow(imagesTable, { ...image, ownerId: data.assessmentId, ordinal })),
    ],
    AssessmentUploadsAwaited: ({ data, revision }) => [seen(data.assessmentId, revision)],
    AssessmentSubmitted: ({ data, revision }) => [
      patchRow(imageOwnersTable, {
        ownerId: data.assessmentId,
        caseId: data.caseId,
        status: 'received',
        updatedAt: data.submittedAt,
        streamRevision: revision,
      }),
      ...data.images.map((image) => stored(data.assessmentId, image)),
    ],
    AssessmentReviewRequested: ({ data, revision }) => [seen(data.assessmentId, revision)],
    AssessmentReviewRenewed: ({ data, revision }) => [seen(data.assessmentId, revision)],
    AssessmentCompleted: ({ data, revision }) => [
      patchRow(imageOwnersTable, {
        ownerId: data.assessmentId,
        status: 'processed',
        updatedAt: data.completedAt,
        streamRevision: revision,
      }),
    ],
    AssessmentFailed: ({ data, revision }) => [seen(data.assessmentId, revision)],
    AssessmentHumanReviewOpened: ({ data, revision }) => [seen(data.assessmentId, revision)],
    AssessmentHumanReviewDecided: ({ data, revision }) => [seen(data.assessmentId, revision)],
    AssessmentHumanReviewCancelled: ({ data, revision }) => [seen(data.assessmentId, revision)],
  },
})

function stored(ownerId: string, { imageId, object, width, height }: ReceivedImage): RowChange {
  const { key: objectKey, sha256, bytes } = object
  return patchRow(imagesTable, { ownerId, imageId, objectKey, sha256, bytes: String(bytes), width, height })
}

/** The event changes no image, only the revision of the stream. */
function seen(ownerId: string, streamRevision: bigint): RowChange {
  return patchRow(imageOwnersTable, { ownerId, streamRevision })
}
