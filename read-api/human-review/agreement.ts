import { Type } from 'typebox'
import { AgreementReport, toAgreementReport } from '../../contracts/human-review/agreement.ts'
import { productsSeenBy } from '../../contracts/human-review/reader.ts'
import type { Pool } from '../../platform/database/database.ts'
import { Instant } from '../../platform/http/members.ts'
import { invalidMember } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import {
  humanReviewLesionsTable,
  humanReviewOpinionsTable,
  humanReviewProjector,
  humanReviewTasksTable,
} from '../../projections/human-review/human-review.projector.ts'
import type { ViewOf } from '../../engine/projections/projector.ts'
import { readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import {
  computed,
  matching,
  membersOf,
  on,
  rowsFrom,
  rowsOf,
  rowsOfTenant,
  tableOf,
  viewsOf,
} from '../../engine/reads/tenant-rows.ts'

const t = tableOf(humanReviewProjector, humanReviewTasksTable, 't')
const o = tableOf(humanReviewProjector, humanReviewOpinionsTable, 'o')
const l = tableOf(humanReviewProjector, humanReviewLesionsTable, 'l')

type Decided = ViewOf<typeof humanReviewTasksTable> & ViewOf<typeof humanReviewLesionsTable>
const of = membersOf<Decided>('decided')

const defaultDays = 30
const mostDays = 366
const dayMs = 86_400_000

export interface AgreementFilters {
  readonly from: Date
  /** Not included. */
  readonly to: Date
  readonly providerVersion?: string | undefined
  readonly category?: string | undefined
  /** Patients who are left out. */
  readonly erased?: readonly string[]
}

interface FiguresRow {
  /** The figures of all versions and categories together. */
  readonly isTotal: boolean
  readonly providerVersion: string | null
  readonly category: string | null
  readonly lesions: number
  readonly confirmed: number
  readonly corrected: number
  readonly rejected: number
  readonly tasks: number
  readonly tasksAgreed: number
}

/**
 * Counts the lesions of decided tasks by provider version and category of the AI. A task without lesions counts, too.
 * Without tasks there is no row, not even that of the totals.
 */
export async function listAgreement(
  pool: Pool,
  tenant: TenantId,
  products: readonly string[] | null,
  { from, to, providerVersion, category, erased = [] }: AgreementFilters,
) {
  const outcome = computed<string | null>(
    `jsonb_path_query_first(??, '$[*] \\? (@.lesionNumber == $number).outcome', jsonb_build_object('number', ??)) #>> '{}'`,
    [o.lesions, l.lesionNumber],
  )
  const given = rowsOf(o, { outcome }).whereRaw(...matching(o, { taskId: t.taskId, number: t.decisionNumber }))
  const decided = rowsOfTenant(t, tenant)
    .leftJoin(...on(l, { taskId: t.taskId }))
    .whereRaw('?? >= ? and ?? < ?', [t.decidedAt, from, t.decidedAt, to])
    .select({
      lesionNumber: l.lesionNumber,
      providerVersion: l.providerVersion,
      category: l.category,
      outcome: computed<string | null>('(?)', [given]),
    })
  if (erased.length > 0) decided.whereRaw('?? <> all(?::uuid[])', [t.patientId, erased])
  if (products !== null) decided.whereRaw('?? = any(?::uuid[])', [t.productId, products])
  if (providerVersion !== undefined) decided.where(l.providerVersion, providerVersion)
  if (category !== undefined) decided.where(l.category, category)
  const [version, kind, lesionNumber] = [of('providerVersion'), of('category'), of('lesionNumber')]
  const [taskId, agreesWithAi] = [of('taskId'), of('agreesWithAi')]
  const figures = computed<FiguresRow>(
    `(select grouping(??) = 1 as "isTotal", ??, ??,
        count(??)::integer as lesions,
        (count(*) filter (where outcome = 'confirm'))::integer as confirmed,
        (count(*) filter (where outcome = 'correct'))::integer as corrected,
        (count(*) filter (where outcome = 'reject'))::integer as rejected,
        count(distinct ??)::integer as tasks,
        (count(distinct ??) filter (where ??))::integer as "tasksAgreed"
      from (?) as decided
      group by grouping sets ((??, ??), ())
      having count(*) > 0
      order by ?? nulls first, ?? nulls first) as figures`,
    [version, version, kind, lesionNumber, taskId, taskId, agreesWithAi, decided, version, kind, version, kind],
  )
  return viewsOf(pool, rowsFrom(figures, 'figures.*'))
}

export function agreementRoute(app: ServiceApp, deps: ReadDependencies): void {
  readRoute(app, {
    path: '/agreement',
    operationId: 'getHumanReviewAgreement',
    summary: 'How often clinicians confirm the AI, by provider version and category',
    description: `Of the decisions from \`from\` up to \`to\`, which is not included. Default: the last ${defaultDays} days. At most ${mostDays} days.`,
    access: { scopes: ['human-review:read'] },
    servedBy: [humanReviewProjector],
    query: {
      from: Type.Optional(Instant),
      to: Type.Optional(Instant),
      provider_version: Type.Optional(Type.String({ maxLength: 255 })),
      category: Type.Optional(Type.String({ maxLength: 255 })),
    },
    reply: AgreementReport,
    handle: async ({ tenant, query, caller }) => {
      const to = query.to === undefined ? deps.now() : new Date(query.to)
      const from = query.from === undefined ? new Date(to.getTime() - defaultDays * dayMs) : new Date(query.from)
      const lengthMs = to.getTime() - from.getTime()
      if (lengthMs <= 0) throw invalidMember('/from', 'must be before to', 'order')
      if (lengthMs > mostDays * dayMs)
        throw invalidMember('/from', `must be at most ${mostDays} days before to`, 'range')
      const erased = deps.vault.closedOf(tenant)
      const filters = { from, to, providerVersion: query.provider_version, category: query.category, erased }
      const rows = await listAgreement(deps.pool, tenant, productsSeenBy(caller), filters)
      const total = rows.find(({ isTotal }) => isTotal)
      return toAgreementReport({
        from: from.toISOString(),
        to: to.toISOString(),
        tasks: total?.tasks ?? 0,
        tasksAgreed: total?.tasksAgreed ?? 0,
        data: rows.filter(({ isTotal, lesions }) => !isTotal && lesions > 0),
      })
    },
  })
}
