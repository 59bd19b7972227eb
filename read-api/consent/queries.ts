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
import { opened, openedView, type Opened, type OpeningReads } from '../../engine/reads/opened.ts'
import {
  computed,
  membersOf,
  on,
  pageOf,
  rowsFrom,
  rowsOf,
  rowsOfTenant,
  sortOrder,
  tableOf,
  viewByIds,
  viewsOf,
  matching,
} from '../../engine/reads/tenant-rows.ts'

type DecisionRow = ViewOf<typeof consentRecordsTable>
export type DecisionView = Opened<DecisionRow>

const d = tableOf(consentRecordsProjector, consentRecordsTable, 'd')
const t = tableOf(consentTypesProjector, consentTypesTable, 't')
const v = tableOf(consentTypesProjector, textVersionsTable, 'v')
const decided = tableOf(consentTypesProjector, textVersionsTable, 'decided')
const candidate = tableOf(consentTypesProjector, textVersionsTable, 'candidate')
const latest = membersOf<DecisionRow>('latest')

function decisionsOf(tenant: TenantId, patientId: string) {
  return rowsOfTenant(d, tenant).where(d.patientId, patientId)
}

/** Of decisions at the same instant, the later one in the stream counts. */
const latestFirst = sortOrder('desc', d.recordedAt, d.streamRevision)
export const placeOfDecision = latestFirst.placeOf

/**
 * The latest decision on each of the codes. With `asOf`, only decisions with a `recorded_at` up to then count. Reads one row
 * per code, for a history of any length. Personal members stay sealed.
 */
export async function latestDecisions(
  pool: Pool,
  tenant: TenantId,
  patientId: string,
  codes: readonly string[],
  asOf: Date | null = null,
): Promise<ReadonlyMap<string, DecisionRow>> {
  const ofCode = decisionsOf(tenant, patientId).whereRaw('?? = code', [d.consentTypeCode])
  if (asOf !== null) ofCode.whereRaw('?? <= ?', [d.recordedAt, asOf])
  const one = latestFirst.page(ofCode, { after: null, limit: 1 })
  const source = computed<DecisionRow>('unnest(?::text[]) as code cross join lateral (?) as latest', [codes, one])
  const rows = await viewsOf(pool, rowsFrom(source, 'latest.*'))
  return new Map(rows.map((row) => [row.consentTypeCode, row]))
}

/** The latest decision on a consent type is in force. Includes whether its text is the current one of its type and locale. */
export type DecisionInForce = DecisionRow & { readonly isTextCurrent: boolean }

const byTypeCode = sortOrder('asc', latest('consentTypeCode'))
export const placeOfDecisionInForce = byTypeCode.placeOf

/**
 * The latest decision on every type, or on one, by code. The time alone makes a text the current one: `asOf`, or `now` if it is
 * null.
 */
export async function listDecisionsInForce(
  pool: Pool,
  tenant: TenantId,
  patientId: string,
  { code, asOf, now }: { readonly code?: string; readonly asOf: Date | null; readonly now: Date },
  page: PageRequest,
): Promise<PageRows<DecisionInForce>> {
  const decisions = decisionsOf(tenant, patientId).distinctOn(d.consentTypeCode)
  if (code !== undefined) decisions.where(d.consentTypeCode, code)
  if (asOf !== null) decisions.whereRaw('?? <= ?', [d.recordedAt, asOf])
  decisions.orderByRaw('??, ?? desc, ?? desc', [d.consentTypeCode, d.recordedAt, d.streamRevision])
  const current = rowsOf(candidate, { textVersionId: candidate.textVersionId })
    .join(...on(decided, { consentTypeId: candidate.consentTypeId, locale: candidate.locale }))
    .where(decided.orgId, tenant)
    .whereRaw(...matching(decided, { textVersionId: latest('textVersionId') }))
    .whereRaw('?? <= ?', [candidate.effectiveFrom, asOf ?? now])
    .orderByRaw('?? desc', [candidate.effectiveFrom])
    .limit(1)
  const isTextCurrent = computed<boolean>('coalesce(?? = (?), false)', [latest('textVersionId'), current])
  const inForce = rowsFrom(computed<DecisionRow>('(?) as latest', [decisions]), 'latest.*').select({ isTextCurrent })
  return pageOf(pool, byTypeCode, inForce, page)
}

export async function listDecisions(
  { pool, vault }: OpeningReads,
  tenant: TenantId,
  patientId: string,
  { type, page }: { readonly type?: string | undefined; readonly page: PageRequest },
): Promise<PageRows<DecisionView>> {
  const decisions = decisionsOf(tenant, patientId)
  if (type !== undefined) decisions.where(d.consentTypeCode, type)
  const found = await pageOf(pool, latestFirst, decisions, page)
  return { ...found, rows: await opened(vault, found.rows) }
}

export async function getDecision(
  { pool, vault }: OpeningReads,
  tenant: TenantId,
  patientId: string,
  consentId: string,
): Promise<DecisionView> {
  return openedView(vault, await decisionRow(pool, tenant, patientId, consentId))
}

const decisionRow = viewByIds((tenant: TenantId, patientId: string, consentId: string) =>
  decisionsOf(tenant, patientId).where(d.consentId, consentId),
)

/** A decision with the locale of its text. */
export async function getDecisionWithLocale(
  { pool, vault }: OpeningReads,
  tenant: TenantId,
  patientId: string,
  consentId: string,
) {
  return openedView(vault, await decisionRowWithLocale(pool, tenant, patientId, consentId))
}

const decisionRowWithLocale = viewByIds((tenant: TenantId, patientId: string, consentId: string) =>
  decisionsOf(tenant, patientId)
    .where(d.consentId, consentId)
    .join(...on(v, { textVersionId: d.textVersionId }))
    .where(v.orgId, tenant)
    .select({ locale: v.locale }),
)

function typesOf(tenant: TenantId) {
  return rowsOfTenant(t, tenant)
}

const byCode = sortOrder('asc', t.code)
export const placeOfType = byCode.placeOf

export async function listConsentTypes(pool: Pool, tenant: TenantId, page: PageRequest) {
  return pageOf(pool, byCode, typesOf(tenant), page)
}

export const getConsentType = viewByIds((tenant: TenantId, id: string) => typesOf(tenant).where(t.consentTypeId, id))

export const getConsentTypeByCode = viewByIds((tenant: TenantId, code: string) => typesOf(tenant).where(t.code, code))

function textVersionsOf(tenant: TenantId, consentTypeId: string) {
  return rowsOfTenant(v, tenant).where(v.consentTypeId, consentTypeId)
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
