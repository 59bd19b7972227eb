import { Type } from 'typebox'
import { ConsentDecisionRecord } from '../../contracts/consent/record.ts'
import { toRecord, wholeValues } from '../../engine/reads/records.ts'
import { HumanReviewRule } from '../../contracts/human-review/record.ts'
import { memberName } from '../../platform/kit/member-names.ts'
import type { PolicyRule } from '../../streams/human-review-policy/events.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { consentRecordsProjector, consentRecordsTable } from '../../projections/consent/consent-records.projector.ts'
import {
  consentTypesProjector,
  consentTypesTable,
  textVersionsTable,
} from '../../projections/consent/consent-types.projector.ts'
import { patientsProjector, patientsTable } from '../../projections/clinical/patients.projector.ts'
import type { Projector, ViewOf } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, removeRow, removeRows } from '../../engine/projections/row-changes.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { openedView, type Keys, type Opened } from '../../engine/reads/opened.ts'
import { readRoute, requireCurrent, type ReadDependencies } from '../../engine/reads/read-route.ts'
import {
  childrenOf,
  filtered,
  matching,
  membersOf,
  on,
  rowsOf,
  rowsOfTenant,
  sortOrder,
  tableOf,
  viewByIds,
  type Computed,
} from '../../engine/reads/tenant-rows.ts'
import type { Person } from '../../streams/patient/events.ts'

/**
 * Mistakes that must not compile. `tsc` fails on an `@ts-expect-error` line without an error, so each line is a test.
 */

declare const app: ServiceApp
declare const deps: ReadDependencies
declare const tenant: TenantId
declare const view: ViewOf<typeof consentRecordsTable>
declare const open: Opened<ViewOf<typeof consentRecordsTable>>

const d = tableOf(consentRecordsProjector, consentRecordsTable, 'd')
const t = tableOf(consentTypesProjector, consentTypesTable, 't')
const v = tableOf(consentTypesProjector, textVersionsTable, 'v')
const { consentId: _id, ...withoutId } = view
const row = { ...view, streamRevision: 0n }

export function rowChanges() {
  const event = { ...row, fingerprint: 'without a column' }
  insertRow(consentRecordsTable, { ...event })
  // @ts-expect-error a missing column
  insertRow(consentRecordsTable, withoutId)
  // @ts-expect-error an unknown column
  insertRow(consentRecordsTable, { ...row, patient: 'unknown' })
  // @ts-expect-error a wrong value of an enum
  insertRow(consentRecordsTable, { ...row, decision: 'perhaps' })
  // @ts-expect-error a wrong type
  insertRow(consentRecordsTable, { ...row, recordedAt: new Date(0) })
  // @ts-expect-error null in a column that is not nullable
  insertRow(consentRecordsTable, { ...row, patientId: null })
  // @ts-expect-error a column of the database instead of a member
  patchRow(consentTypesTable, { consentTypeId: 'id', display_name: 'name' })
  // @ts-expect-error no key
  patchRow(consentTypesTable, { displayName: 'name' })
  // @ts-expect-error a column that is not of the key
  removeRow(consentTypesTable, { code: 'ai_analysis' })
  // @ts-expect-error an unknown column in a condition
  removeRows(consentTypesTable, { consentType: 'id' })
}

export function views(): readonly unknown[] {
  // @ts-expect-error an unknown member
  const unknown: unknown = view.patient
  // @ts-expect-error a decision is one of three texts
  const decision: 'granted' | 'denied' = view.decision
  // @ts-expect-error an instant is text
  const at: Date = view.recordedAt
  // @ts-expect-error a nullable column
  const by: string = view.recordedBy
  return [unknown, decision, at, by]
}

export function records() {
  const whole = { ...open, id: view.consentId, organisationId: view.orgId }
  toRecord(ConsentDecisionRecord, whole)
  // @ts-expect-error a missing member
  toRecord(ConsentDecisionRecord, { ...view, id: view.consentId })
  // @ts-expect-error a wrong value of an enum
  toRecord(ConsentDecisionRecord, { ...whole, decision: 'perhaps' })
  // @ts-expect-error a wrong type
  toRecord(ConsentDecisionRecord, { ...whole, recordedAt: null })
}

/** A renamed selector of a policy fails like these. */
export function rules(selector: 'share' | 'priority_limit', rule: PolicyRule): readonly unknown[] {
  const values = wholeValues(HumanReviewRule, {})
  // @ts-expect-error a value that the body may leave out
  const share: number = values.share
  // @ts-expect-error a member of the body instead of the value's
  const limit: unknown = values.priority_at_most
  // @ts-expect-error a selector that the rules of events lack
  const value: unknown = rule[memberName(selector)]
  return [share, limit, value]
}

