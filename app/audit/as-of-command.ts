import { requireCurrent } from '../../engine/reads/read-route.ts'
import type { Environment } from '../../platform/configuration/configuration.ts'
import { problem } from '../../platform/http/problems.ts'
import { formatPosition } from '../../platform/kit/positions.ts'
import { auditSubjectsProjector } from '../../projections/audit/audit-subjects.projector.ts'
import { recordOperatorAccess } from './operator-access.ts'
import { openOperatorServices } from './operator-services.ts'
import type { AsOfOrder } from './orders.ts'

/**
 * What a route answered at a moment of the past, from the servers themselves. What shows personal content is in the
 * access log before it is printed, as a command of the operator.
 * @throws Problem as `GET /v1/audit/as-of` answers it
 */
export async function asOfText(env: Environment, { at, path, org, isJson }: AsOfOrder): Promise<string> {
  const { services, accessLog, close } = await openOperatorServices(env)
  const { asOf } = services
  try {
    await requireCurrent(services, auditSubjectsProjector)
    const moment = await asOf.momentOf(at)
    if (moment === undefined) throw problem('moment-in-future')
    const { status, body, persons } = await asOf.answer(org, moment, path)
    await recordOperatorAccess(accessLog, { orgId: org, persons, categories: ['as_of'], operation: 'readAsOf' })
    const answer = { at: moment.at.toISOString(), position: formatPosition(moment.position), status, body }
    if (isJson) return JSON.stringify(answer)
    return `${answer.at}  position ${answer.position}  status ${status}\n${JSON.stringify(body, null, 2)}`
  } finally {
    await close()
  }
}
