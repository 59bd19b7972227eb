import { Type } from 'typebox'
import { AccessRecord, toAccessRecord } from '../../contracts/audit/access-record.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import type { ReadDependencies } from '../../engine/reads/read-route.ts'
import { Instant, Uuid } from '../../platform/http/members.ts'
import { problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { listAccesses, placeOfAccess } from './access-queries.ts'
import { requirePeriod } from './period.ts'

export interface AccessRouteDependencies extends Pick<ReadDependencies, 'pool' | 'vault' | 'cursors' | 'now'> {
  readonly configuration: Pick<ReadDependencies['configuration'], 'accessLogRetentionDays'>
}

export interface ReaderRouteDependencies extends AccessRouteDependencies {
  /** HMAC of the recipient of a mail. The read model does not contain the recipient. */
  readonly recipientKeyOf: (recipientRef: string) => string
}

/** The first instant that the access log still shows. */
export function shownSince({ now, configuration }: Pick<AccessRouteDependencies, 'now' | 'configuration'>): string {
  return new Date(now().getTime() - configuration.accessLogRetentionDays * 86_400_000).toISOString()
}

/** Who saw it. */
export function accessRoutes(app: ServiceApp, deps: ReaderRouteDependencies): void {
  listRoute(app, deps, {
    path: '/access-log',
    operationId: 'listAccesses',
    summary: 'Who saw personal content, the latest first',
    description:
      'Of a patient, of an actor or of a client: at least one of them. An answer is listed within about a second after it left. Messages about a patient are listed too, with the operations `webhook` and `email`.',
    query: {
      patient_id: Type.Optional(Uuid),
      actor_user_id: Type.Optional(Uuid),
      client_id: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
      category: Type.Optional(AccessRecord.properties.categories.items),
      from: Type.Optional(Type.String({ ...Instant, description: 'Accesses at this instant or later' })),
      to: Type.Optional(Type.String({ ...Instant, description: 'Accesses before this instant' })),
    },
    access: { scopes: ['audit:read'], alsoOfActor: true },
    servedBy: [],
    problems: ['one-filter-required'],
    list: 'access-log',
    sort: '-at',
    pageName: 'AccessRecordPage',
    item: AccessRecord,
    rows: ({ tenant, query }, page) => {
      requirePeriod(query)
      const { patient_id: patientId, actor_user_id: userId, client_id: clientId, category, from, to } = query
      if (patientId === undefined && userId === undefined && clientId === undefined)
        throw problem('one-filter-required')
      const user = userId === undefined ? undefined : { id: userId, recipientKey: deps.recipientKeyOf(userId) }
      const filters = { patientId, user, clientId, category, from, to, since: shownSince(deps) }
      return listAccesses(deps, tenant, filters, page)
    },
    placeOf: (row) => placeOfAccess(row),
    toItem: (row) => toAccessRecord(row),
  })
}
