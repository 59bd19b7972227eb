import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'

const size = Nullable(Type.Integer({ minimum: 0 }))
const captureType = Type.Enum(['dermoscopic', 'macroscopic', 'other'])
const status = Type.Enum(['awaiting_upload', 'received', 'processed'])

/** An image, whether it came with an assessment or was declared by itself. */
export const ImageRecord = Type.Object(
  {
    id: Uuid,
    case_id: Nullable(Uuid),
    patient_id: Uuid,
    assessment_id: Nullable(Uuid),
    capture_type: captureType,
    mime_type: Type.String(),
    body_site_id: Nullable(Uuid),
    status,
    width: size,
    height: size,
    bytes: size,
    sha256: Nullable(Type.String()),
    upload_url: Type.Optional(
      Type.String({ description: 'In the answer of the declaration, while the upload is awaited' }),
    ),
    upload_url_expires_at: Type.Optional(Instant),
    download_url: Type.Optional(
      Type.String({ description: 'Of an image whose bytes are there, where it is read by its id' }),
    ),
    created_at: Instant,
    updated_at: Instant,
  },
  { $id: 'ImageRecord' },
)
export type ImageRecord = Static<typeof ImageRecord>

/** What a record is made from, whether it was read from a table or folded from the stream. */
export interface ImageView {
  readonly imageId: string
  readonly caseId: string | null
  readonly patientId: string
  readonly assessmentId: string | null
  readonly captureType: Static<typeof captureType>
  readonly mimeType: string
  readonly bodySiteId: string | null
  readonly status: Static<typeof status>
  /** Null while the bytes are awaited. */
  readonly stored: StoredImage | null
  readonly createdAt: string
  readonly updatedAt: string
}

export interface StoredImage {
  readonly key: string
  readonly sha256: string
  readonly bytes: number
  /** Pixels; null where the header does not name them. */
  readonly width: number | null
  readonly height: number | null
}

export type ImageAddresses = Pick<ImageRecord, 'upload_url' | 'upload_url_expires_at' | 'download_url'>

/** @param addresses signed at response time */
export function toImageRecord(view: ImageView, addresses: ImageAddresses = {}): ImageRecord {
  const { stored } = view
  return {
    id: view.imageId,
    case_id: view.caseId,
    patient_id: view.patientId,
    assessment_id: view.assessmentId,
    capture_type: view.captureType,
    mime_type: view.mimeType,
    body_site_id: view.bodySiteId,
    status: view.status,
    width: stored?.width ?? null,
    height: stored?.height ?? null,
    bytes: stored?.bytes ?? null,
    sha256: stored?.sha256 ?? null,
    ...addresses,
    created_at: view.createdAt,
    updated_at: view.updatedAt,
  }
}
