import type { OauthClientValues } from '../../contracts/auth/client.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { oauthClientsProjector, oauthClientsTable } from '../../projections/auth/oauth-clients.projector.ts'
import { oauthScopesProjector, oauthScopesTable } from '../../projections/auth/oauth-scopes.projector.ts'
import {
  columnsOf,
  computed,
  oneView,
  rowsOf,
  rowsWithin,
  sortOrder,
  tableOf,
  pageOf,
} from '../../engine/reads/tenant-rows.ts'

const c = columnsOf(oauthClientsTable, 'c')
const s = columnsOf(oauthScopesTable, 's')

/** The secrets of a client in the statement that reads it, so that both are of the same moment. */
const secrets = computed<OauthClientValues['secrets']>(
  `(select coalesce(jsonb_agg(jsonb_build_object('secretId', k.secret_id, 'createdAt', k.created_at,
       'expiresAt', k.expires_at, 'lastUsedAt', k.last_used_at) order by k.created_at, k.secret_id), '[]')
    from oauth_clients.oauth_client_secrets k where k.client_id = ??)`,
  [c.clientId],
)

function clientsWithin(tenant: TenantId | null) {
  return rowsWithin(oauthClientsProjector, oauthClientsTable, 'c', tenant).select({ secrets })
}

/** Postgres writes instants in JSON in a form of its own. */
function withInstants<Row extends Pick<OauthClientValues, 'secrets'>>(row: Row): Row {
  const instant = (text: string) => new Date(text).toISOString()
  const orNull = (text: string | null) => (text === null ? null : instant(text))
  return {
    ...row,
    secrets: row.secrets.map(({ secretId, createdAt, expiresAt, lastUsedAt }) => ({
      secretId,
      createdAt: instant(createdAt),
      expiresAt: orNull(expiresAt),
      lastUsedAt: orNull(lastUsedAt),
    })),
  }
}

const oldestFirst = sortOrder('asc', c.registeredAt, c.clientId)
export const { placeOf: placeOfClient } = oldestFirst

export async function listClients(pool: Pool, tenant: TenantId | null, page: PageRequest) {
  const found = await pageOf(pool, oldestFirst, clientsWithin(tenant), page)
  return { ...found, rows: found.rows.map(withInstants) }
}

export async function getClient(pool: Pool, tenant: TenantId | null, id: string) {
  return withInstants(await oneView(pool, clientsWithin(tenant).where(c.clientId, id)))
}

const byName = sortOrder('asc', s.scope)
export const { placeOf: placeOfScope } = byName

/** Scopes are the same for every organisation. */
export async function scopesOfServices(pool: Pool, serviceId: string | undefined, page: PageRequest) {
  const scopes = rowsOf(tableOf(oauthScopesProjector, oauthScopesTable, 's'), s)
  if (serviceId !== undefined) scopes.where(s.serviceId, serviceId)
  return pageOf(pool, byName, scopes, page)
}
