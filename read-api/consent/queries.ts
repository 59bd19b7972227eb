import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest, PageRows } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { consentRecordsProjector, consentRecordsTable } from '../../projections/consent/consent-records.projector.ts'
import {
  consentTypesProjector,
  consentTypesTable,
  textVersionsTable,
} from '../../projections/consent/consent-types.projector.ts'
import type { ViewOf } from '../../engine/projections/projector.ts'
import {
  columnsOf,
  computed,
  rowsFrom,
  rowsOfTenant,
  sortOrder,
  tableOf,
  viewByIds,
  pageOf,
  viewsOf,
} from '../../engine/reads/tenant-rows.ts'

export type DecisionView = ViewOf<typeof consentRecordsTable>

const d = columnsOf(consentRecordsTable, 'd')
const t = columnsOf(consentTypesTable, 't')
const v = columnsOf(textVersionsTable, 'v')

function decisionsOf(tenant: TenantId, patientId: string) {
  return rowsOfTenant(consentRecordsProjector, consentRecordsTable, 'd', tenant).where(d.patientId, patientId)
}

/** Of decisions at the same instant, the later one in the stream counts. */
const latestFirst = sortOrder('desc', d.recordedAt, d.streamRevision)
export const placeOfDecision = latestFirst.placeOf

/**
 * The latest decision on each of the codes. With `asOf`, only decisions with a `recorded_at` up to then count. Reads one row
 * per code, for a history of any length.
 */
export async function latestDecisions(
  pool: Pool,
  tenant: TenantId,
  patientId: string,
  codes: readonly string[],
  asOf: Date | null = null,
): Promise<ReadonlyMap<string, DecisionView>> {
  const ofCode = decisionsOf(tenant, patientId).whereRaw('?? = code', [d.consentTypeCode])
  if (asOf !== null) ofCode.whereRaw('?? <= ?', [d.recordedAt, asOf])
  const one = latestFirst.page(ofCode, { after: null, limit: 1 })
  const latest = computed<DecisionView>('unnest(?::text[]) as code cross join lateral (?) as latest', [codes, one])
  const rows = await viewsOf(pool, rowsFrom(latest, 'latest.*'))
  return new Map(rows.map((row) => [row.consentTypeCode, row]))
}

/** A latest decision, and whether its text is the current one of its type and locale. */
export type StandingDecision = DecisionView & { readonly isTextCurrent: boolean }

const byTypeCode = sortOrder<'consentTypeCode'>('asc', 'latest.consentTypeCode')
export const placeOfStandingDecision = byTypeCode.placeOf

/**
 * The latest decision on every type, or on one, by code. The time alone makes a text the current one: `asOf`, or `now` if it is
 * null.
 */
export async function listStandingDecisions(
  pool: Pool,
  tenant: TenantId,
  patientId: string,
  { code, asOf, now }: { readonly code?: string; readonly asOf: Date | null; readonly now: Date },
  page: PageRequest,
): Promise<PageRows<StandingDecision>> {
  const decisions = decisionsOf(tenant, patientId).distinctOn(d.consentTypeCode)
  if (code !== undefined) decisions.where(d.consentTypeCode, code)
  if (asOf !== null) decisions.whereRaw('?? <= ?', [d.recordedAt, asOf])
  decisions.orderByRaw('??, ?? desc, ?? desc', [d.consentTypeCode, d.recordedAt, d.streamRevision])
  const isTextCurrent = computed<boolean>(
    `coalesce(latest."textVersionId" = (
       select candidate.text_version_id
       from consent_types.text_versions as decided
       join consent_types.text_versions as candidate using (consent_type_id, locale)
       where decided.org_id = ? and decided.text_version_id = latest."textVersionId" and candidate.effective_from <= ?
       order by candidate.effective_from desc limit 1
     ), false)`,
    [tenant, asOf ?? now],
  )
  const standing = rowsFrom(computed<DecisionView>('(?) as latest', [decisions]), 'latest.*').select({ isTextCurrent })
  return pageOf(pool, byTypeCode, standing, page)
}

export async function listDecisions(
  pool: Pool,
  tenant: TenantId,
  patientId: string,
  { type, page }: { readonly type?: string | undefined; readonly page: PageRequest },
): Promise<PageRows<DecisionView>> {
  const decisions = decisionsOf(tenant, patientId)
  if (type !== undefined) decisions.where(d.consentTypeCode, type)
  return pageOf(pool, latestFirst, decisions, page)
}

export const getDecision = viewByIds((tenant: TenantId, patientId: string, consentId: string) =>
  decisionsOf(tenant, patientId).where(d.consentId, consentId),
)

/** A decision with the locale of its text. */
export const getDecisionWithLocale = viewByIds((tenant: TenantId, patientId: string, consentId: string) =>
  decisionsOf(tenant, patientId)
    .where(d.consentId, consentId)
    .join(tableOf(consentTypesProjector, textVersionsTable, 'v'), v.textVersionId, d.textVersionId)
    .where(v.orgId, tenant)
    .select({ locale: v.locale }),
)

function typesOf(tenant: TenantId) {
  return rowsOfTenant(consentTypesProjector, consentTypesTable, 't', tenant)
}

const byCode = sortOrder('asc', t.code)
export const placeOfType = byCode.placeOf

export async function listConsentTypes(pool: Pool, tenant: TenantId, page: PageRequest) {
  return pageOf(pool, byCode, typesOf(tenant), page)
}

export const getConsentType = viewByIds((tenant: TenantId, id: string) => typesOf(tenant).where(t.consentTypeId, id))

export const getConsentTypeByCode = viewByIds((tenant: TenantId, code: string) => typesOf(tenant).where(t.code, code))

function textVersionsOf(tenant: TenantId, consentTypeId: string) {
  return rowsOfTenant(consentTypesProjector, textVersionsTable, 'v', tenant).where(v.consentTypeId, consentTypeId)
}

const oldestFirst = sortOrder('asc', v.createdAt, v.textVersionId)
const newestFirst = sortOrder('desc', v.createdAt, v.textVersionId)
export const placeOfTextVersion = oldestFirst.placeOf

export async function listTextVersions(pool: Pool, tenant: TenantId, consentTypeId: string, page: PageRequest) {
  return pageOf(pool, oldestFirst, textVersionsOf(tenant, consentTypeId), page)
}

/** The newest text versions, in the order newest first. */
export async function latestTextVersions(pool: Pool, tenant: TenantId, consentTypeId: string, limit: number) {
  return pageOf(pool, newestFirst, textVersionsOf(tenant, consentTypeId), { after: null, limit })
}
