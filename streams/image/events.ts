import { Type } from 'typebox'
import { CaptureType, ReceivedImage } from '../assessment/events.ts'
import { defineEvent, type EventOf } from '../store/schema.ts'
import { CausingRequest, Fingerprint, Id, Instant, Nullable, OrgId } from '../types.ts'

export const ImageStatus = Type.Enum(['awaiting_upload', 'received', 'processed'])

/** No PHI: ids, kinds and measures, and where the bytes lie. */
export const imageEvents = {
  ImageDeclared: defineEvent(
    'ImageDeclared',
    Type.Object({
      imageId: Id,
      organisationId: OrgId,
      patientId: Id,
      caseId: Nullable(Id),
      captureType: CaptureType,
      mimeType: Type.String(),
      /** The only length that the upload can have, where the request names one. */
      sizeBytes: Type.Optional(Type.Integer()),
      bodySiteId: Nullable(Id),
      fingerprint: Fingerprint,
      declaredAt: Instant,
      /** The bytes are uploaded and submitted until then, or never. */
      closesAt: Instant,
    }),
  ),
  /** The bytes lie under a key that nothing overwrites, and are what was declared. */
  ImageReceived: defineEvent(
    'ImageReceived',
    Type.Object({
      ...ReceivedImage.properties,
      receivedAt: Instant,
      /** Of the submit call. */
      request: CausingRequest,
    }),
  ),
} as const

export type ImageEvent = EventOf<typeof imageEvents>
