import type { ImageView } from '../../contracts/images/record.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { imageOwnersTable, imagesProjector, imagesTable } from '../../projections/images/images.projector.ts'
import type { ViewOf } from '../../engine/projections/projector.ts'
import {
  columnsOf,
  filtered,
  on,
  pageOf,
  rowsOfTenant,
  sortOrder,
  tableOf,
  viewByIds,
  type Filters,
} from '../../engine/reads/tenant-rows.ts'

type Image = ViewOf<typeof imageOwnersTable> & ViewOf<typeof imagesTable>

const o = tableOf(imagesProjector, imageOwnersTable, 'o')
const i = tableOf(imagesProjector, imagesTable, 'i')

function imagesOf(tenant: TenantId) {
  return rowsOfTenant(o, tenant)
    .join(...on(i, { ownerId: o.ownerId }))
    .select(columnsOf(i))
}

export function recordedImage(image: Image): ImageView {
  return { ...image, bytes: image.bytes === null ? null : Number(image.bytes) }
}

/** Without the second row of an image that a workflow collected for an assessment. */
export const getImage = viewByIds((tenant: TenantId, id: string) =>
  imagesOf(tenant).where(i.imageId, id).where(o.isCollected, false),
)

const newestFirst = sortOrder('desc', o.createdAt, o.ownerId, i.ordinal)
export const { placeOf: placeOfImage } = newestFirst

export async function listImages(
  pool: Pool,
  tenant: TenantId,
  { assessmentId, ...filters }: Filters<typeof imageOwnersTable>,
  page: PageRequest,
) {
  const images = filtered(imagesOf(tenant), o, filters)
  if (assessmentId === undefined) images.where(o.isCollected, false)
  else images.where(o.ownerId, assessmentId).where(o.assessmentId, assessmentId)
  // No index covers the cursor's place, which has columns of two tables. This condition on the owners can use one.
  if (page.after !== null) images.whereRaw('(??, ??) <= (?, ?)', [o.createdAt, o.ownerId, ...page.after.slice(0, 2)])
  return pageOf(pool, newestFirst, images, page)
}
