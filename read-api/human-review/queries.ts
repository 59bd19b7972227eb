import { opinionOf } from '../../contracts/human-review/record.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import { problem } from '../../platform/http/problems.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { patientsProjector, patientsTable } from '../../projections/clinical/patients.projector.ts'
import {
  humanReviewOpinionsTable,
  humanReviewPoliciesTable,
  humanReviewProjector,
  humanReviewTasksTable,
} from '../../projections/human-review/human-review.projector.ts'
import { fromText, opened, type Keys, type OpeningReads } from '../../engine/reads/opened.ts'
import {
  asText,
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
  type Rows,
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

const { number, userId, lesions, recommendation, givenAt } = o
const [corrections, note] = [asText(o.corrections), asText(o.note)]

/** With their opinions and the name of the patient, in the statement of the tasks, so that all are of the same moment. */
function tasksOf(tenant: TenantId, products: readonly string[] | null) {
  const tasks = rowsOfTenant(t, tenant)
    .leftJoin(...on(p, { patientId: t.patientId }))
    .select({
      isRegistered: computed<boolean>('?? is not null', [p.patientId]),
      person: p.person,
      opinions: childrenOf(o, {
        on: { taskId: t.taskId },
        select: { number, userId, lesions, corrections, recommendation, note, givenAt },
        orderBy: [number],
      }),
    })
  return products === null ? tasks : tasks.whereRaw('?? = any(?::uuid[])', [t.productId, products])
}

type TaskRow = ReturnType<typeof tasksOf> extends Rows<infer View> ? View : never

/** Opens the tasks, and tells those of erased patients apart. */
async function presented(vault: Keys, rows: readonly TaskRow[]) {
  const tasks = await opened(vault, rows)
  return Promise.all(
    tasks.map(async ({ isRegistered, person, ...task }) => {
      const opinions = task.opinions.map((one) => ({
        ...one,
        corrections: fromText(one.corrections),
        note: fromText(one.note),
      }))
      return {
        ...task,
        opinions: (await opened(vault, opinions)).map(opinionOf),
        isErased: isRegistered && person === null,
      }
    }),
  )
}

/** `products` limits the tasks to those of the caller's products. */
export async function getTask(
  { pool, vault }: OpeningReads,
  tenant: TenantId,
  products: readonly string[] | null,
  taskId: string,
) {
  const [task] = await presented(vault, [await oneView(pool, tasksOf(tenant, products).where(t.taskId, taskId))])
  if (task === undefined) throw problem('not-found')
  return task
}

const oldestFirst = sortOrder('asc', t.createdAt, t.taskId)
export const { placeOf: placeOfTask } = oldestFirst

/**
 * Without those of erased patients, so a page may have fewer tasks than rows. From the end of its lease on a claimed task
 * counts as open.
 */
export async function listTasks(
  { pool, vault }: OpeningReads,
  tenant: TenantId,
  products: readonly string[] | null,
  { now, ...filters }: Filters<typeof humanReviewTasksTable> & { readonly now: Date },
  page: PageRequest,
) {
  const tasks = tasksOf(tenant, products)
  const { status, ...others } = filters
  if (status === 'open')
    tasks.whereRaw(`(?? = 'open' or (?? = 'claimed' and ?? <= ?))`, [t.status, t.status, t.leaseUntil, now])
  else if (status !== undefined) tasks.where(t.status, status)
  if (status === 'claimed' || others.claimedBy !== undefined) tasks.whereRaw('?? > ?', [t.leaseUntil, now])
  filtered(tasks, t, others)
  const found = await pageOf(pool, oldestFirst, tasks, page)
  const views = await presented(vault, found.rows)
  const last = views.at(-1)
  return { ...found, rows: views.filter(({ isErased }) => !isErased), reached: last && placeOfTask(last) }
}
