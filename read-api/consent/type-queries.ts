import type { Pool } from '../../platform/database/database.ts'
import type { CursorPlace } from '../../platform/http/cursors.ts'
import type { ConsentTextVersionRecord, ConsentTypeRecord } from '../../contracts/consent/record.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { rowOf, rowsOf } from '../rows.ts'

interface TypeRow {
  consent_type_id: string
  org_id: string
  code: string
  display_name: string
  description: string | null
  legal_basis: string
  required: boolean
  created_at: Date
  updated_at: Date
  stream_revision: string
}

export function toConsentTypeRecord(row: TypeRow): ConsentTypeRecord {
  return {
    id: row.consent_type_id,
    organisationId: row.org_id,
    code: row.code,
    displayName: row.display_name,
    description: row.description,
    legalBasis: row.legal_basis,
    required: row.required,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}

export async function listConsentTypes(
  pool: Pool,
  org: TenantId,
  after: CursorPlace | null,
  limit: number,
): Promise<TypeRow[]> {
  return rowsOf<TypeRow>(
    pool,
    `select * from consent_types.consent_types
     where org_id = $1 and ($2::text is null or code > $2::text) order by code limit $3`,
    [org, after?.[0] ?? null, limit],
  )
}

export async function getConsentType(pool: Pool, org: TenantId, id: string): Promise<TypeRow> {
  return rowOf<TypeRow>(pool, 'select * from consent_types.consent_types where org_id = $1 and consent_type_id = $2', [
    org,
    id,
  ])
}

/** @throws Problem `not-found` for a code that the organisation does not have */
export async function getConsentTypeByCode(pool: Pool, org: TenantId, code: string): Promise<TypeRow> {
  return rowOf<TypeRow>(pool, 'select * from consent_types.consent_types where org_id = $1 and code = $2', [org, code])
}

interface TextVersionRow {
  text_version_id: string
  consent_type_id: string
  locale: string
  text: string
  content_hash: string
  effective_from: Date
  created_at: Date
}

export function toTextVersionRecord(row: TextVersionRow): ConsentTextVersionRecord {
  return {
    id: row.text_version_id,
    consentTypeId: row.consent_type_id,
    locale: row.locale,
    text: row.text,
    contentHash: row.content_hash,
    effectiveFrom: row.effective_from.toISOString(),
    createdAt: row.created_at.toISOString(),
  }
}

export function placeOfTextVersion(row: TextVersionRow): CursorPlace {
  return [row.created_at.toISOString(), row.text_version_id]
}

/** Oldest first. */
export async function listTextVersions(
  pool: Pool,
  org: TenantId,
  consentTypeId: string,
  after: CursorPlace | null,
  limit: number,
): Promise<TextVersionRow[]> {
  return rowsOf<TextVersionRow>(
    pool,
    `select * from consent_types.text_versions
     where org_id = $1 and consent_type_id = $2
       and ($3::timestamptz is null or (created_at, text_version_id) > ($3::timestamptz, $4::uuid))
     order by created_at, text_version_id limit $5`,
    [org, consentTypeId, after?.[0] ?? null, after?.[1] ?? null, limit],
  )
}

/** The newest ones, oldest first. */
export async function latestTextVersions(
  pool: Pool,
  org: TenantId,
  consentTypeId: string,
  count: number,
): Promise<TextVersionRow[]> {
  const rows = await rowsOf<TextVersionRow>(
    pool,
    `select * from consent_types.text_versions where org_id = $1 and consent_type_id = $2
     order by created_at desc, text_version_id desc limit $3`,
    [org, consentTypeId, count],
  )
  return rows.toReversed()
}
