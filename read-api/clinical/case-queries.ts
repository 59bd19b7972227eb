import type { Pool } from '../../platform/database.ts'
import type { CaseView } from '../../platform/records/cases.ts'
import type { TenantId } from '../../platform/tenants.ts'
import { rowOf, type Found } from '../rows.ts'

interface CaseRow {
  case_id: string
  patient_id: string
  product_id: string | null
  external_reference: string | null
  opened_at: Date
  stream_revision: string
}

export async function getCase(pool: Pool, org: TenantId, id: string): Promise<Found<CaseView>> {
  const row = await rowOf<CaseRow>(pool, 'select * from cases.cases where org_id = $1 and case_id = $2', [org, id])
  return {
    caseId: row.case_id,
    patientId: row.patient_id,
    productId: row.product_id,
    externalReference: row.external_reference,
    openedAt: row.opened_at.toISOString(),
    revision: BigInt(row.stream_revision),
  }
}
