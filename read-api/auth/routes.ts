import { Type } from 'typebox'
import { OauthClientRecord, toOauthClientRecord } from '../../contracts/auth/client.ts'
import { OauthScopeRecord } from '../../contracts/auth/scope.ts'
import { toRecord } from '../../engine/reads/records.ts'
import { Uuid } from '../../platform/http/members.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { oauthClientsProjector } from '../../projections/auth/oauth-clients.projector.ts'
import { oauthScopesProjector } from '../../projections/auth/oauth-scopes.projector.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { atRevision, readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import { getClient, listClients, placeOfClient, placeOfScope, scopesOfServices } from './queries.ts'

const usual = { access: { admin: 'auth:admin', orScope: 'auth:admin' }, tenancy: 'optional' } as const

/** Clients and scopes for administrators. No answer contains a secret. */
export function authReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool } = deps

  listRoute(app, deps, {
    ...usual,
    servedBy: [oauthClientsProjector],
    path: '/clients',
    operationId: 'listOauthClients',
    summary: 'Clients, the oldest first',
    description: 'Of the organisation. A platform caller that names none gets the clients of all, and of the platform.',
    list: 'oauth-clients',
    sort: 'created_at',
    pageName: 'OauthClientPage',
    item: OauthClientRecord,
    rows: ({ tenant }, page) => listClients(pool, tenant, page),
    placeOf: (row) => placeOfClient(row),
    toItem: (row) => toOauthClientRecord(row),
  })

  readRoute(app, {
    ...usual,
    servedBy: [oauthClientsProjector],
    path: '/clients/:id',
    operationId: 'getOauthClient',
    summary: 'A client',
    description: '`last_used_at` of a secret is at most an hour old, and does not change the ETag.',
    params: { id: Uuid },
    reply: OauthClientRecord,
    find: async ({ tenant, params }) => atRevision(await getClient(pool, tenant, params.id), toOauthClientRecord),
  })

  listRoute(app, deps, {
    ...usual,
    servedBy: [oauthScopesProjector],
    path: '/scopes',
    operationId: 'listOauthScopes',
    summary: 'Scopes that clients may hold, by name',
    query: { service_id: Type.Optional(Type.String({ maxLength: 255 })) },
    list: 'oauth-scopes',
    sort: 'scope',
    pageName: 'OauthScopePage',
    item: OauthScopeRecord,
    rows: ({ query }, page) => scopesOfServices(pool, query.service_id, page),
    placeOf: (row) => placeOfScope(row),
    toItem: (row) => toRecord(OauthScopeRecord, row),
  })
}
