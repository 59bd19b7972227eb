import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import {
  clientSecretsTable,
  oauthClientsProjector,
  oauthClientsTable,
} from '../../projections/auth/oauth-clients.projector.ts'
import { oauthScopesProjector, oauthScopesTable } from '../../projections/auth/oauth-scopes.projector.ts'
import { childrenOf, oneView, pageOf, rowsOf, rowsWithin, sortOrder, tableOf } from '../../engine/reads/tenant-rows.ts'

const c = tableOf(oauthClientsProjector, oauthClientsTable, 'c')
const k = tableOf(oauthClientsProjector, clientSecretsTable, 'k')
const s = tableOf(oauthScopesProjector, oauthScopesTable, 's')

/** The secrets of a client in the statement that reads it, so that both are of the same moment. */
const secrets = () =>
  childrenOf(k, {
    on: { clientId: c.clientId },
    select: { secretId: k.secretId, createdAt: k.createdAt, expiresAt: k.expiresAt, lastUsedAt: k.lastUsedAt },
    orderBy: [k.createdAt, k.secretId],
  })

function clientsWithin(tenant: TenantId | null) {
  return rowsWithin(c, tenant).select({ secrets: secrets() })
}

const oldestFirst = sortOrder('asc', c.registeredAt, c.clientId)
export const { placeOf: placeOfClient } = oldestFirst

export async function listClients(pool: Pool, tenant: TenantId | null, page: PageRequest) {
  return pageOf(pool, oldestFirst, clientsWithin(tenant), page)
}

export async function getClient(pool: Pool, tenant: TenantId | null, id: string) {
  return oneView(pool, clientsWithin(tenant).where(c.clientId, id))
}

const byName = sortOrder('asc', s.scope)
export const { placeOf: placeOfScope } = byName

/** Scopes are the same for every organisation. */
export async function scopesOfServices(pool: Pool, serviceId: string | undefined, page: PageRequest) {
  const scopes = rowsOf(s)
  if (serviceId !== undefined) scopes.where(s.serviceId, serviceId)
  return pageOf(pool, byName, scopes, page)
}
