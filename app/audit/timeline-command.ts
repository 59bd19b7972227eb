import type { StoredRecord } from '../../contracts/audit/records-in-order.ts'
import { personOf, timelineItemOf } from '../../contracts/audit/timeline.ts'
import type { Environment } from '../../platform/configuration/configuration.ts'
import { noOrganisation, tenantOfFact } from '../../platform/kit/tenants.ts'
import { auditSubjectsProjector } from '../../projections/audit/audit-subjects.projector.ts'
import { isSubject, partsOf } from '../../read-api/audit/subject-queries.ts'
import { recordOperatorAccess } from './operator-access.ts'
import { openOperatorServices } from './operator-services.ts'
import type { TimelineOrder } from './orders.ts'

/**
 * The lines of a timeline, from the servers themselves. What shows personal content is in the access log before it is
 * printed, as a command of the operator.
 * @param say receives that newer events may be missing
 * @throws Error if nothing is known of the subject
 */
export async function* timelineLines(
  env: Environment,
  order: TimelineOrder,
  say: (line: string) => void,
): AsyncGenerator<string, void, undefined> {
  const { services, accessLog, close } = await openOperatorServices(env)
  const { pool, records } = services
  const subject = { ...order.subject, tenant: null }
  const question = { order: 'asc', after: undefined, from: undefined, to: undefined, categories: undefined } as const
  try {
    const { name } = auditSubjectsProjector
    if (!(await services.isCurrent(name))) say(`the read model ${name} is behind the log: newer events may be missing`)
    if (!(await isSubject(pool, subject))) throw new Error(`nothing is known of ${subject.kind} ${subject.id}`)
    const reading = { order: 'asc', after: undefined, isOpened: order.isOpened } as const
    for await (const record of records.inOrder(partsOf(pool, subject, question), reading)) {
      await recordOperatorAccess(accessLog, {
        orgId: record.metadata.orgId === undefined ? noOrganisation : tenantOfFact(record.metadata.orgId),
        persons: personOf(record),
        categories: ['timeline'],
        operation: 'readTimeline',
      })
      yield order.isJson ? JSON.stringify(timelineItemOf(record, null)) : textOf(record)
    }
  } finally {
    await close()
  }
}

/** `2026-03-01T10:00:40.012Z  CaseClosed  user 019c…  case-…  {…}` */
function textOf(record: StoredRecord): string {
  const { recorded_at: at, type, actor, stream, data } = timelineItemOf(record, null)
  const name = { user: actor.user_id, client: actor.client_id, process: actor.process, bootstrap: actor.client_id }[
    actor.kind
  ]
  return [at, type, `${actor.kind} ${name ?? ''}`.trim(), stream, JSON.stringify(data)].join('  ')
}