export function queries() {
  const decisions = rowsOfTenant(d, tenant)
  decisions.where(d.decision, 'granted')
  // @ts-expect-error a tenant that nothing has checked
  rowsOfTenant(d, 'organisation')
  // @ts-expect-error an unknown column
  decisions.where(d.patient, 'id')
  // @ts-expect-error a wrong value of an enum
  decisions.where(d.decision, 'perhaps')
  // @ts-expect-error another table's column does not sort these rows by a member that they have
  sortOrder('asc', t.code).placeOf(view)
  const byId = viewByIds((org: TenantId, id: string) => rowsOfTenant(d, org).where(d.consentId, id))
  // @ts-expect-error a missing id
  void byId(deps.pool, tenant)
  // @ts-expect-error a tenant that nothing has checked
  void byId(deps.pool, 'organisation', 'id')
}

/** A renamed table or column fails like these. */
export function renamed() {
  // @ts-expect-error a table of another projector
  tableOf(consentRecordsProjector, textVersionsTable, 'v')
  // @ts-expect-error a table without an organisation
  rowsOfTenant(tableOf(ownerless, ownerlessTable, 'x'), tenant)
  rowsOf(t).join(...on(v, { consentTypeId: t.consentTypeId }))
  // @ts-expect-error an unknown column of the joined table
  on(v, { consentType: t.consentTypeId })
  // @ts-expect-error an unknown column of the other table
  matching(v, { consentTypeId: t.consentType })
  // @ts-expect-error columns of different types
  matching(v, { consentTypeId: t.required })
  // @ts-expect-error an unknown member of a query inside
  membersOf<typeof view>('latest')('textVersion')
  // @ts-expect-error an unknown column
  rowsOf(v, { version: v.version })
}

export function children() {
  const texts = childrenOf(v, {
    on: { consentTypeId: t.consentTypeId },
    select: { locale: v.locale, from: v.effectiveFrom },
    orderBy: [v.createdAt],
  })
  const read = byIdWith(texts)
  // @ts-expect-error an instant is text
  const from: Date = read.from
  // @ts-expect-error an unknown member
  const text: unknown = read.text
  // @ts-expect-error an unknown column in the order
  childrenOf(v, { on: { consentTypeId: t.consentTypeId }, select: {}, orderBy: [v.position] })
  // @ts-expect-error an unknown column of the children
  childrenOf(v, { on: { typeId: t.consentTypeId }, select: {}, orderBy: [v.createdAt] })
  return [from, text]
}

declare function byIdWith<View>(children: Computed<readonly View[]>): View
declare const ownerlessTable: {
  readonly name: 'x'
  readonly columns: { readonly id: 'uuid' }
  readonly primaryKey: ['id']
}
declare const ownerless: Projector<typeof ownerlessTable>

const shared = { operationId: 'get', summary: 'Get', access: 'token', path: '/things/:id' } as const
const Reply = Type.Object({ size: Type.Integer() })
const page = { list: 'things', sort: 'size', pageName: 'Things', item: Reply, placeOf: () => [] } as const

export function routes() {
  readRoute(app, {
    ...shared,
    reply: Reply,
    // @ts-expect-error a projector by its name
    servedBy: ['consent_records'],
    handle: async () => ({ size: 1 }),
  })
  readRoute(app, {
    ...shared,
    params: { id: Type.String() },
    reply: Reply,
    servedBy: [],
    // @ts-expect-error an unknown parameter
    handle: async ({ params }) => ({ size: params.ident.length }),
  })
  readRoute(app, {
    ...shared,
    reply: Reply,
    servedBy: [],
    // @ts-expect-error another answer
    handle: async () => ({ size: 'large' }),
  })
  listRoute(app, deps, {
    ...shared,
    ...page,
    servedBy: [consentRecordsProjector],
    rows: async () => ({ rows: [view], hasMore: false }),
    // @ts-expect-error another item
    toItem: ({ decision }) => ({ size: decision }),
  })
  // @ts-expect-error a projector by its name
  void requireCurrent(deps, 'consent_records')
}

const p = tableOf(patientsProjector, patientsTable, 'p')

export function sealedColumns(name: string, person: Person) {
  rowsOf(p, { name: p.person })
  // @ts-expect-error a condition on a sealed column
  rowsOf(p).where(p.person, person)
  // @ts-expect-error the same in a text
  rowsOf(p).whereRaw('?? = ?', [p.person, name])
  // @ts-expect-error an order
  sortOrder('asc', p.person)
  // @ts-expect-error a filter
  filtered(rowsOf(p), p, { person })
  // @ts-expect-error content in a sealed column
  patchRow(patientsTable, { patientId: 'id', person })
}

export async function openedColumns(keys: Keys, patient: ViewOf<typeof patientsTable>) {
  // @ts-expect-error a sealed member is not its content
  const sealed: Person | null = patient.person
  const { person, orgId } = await openedView(keys, patient)
  const [content, id]: readonly [Person | null, string] = [person, orgId]
  return [sealed, content, id]
}
