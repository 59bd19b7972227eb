import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import { CaptureType } from '../../streams/assessment/events.ts'
import { ImageStatus } from '../../streams/image/events.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

const size = Nullable(Type.Integer({ minimum: 0 }))

/** An image of an assessment, or one that was declared without an assessment. */
export const ImageRecord = Type.Object(
  {
    id: Uuid,
    case_id: Nullable(Uuid),
    patient_id: Uuid,
    assessment_id: Nullable(Uuid),
    capture_type: CaptureType,
    mime_type: Type.String(),
    body_site_id: Nullable(Uuid),
    status: ImageStatus,
    width: size,
    height: size,
    bytes: size,
    sha256: Nullable(Type.String()),
    upload_url: Type.Optional(
      Type.String({ description: 'In the answer of the declaration, while the upload is awaited' }),
    ),
    upload_url_expires_at: Type.Optional(Instant),
    download_url: Type.Optional(Type.String({ description: 'Of a received image, in the answer of a GET by its id' })),
    created_at: Instant,
    updated_at: Instant,
  },
  { $id: 'ImageRecord', ...personal('images') },
)
export type ImageRecord = Static<typeof ImageRecord>

export type ImageAddresses = Pick<ImageRecord, 'upload_url' | 'upload_url_expires_at' | 'download_url'>

/** The values of a record, from a table or from a fold of the stream. */
export type ImageView = Omit<
  ValuesOf<typeof ImageRecord>,
  'id' | 'uploadUrl' | 'uploadUrlExpiresAt' | 'downloadUrl'
> & {
  readonly imageId: string
}

/** @param addresses signed at response time */
export function toImageRecord(image: ImageView, addresses: ImageAddresses = {}): ImageRecord {
  return toRecord(ImageRecord, {
    ...image,
    id: image.imageId,
    uploadUrl: addresses.upload_url,
    uploadUrlExpiresAt: addresses.upload_url_expires_at,
    downloadUrl: addresses.download_url,
  })
}
