import { OwnAccessRecord } from '../../contracts/audit/access-record.ts'
import { toRecord } from '../../engine/reads/records.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { requireActor } from '../../platform/http/access.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { usersProjector } from '../../projections/users/users.projector.ts'
import { listOwnAccesses, placeOfAccess } from '../audit/access-queries.ts'
import { shownSince, type AccessRouteDependencies } from '../audit/access-routes.ts'
import { getUser, namesOf } from './queries.ts'

/** Who saw the content of the actor: as the patient of the patient account, and as a user. */
export function ownAccessRoute(app: ServiceApp, deps: AccessRouteDependencies): void {
  listRoute(app, deps, {
    path: '/users/me/access-log',
    operationId: 'listOwnAccesses',
    summary: 'Who saw personal content of the user of X-Actor-Context, the latest first',
    description:
      "The content of the patient of the user's patient account, and the contact of the user, in the organisation of the actor. With names instead of ids. No scope is needed.",
    access: 'actor',
    servedBy: [usersProjector],
    problems: ['user-erased'],
    list: 'own-access-log',
    sort: '-at',
    pageName: 'OwnAccessRecordPage',
    item: OwnAccessRecord,
    rows: async ({ tenant, caller }, page) => {
      const { userId } = requireActor(caller)
      if (!isUuid(userId)) throw problem('not-found')
      const { patientAccount } = await getUser(deps, tenant, userId.toLowerCase())
      const patient = patientAccount?.clinicalPatientId ?? ''
      const patientId = isUuid(patient) ? patient.toLowerCase() : null
      const own = { userId: userId.toLowerCase(), patientId, since: shownSince(deps) }
      const { rows, hasMore } = await listOwnAccesses(deps, tenant, own, page)
      const names = await namesOf(deps, rows)
      return { rows: rows.map((row) => ({ ...row, ...names(row) })), hasMore }
    },
    placeOf: (row) => placeOfAccess(row),
    toItem: (row) => toRecord(OwnAccessRecord, { ...row, organisation: row.orgId }),
  })
}
