import { Type } from 'typebox'
import { CaptureType, ReceivedImage } from '../assessment/events.ts'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { CausingRequest, Fingerprint, Id, Instant, Nullable, OrgId } from '../../engine/aggregates/types.ts'

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
      /** The only length that the upload may have, if the request contains one. */
      sizeBytes: Type.Optional(Type.Integer()),
      bodySiteId: Nullable(Id),
      fingerprint: Fingerprint,
      declaredAt: Instant,
      /** The upload and the submit must happen before this instant. */
      closesAt: Instant,
    }),
  ),
  /** The bytes match the declaration, and nothing overwrites their key. */
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
