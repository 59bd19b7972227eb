import type { HumanReviewTaskRecord, HumanReviewTaskView } from '../../contracts/human-review/record.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { patientsProjector, patientsTable } from '../../projections/clinical/patients.projector.ts'
import {
  humanReviewOpinionsTable,
  humanReviewPoliciesTable,
  humanReviewProjector,
  humanReviewTasksTable,
} from '../../projections/human-review/human-review.projector.ts'
import {
  columnsOf,
  computed,
  oneView,
  rowsOfTenant,
  sortOrder,
  tableOf,
  pageOf,
  viewsOf,
} from '../../engine/reads/tenant-rows.ts'

const t = columnsOf(humanReviewTasksTable, 't')
const o = columnsOf(humanReviewOpinionsTable, 'o')
const p = columnsOf(patientsTable, 'p')

/** Undefined before the first PUT. */
export async function latestPolicy(pool: Pool, tenant: TenantId) {
  const [policy] = await viewsOf(pool, rowsOfTenant(humanReviewProjector, humanReviewPoliciesTable, 'y', tenant))
  return policy
}

const opinionColumns = [o.number, o.userId, o.lesions, o.recommendation, o.note, o.givenAt]
const instantForm = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'

/** With their opinions, in the statement of the tasks, so that both are of the same moment. */
function tasksOf(tenant: TenantId, products: readonly string[] | null) {
  const tasks = rowsOfTenant(humanReviewProjector, humanReviewTasksTable, 't', tenant)
    .leftJoin(tableOf(patientsProjector, patientsTable, 'p'), p.patientId, t.patientId)
    .select({
      isErased: computed<boolean>('(?? is not null and ?? is null)', [p.patientId, p.givenName]),
      opinions: computed<HumanReviewTaskView['opinions']>(
        `(select coalesce(jsonb_agg(jsonb_build_object('number', ??, 'userId', ??, 'lesions', ??,
            'recommendation', ??, 'note', ??, 'givenAt', to_char(?? at time zone 'utc', ?)) order by ??), '[]')
          from ${tableOf(humanReviewProjector, humanReviewOpinionsTable, 'o')} where ?? = ??)`,
        [...opinionColumns, instantForm, o.number, o.taskId, t.taskId],
      ),
    })
  return products === null ? tasks : tasks.whereRaw('?? = any(?::uuid[])', [t.productId, products])
}

/** `products` limits the tasks to those of the caller's products. */
export async function getTask(pool: Pool, tenant: TenantId, products: readonly string[] | null, taskId: string) {
  return oneView(pool, tasksOf(tenant, products).where(t.taskId, taskId))
}

export interface TaskFilters {
  readonly status?: HumanReviewTaskRecord['status'] | undefined
  readonly productId?: string | undefined
  readonly caseId?: string | undefined
  readonly assessmentId?: string | undefined
  readonly claimedBy?: string | undefined
}

const oldestFirst = sortOrder('asc', t.createdAt, t.taskId)
export const { placeOf: placeOfTask } = oldestFirst

/** Without those of erased patients. From the end of its lease on a claimed task counts as open. */
export async function listTasks(
  pool: Pool,
  tenant: TenantId,
  products: readonly string[] | null,
  { now, ...filters }: TaskFilters & { readonly now: Date },
  page: PageRequest,
) {
  const tasks = tasksOf(tenant, products).whereRaw('(?? is null or ?? is not null)', [p.patientId, p.givenName])
  const { status, productId, caseId, assessmentId, claimedBy } = filters
  if (status === 'open')
    tasks.whereRaw(`(?? = 'open' or (?? = 'claimed' and ?? <= ?))`, [t.status, t.status, t.leaseUntil, now])
  else if (status !== undefined) tasks.where(t.status, status)
  if (status === 'claimed' || claimedBy !== undefined) tasks.whereRaw('?? > ?', [t.leaseUntil, now])
  if (claimedBy !== undefined) tasks.where(t.claimedBy, claimedBy)
  if (productId !== undefined) tasks.where(t.productId, productId)
  if (caseId !== undefined) tasks.where(t.caseId, caseId)
  if (assessmentId !== undefined) tasks.where(t.assessmentId, assessmentId)
  return pageOf(pool, oldestFirst, tasks, page)
}
