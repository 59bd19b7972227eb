import type { Pool } from '../../platform/database/database.ts'
import type { CursorPlace } from '../../platform/http/cursors.ts'
import type { DiagnosisRecord, FindingRecord } from '../../contracts/clinical/findings.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { rowsOf } from '../rows.ts'

export interface FindingRow {
  finding_id: string
  case_id: string
  source: FindingRecord['source']
  ai_review_id: string | null
  lesion_number: number | null
  body_site_id: string | null
  coordinates: FindingRecord['coordinates']
  created_at: Date
}

export interface DiagnosisRow {
  diagnosis_id: string
  finding_id: string
  source: DiagnosisRecord['source']
  status: DiagnosisRecord['status']
  icd10: DiagnosisRecord['icd10']
  snomed: DiagnosisRecord['snomed']
  category: string | null
  lesion_number: number | null
  created_at: Date
}

export interface PageOfCase {
  readonly caseId: string
  readonly after: CursorPlace | null
  readonly limit: number
}

/** Oldest first, those of one review by lesion. */
export async function listFindings(
  pool: Pool,
  org: TenantId,
  { caseId, after, limit }: PageOfCase,
): Promise<FindingRow[]> {
  return rowsOf<FindingRow>(
    pool,
    `select * from cases.findings
     where org_id = $1 and case_id = $2
       and ($3::timestamptz is null or (created_at, coalesce(lesion_number, 0), finding_id) > ($3, $4::integer, $5::uuid))
     order by created_at, coalesce(lesion_number, 0), finding_id limit $6`,
    [org, caseId, ...placeAfter(after), limit],
  )
}

/** Oldest first, those of one review by lesion. */
export async function listDiagnoses(
  pool: Pool,
  org: TenantId,
  { caseId, after, limit }: PageOfCase,
): Promise<DiagnosisRow[]> {
  return rowsOf<DiagnosisRow>(
    pool,
    `select * from cases.diagnoses
     where org_id = $1 and case_id = $2
       and ($3::timestamptz is null or (created_at, coalesce(lesion_number, 0), diagnosis_id) > ($3, $4::integer, $5::uuid))
     order by created_at, coalesce(lesion_number, 0), diagnosis_id limit $6`,
    [org, caseId, ...placeAfter(after), limit],
  )
}

function placeAfter(after: CursorPlace | null): readonly unknown[] {
  return [after?.[0] ?? null, after?.[1] ?? null, after?.[2] ?? null]
}

export function placeOfFinding(row: FindingRow): CursorPlace {
  return [row.created_at.toISOString(), row.lesion_number ?? 0, row.finding_id]
}

export function placeOfDiagnosis(row: DiagnosisRow): CursorPlace {
  return [row.created_at.toISOString(), row.lesion_number ?? 0, row.diagnosis_id]
}

/** A table keeps the members of a value in an order of its own; a record has one order. */
export function toFindingRecord(row: FindingRow): FindingRecord {
  const { coordinates } = row
  return {
    id: row.finding_id,
    case_id: row.case_id,
    source: row.source,
    ai_review_id: row.ai_review_id,
    lesion_number: row.lesion_number,
    body_site_id: row.body_site_id,
    coordinates:
      coordinates === null ? null : { x1: coordinates.x1, y1: coordinates.y1, x2: coordinates.x2, y2: coordinates.y2 },
    created_at: row.created_at.toISOString(),
  }
}

export function toDiagnosisRecord(row: DiagnosisRow): DiagnosisRecord {
  return {
    id: row.diagnosis_id,
    finding_id: row.finding_id,
    source: row.source,
    status: row.status,
    icd10: { code: row.icd10.code, term: row.icd10.term },
    snomed: { code: row.snomed.code, term: row.snomed.term },
    category: row.category,
    created_at: row.created_at.toISOString(),
  }
}
