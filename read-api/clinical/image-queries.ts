import type { Pool } from '../../platform/database/database.ts'
import type { CursorPlace } from '../../platform/http/cursors.ts'
import type { ImageView } from '../../contracts/images/record.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { rowOf, rowsOf, type Found } from '../rows.ts'

interface ImageRow {
  image_id: string
  owner_id: string
  ordinal: number
  patient_id: string
  case_id: string | null
  assessment_id: string | null
  body_site_id: string | null
  capture_type: ImageView['captureType']
  mime_type: string
  status: ImageView['status']
  object_key: string | null
  sha256: string | null
  bytes: string | null
  width: number | null
  height: number | null
  created_at: Date
  updated_at: Date
  stream_revision: string
}

/** An image with its place in the list. */
export interface ListedImage extends Found<ImageView> {
  readonly place: CursorPlace
}

function viewOf(row: ImageRow): ListedImage {
  const { object_key: key, sha256, bytes, width, height } = row
  return {
    imageId: row.image_id,
    caseId: row.case_id,
    patientId: row.patient_id,
    assessmentId: row.assessment_id,
    captureType: row.capture_type,
    mimeType: row.mime_type,
    bodySiteId: row.body_site_id,
    status: row.status,
    stored: key === null || sha256 === null ? null : { key, sha256, bytes: Number(bytes), width, height },
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    revision: BigInt(row.stream_revision),
    place: [row.created_at.toISOString(), row.owner_id, row.ordinal],
  }
}

const selected = 'select * from images.images as i join images.image_owners as o using (owner_id)'

export async function getImage(pool: Pool, org: TenantId, id: string): Promise<Found<ImageView>> {
  return viewOf(await rowOf<ImageRow>(pool, `${selected} where o.org_id = $1 and i.image_id = $2`, [org, id]))
}

export interface ImageFilters {
  readonly caseId?: string | undefined
  readonly patientId?: string | undefined
  readonly assessmentId?: string | undefined
}

/** Newest first. */
export async function listImages(
  pool: Pool,
  org: TenantId,
  filters: ImageFilters,
  after: CursorPlace | null,
  limit: number,
): Promise<ListedImage[]> {
  const { caseId = null, patientId = null, assessmentId = null } = filters
  const rows = await rowsOf<ImageRow>(
    pool,
    `${selected}
     where o.org_id = $1 and ($2::uuid is null or o.case_id = $2) and ($3::uuid is null or o.patient_id = $3)
       and ($4::uuid is null or (o.owner_id = $4 and o.assessment_id = $4))
       and ($5::timestamptz is null
         or ((o.created_at, o.owner_id) <= ($5, $6::uuid) and (o.created_at, o.owner_id, i.ordinal) < ($5, $6, $7::integer)))
     order by o.created_at desc, o.owner_id desc, i.ordinal desc limit $8`,
    [org, caseId, patientId, assessmentId, after?.[0] ?? null, after?.[1] ?? null, after?.[2] ?? null, limit],
  )
  return rows.map(viewOf)
}
