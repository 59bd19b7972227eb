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
  childrenOf,
  computed,
  filtered,
  on,
  oneView,
  pageOf,
  rowsOfTenant,
  sortOrder,
  tableOf,
  viewsOf,
  type Filters,
} from '../../engine/reads/tenant-rows.ts'

const y = tableOf(humanReviewProjector, humanReviewPoliciesTable, 'y')
const t = tableOf(humanReviewProjector, humanReviewTasksTable, 't')
const o = tableOf(humanReviewProjector, humanReviewOpinionsTable, 'o')
const p = tableOf(patientsProjector, patientsTable, 'p')

/** Undefined before the first PUT. */
export async function latestPolicy(pool: Pool, tenant: TenantId) {
  const [policy] = await viewsOf(pool, rowsOfTenant(y, tenant))
  return policy
}

const { number, userId, lesions, recommendation, note, givenAt } = o

/** With their opinions, in the statement of the tasks, so that both are of the same moment. */
function tasksOf(tenant: TenantId, products: readonly string[] | null) {
  const tasks = rowsOfTenant(t, tenant)
    .leftJoin(...on(p, { patientId: t.patientId }))
    .select({
      isErased: computed<boolean>('(?? is not null and ?? is null)', [p.patientId, p.givenName]),
      opinions: childrenOf(o, {
        on: { taskId: t.taskId },
        select: { number, userId, lesions, recommendation, note, givenAt },
        orderBy: [number],
      }),
    })
  return products === null ? tasks : tasks.whereRaw('?? = any(?::uuid[])', [t.productId, products])
}

/** `products` limits the tasks to those of the caller's products. */
export async function getTask(pool: Pool, tenant: TenantId, products: readonly string[] | null, taskId: string) {
  return oneView(pool, tasksOf(tenant, products).where(t.taskId, taskId))
}

const oldestFirst = sortOrder('asc', t.createdAt, t.taskId)
export const { placeOf: placeOfTask } = oldestFirst

/** Without those of erased patients. From the end of its lease on a claimed task counts as open. */
export async function listTasks(
  pool: Pool,
  tenant: TenantId,
  products: readonly string[] | null,
  { now, ...filters }: Filters<typeof humanReviewTasksTable> & { readonly now: Date },
  page: PageRequest,
) {
  const tasks = tasksOf(tenant, products).whereRaw('(?? is null or ?? is not null)', [p.patientId, p.givenName])
  const { status, ...others } = filters
  if (status === 'open')
    tasks.whereRaw(`(?? = 'open' or (?? = 'claimed' and ?? <= ?))`, [t.status, t.status, t.leaseUntil, now])
  else if (status !== undefined) tasks.where(t.status, status)
  if (status === 'claimed' || others.claimedBy !== undefined) tasks.whereRaw('?? > ?', [t.leaseUntil, now])
  filtered(tasks, t, others)
  return pageOf(pool, oldestFirst, tasks, page)
}
