import { Type } from 'typebox'
import { productsSeenBy, taskReaderOf } from '../../contracts/human-review/reader.ts'
import {
  HumanReviewPolicyRecord,
  HumanReviewTaskRecord,
  policyBeforeFirst,
  toPolicyRecord,
  toTaskRecord,
  variantOf,
} from '../../contracts/human-review/record.ts'
import { Uuid } from '../../platform/http/members.ts'
import { problem } from '../../platform/http/problems.ts'
import { variantFor } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { patientsProjector } from '../../projections/clinical/patients.projector.ts'
import { humanReviewProjector } from '../../projections/human-review/human-review.projector.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import { agreementRoute } from './agreement.ts'
import { getTask, latestPolicy, listTasks, placeOfTask } from './queries.ts'

const access = { scopes: ['human-review:read'] } as const
const ofTasks = { access, servedBy: [humanReviewProjector, patientsProjector] } as const

export function humanReviewReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool, now } = deps
  agreementRoute(app, deps)

  readRoute(app, {
    access,
    servedBy: [humanReviewProjector],
    path: '/policy',
    operationId: 'getHumanReviewPolicy',
    summary: 'Which completed AI reviews of the organisation get a task',
    reply: HumanReviewPolicyRecord,
    find: async ({ tenant }) => {
      const policy = await latestPolicy(pool, tenant)
      if (policy === undefined) return { body: policyBeforeFirst, revision: 'no_stream' }
      const revision = BigInt(policy.streamRevision)
      const body = toPolicyRecord({ ...policy, version: Number(revision) + 1 })
      return { body, revision, variant: variantFor(tenant) }
    },
  })

  readRoute(app, {
    ...ofTasks,
    path: '/tasks/:id',
    operationId: 'getHumanReviewTask',
    summary: 'A task of human review',
    description:
      "Until the decision an actor sees only its own opinion. Notes are for actors with `human-review:decide`. A task of a product outside the actor's `product_ids` is missing.",
    params: { id: Uuid },
    reply: HumanReviewTaskRecord,
    shows: ({ patient_id: patientId }) => ({ patientId }),
    problems: ['subject-erased'],
    find: async ({ tenant, params, caller }) => {
      const { isErased, ...task } = await getTask(deps, tenant, productsSeenBy(caller), params.id)
      if (isErased) throw problem('subject-erased')
      const body = toTaskRecord(task, taskReaderOf(caller, now()))
      return { body, revision: BigInt(task.streamRevision), variant: variantOf(task, body) }
    },
  })

  listRoute(app, deps, {
    ...ofTasks,
    path: '/tasks',
    operationId: 'listHumanReviewTasks',
    summary: "Tasks of human review, oldest first; for an actor those of the actor's products",
    query: {
      status: Type.Optional(HumanReviewTaskRecord.properties.status),
      product_id: Type.Optional(Uuid),
      case_id: Type.Optional(Uuid),
      assessment_id: Type.Optional(Uuid),
      claimed_by: Type.Optional(Uuid),
    },
    list: 'human-review-tasks',
    sort: 'created_at',
    pageName: 'HumanReviewTaskPage',
    item: HumanReviewTaskRecord,
    rows: async ({ tenant, filters, caller }, page) => {
      const at = now()
      const found = await listTasks(deps, tenant, productsSeenBy(caller), { ...filters, now: at }, page)
      const reader = taskReaderOf(caller, at)
      return { ...found, rows: found.rows.map((task) => ({ ...task, reader })) }
    },
    placeOf: (row) => placeOfTask(row),
    toItem: ({ reader, ...task }) => toTaskRecord(task, reader),
    shows: ({ patientId }) => ({ patientId }),
  })
}
