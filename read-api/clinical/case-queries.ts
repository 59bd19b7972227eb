import type { Pool } from '../../platform/database/database.ts'
import type { CursorPlace } from '../../platform/http/cursors.ts'
import type { CaseView } from '../../contracts/clinical/cases.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { rowOf, rowsOf, type Found } from '../rows.ts'

interface CaseRow {
  case_id: string
  patient_id: string
  product_id: string | null
  external_reference: string | null
  opened_at: Date
  updated_at: Date
  stream_revision: string
}

function viewOf(row: CaseRow): Found<CaseView> {
  return {
    caseId: row.case_id,
    patientId: row.patient_id,
    productId: row.product_id,
    externalReference: row.external_reference,
    openedAt: row.opened_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    revision: BigInt(row.stream_revision),
  }
}

export async function getCase(pool: Pool, org: TenantId, id: string): Promise<Found<CaseView>> {
  return viewOf(await rowOf<CaseRow>(pool, 'select * from cases.cases where org_id = $1 and case_id = $2', [org, id]))
}

/** Newest first. */
export async function listCases(
  pool: Pool,
  org: TenantId,
  { patientId }: { readonly patientId?: string | undefined },
  after: CursorPlace | null,
  limit: number,
): Promise<Found<CaseView>[]> {
  const rows = await rowsOf<CaseRow>(
    pool,
    `select * from cases.cases
     where org_id = $1 and ($2::uuid is null or patient_id = $2)
       and ($3::timestamptz is null or (opened_at, case_id) < ($3, $4::uuid))
     order by opened_at desc, case_id desc limit $5`,
    [org, patientId ?? null, after?.[0] ?? null, after?.[1] ?? null, limit],
  )
  return rows.map(viewOf)
}

export function placeOfCase({ openedAt, caseId }: CaseView): CursorPlace {
  return [openedAt, caseId]
}
