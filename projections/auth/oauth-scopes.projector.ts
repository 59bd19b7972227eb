import type { OauthScopeEvent } from '../../streams/oauth-scope/events.ts'
import { defineProjector, defineTable } from '../../engine/projections/projector.ts'
import { upsertRow } from '../../engine/projections/row-changes.ts'

/** Scopes belong to the installation, so the rows name no organisation. */
export const oauthScopesTable = defineTable({
  name: 'oauth_scopes',
  columns: { scope: 'text', service_id: 'text', description: 'text', updated_at: 'timestamptz' },
  primaryKey: ['scope'],
  indexes: [{ columns: ['service_id', 'scope'] }],
})

export const oauthScopesProjector = defineProjector<OauthScopeEvent>()({
  name: 'oauth_scopes',
  version: 1,
  tables: [oauthScopesTable],
  handlers: {
    OauthScopesRegistered: ({ data: { serviceId, scopes, registeredAt } }) =>
      scopes.map((scope) => upsertRow(oauthScopesTable, { ...scope, serviceId, updatedAt: registeredAt })),
  },
})
