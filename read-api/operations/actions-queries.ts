import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import {
  operatorActionsProjector,
  operatorActionsTable,
} from '../../projections/operations/operator-actions.projector.ts'
import { pageOf, rowsOf, sortOrder, tableOf } from '../../engine/reads/tenant-rows.ts'

const a = tableOf(operatorActionsProjector, operatorActionsTable, 'a')

const newestFirst = sortOrder('desc', a.at, a.actionId)
export const { placeOf: placeOfAction } = newestFirst

/** What operators did to the installation, which is of no organisation. */
export function listActions(pool: Pool, page: PageRequest) {
  return pageOf(pool, newestFirst, rowsOf(a), page)
}
