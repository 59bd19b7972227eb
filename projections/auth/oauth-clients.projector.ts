import { Type } from 'typebox'
import { AuthMethod, ClientKey, type OauthClientEvent } from '../../streams/oauth-client/events.ts'
import { defineProjector, defineTable } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, removeRow, removeRows } from '../../engine/projections/row-changes.ts'

export const oauthClientsTable = defineTable({
  name: 'oauth_clients',
  columns: {
    client_id: 'uuid',
    org_id: { type: 'uuid', nullable: true },
    name: 'text',
    product_id: { type: 'uuid', nullable: true },
    scopes: { type: 'jsonb', schema: Type.Array(Type.String()) },
    trusted_actor_context: 'boolean',
    status: { type: 'text', values: ['active', 'disabled'] },
    auth_method: { type: 'text', values: AuthMethod.enum },
    jwks: { type: 'jsonb', schema: Type.Array(ClientKey), nullable: true },
    jwks_uri: { type: 'text', nullable: true },
    registered_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['client_id'],
  indexes: [{ columns: ['org_id', 'registered_at', 'client_id'] }, { columns: ['registered_at', 'client_id'] }],
})

/** No hash of a secret: only the token endpoint compares them, with the stream. */
export const clientSecretsTable = defineTable({
  name: 'oauth_client_secrets',
  columns: {
    client_id: 'uuid',
    secret_id: 'uuid',
    created_at: 'timestamptz',
    expires_at: { type: 'timestamptz', nullable: true },
    last_used_at: { type: 'timestamptz', nullable: true },
  },
  primaryKey: ['client_id', 'secret_id'],
  indexes: [],
})

/** `stream_revision` is that of the record's last change. The use of a secret and the end of a token change no record. */
export const oauthClientsProjector = defineProjector<OauthClientEvent>()({
  name: 'oauth_clients',
  version: 1,
  tables: [oauthClientsTable, clientSecretsTable],
  handlers: {
    OauthClientRegistered: ({ data, revision }) => [
      insertRow(oauthClientsTable, {
        ...data,
        status: 'active',
        updatedAt: data.registeredAt,
        streamRevision: revision,
      }),
      ...(data.secret === null
        ? []
        : [
            insertRow(clientSecretsTable, {
              clientId: data.clientId,
              secretId: data.secret.secretId,
              createdAt: data.registeredAt,
              expiresAt: data.secret.expiresAt,
            }),
          ]),
    ],
    OauthClientChanged: ({ data, revision }) => [
      patchRow(oauthClientsTable, { ...data, updatedAt: data.changedAt, streamRevision: revision }),
    ],
    OauthClientNarrowed: ({ data: { clientId, narrowedAt }, revision }) => [touched(clientId, narrowedAt, revision)],
    OauthClientSecretAdded: ({ data, revision }) => [
      insertRow(clientSecretsTable, {
        clientId: data.clientId,
        secretId: data.secretId,
        createdAt: data.addedAt,
        expiresAt: data.expiresAt,
      }),
      touched(data.clientId, data.addedAt, revision),
    ],
    OauthClientSecretRemoved: ({ data: { clientId, secretId, removedAt }, revision }) => [
      removeRow(clientSecretsTable, { clientId, secretId }),
      touched(clientId, removedAt, revision),
    ],
    OauthClientSecretUsed: ({ data: { clientId, secretId, usedAt } }) => [
      patchRow(clientSecretsTable, { clientId, secretId, lastUsedAt: usedAt }),
    ],
    OauthClientDisabled: ({ data: { clientId, disabledAt }, revision }) => [
      patchRow(oauthClientsTable, { clientId, status: 'disabled', updatedAt: disabledAt, streamRevision: revision }),
    ],
    OauthClientEnabled: ({ data: { clientId, enabledAt }, revision }) => [
      patchRow(oauthClientsTable, { clientId, status: 'active', updatedAt: enabledAt, streamRevision: revision }),
    ],
    OauthClientDeleted: ({ data: { clientId } }) => [
      removeRows(clientSecretsTable, { clientId }),
      removeRow(oauthClientsTable, { clientId }),
    ],
    // The record does not show single tokens.
    OauthTokenRevoked: () => [],
  },
})

function touched(clientId: string, updatedAt: string, streamRevision: bigint) {
  return patchRow(oauthClientsTable, { clientId, updatedAt, streamRevision })
}
