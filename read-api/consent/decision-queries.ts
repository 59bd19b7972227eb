import type { Pool } from '../../platform/database/database.ts'
import type { CursorPlace } from '../../platform/http/cursors.ts'
import { toConsentDecisionRecord, type ConsentDecisionRecord } from '../../contracts/consent/record.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { rowOf, rowsOf } from '../rows.ts'

interface DecisionRow {
  consent_id: string
  org_id: string
  patient_id: string
  consent_type_id: string
  consent_type_code: string
  text_version_id: string
  text_sha256: string
  decision: ConsentDecisionRecord['decision']
  recorded_at: Date
  recorded_by: string | null
  created_at: Date
  stream_revision: string
}

export function toDecisionRecord(row: DecisionRow): ConsentDecisionRecord {
  return toConsentDecisionRecord({
    consentId: row.consent_id,
    organisationId: row.org_id,
    patientId: row.patient_id,
    consentTypeId: row.consent_type_id,
    consentTypeCode: row.consent_type_code,
    textVersionId: row.text_version_id,
    textSha256: row.text_sha256,
    decision: row.decision,
    recordedAt: row.recorded_at.toISOString(),
    recordedBy: row.recorded_by,
    createdAt: row.created_at.toISOString(),
  })
}

/**
 * The latest decision of each of the codes: the greatest `recorded_at`, ties by stream revision. `asOf` counts those
 * only whose `recorded_at` had come then; null counts all. Reads one row for each code, however long the history is.
 */
export async function latestDecisions(
  pool: Pool,
  org: TenantId,
  patientId: string,
  codes: readonly string[],
  asOf: Date | null = null,
): Promise<ReadonlyMap<string, ConsentDecisionRecord>> {
  const rows = await rowsOf<DecisionRow>(
    pool,
    `select latest.* from unnest($3::text[]) as code
     cross join lateral (
       select * from consent_records.consent_records
       where org_id = $1 and patient_id = $2 and consent_type_code = code and ($4::timestamptz is null or recorded_at <= $4)
       order by recorded_at desc, stream_revision desc limit 1
     ) as latest`,
    [org, patientId, codes, asOf],
  )
  return new Map(rows.map((row) => [row.consent_type_code, toDecisionRecord(row)]))
}

/** A latest decision, and whether its text was the current one of its type and locale. */
export interface StandingDecision {
  readonly record: ConsentDecisionRecord
  readonly isTextCurrent: boolean
}

/**
 * The latest decision of every type on which the patient ever decided, or of one, by code. A text becomes current by
 * time alone, so `now` says which one is where `asOf` is null.
 */
export async function listStandingDecisions(
  pool: Pool,
  org: TenantId,
  patientId: string,
  { code = null, asOf, now }: { readonly code?: string | null; readonly asOf: Date | null; readonly now: Date },
): Promise<readonly StandingDecision[]> {
  const rows = await rowsOf<DecisionRow & { is_text_current: boolean }>(
    pool,
    `select latest.*, coalesce(latest.text_version_id = (
       select candidate.text_version_id
       from consent_types.text_versions as decided
       join consent_types.text_versions as candidate using (consent_type_id, locale)
       where decided.org_id = $1 and decided.text_version_id = latest.text_version_id and candidate.effective_from <= $5
       order by candidate.effective_from desc limit 1
     ), false) as is_text_current
     from (
       select distinct on (consent_type_code) * from consent_records.consent_records
       where org_id = $1 and patient_id = $2 and ($3::text is null or consent_type_code = $3)
         and ($4::timestamptz is null or recorded_at <= $4)
       order by consent_type_code, recorded_at desc, stream_revision desc
     ) as latest
     order by latest.consent_type_code`,
    [org, patientId, code, asOf, asOf ?? now],
  )
  return rows.map((row) => ({ record: toDecisionRecord(row), isTextCurrent: row.is_text_current }))
}

export function placeOfDecision(row: DecisionRow): CursorPlace {
  return [row.recorded_at.toISOString(), row.stream_revision]
}

/** Newest first. */
export async function listDecisions(
  pool: Pool,
  org: TenantId,
  patientId: string,
  { code, after, limit }: { readonly code: string | null; readonly after: CursorPlace | null; readonly limit: number },
): Promise<DecisionRow[]> {
  return rowsOf<DecisionRow>(
    pool,
    `select * from consent_records.consent_records
     where org_id = $1 and patient_id = $2 and ($3::text is null or consent_type_code = $3)
       and ($4::timestamptz is null or (recorded_at, stream_revision) < ($4::timestamptz, $5::bigint))
     order by recorded_at desc, stream_revision desc limit $6`,
    [org, patientId, code, after?.[0] ?? null, after?.[1] ?? null, limit],
  )
}

/** @throws Problem `not-found` for a decision of another patient, too */
export async function getDecision(
  pool: Pool,
  org: TenantId,
  patientId: string,
  consentId: string,
): Promise<{ readonly record: ConsentDecisionRecord; readonly revision: bigint }> {
  const row = await rowOf<DecisionRow>(
    pool,
    'select * from consent_records.consent_records where org_id = $1 and patient_id = $2 and consent_id = $3',
    [org, patientId, consentId],
  )
  return { record: toDecisionRecord(row), revision: BigInt(row.stream_revision) }
}

/**
 * A decision with the locale of its text, which its receipt states.
 *
 * @throws Problem `not-found` for a decision of another patient, too
 */
export async function getDecisionWithLocale(
  pool: Pool,
  org: TenantId,
  patientId: string,
  consentId: string,
): Promise<{ readonly record: ConsentDecisionRecord; readonly locale: string }> {
  const row = await rowOf<DecisionRow & { locale: string }>(
    pool,
    `select decision.*, version.locale from consent_records.consent_records as decision
     join consent_types.text_versions as version using (org_id, text_version_id)
     where decision.org_id = $1 and decision.patient_id = $2 and decision.consent_id = $3`,
    [org, patientId, consentId],
  )
  return { record: toDecisionRecord(row), locale: row.locale }
}
