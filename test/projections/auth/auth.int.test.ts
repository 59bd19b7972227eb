import { describe, expect, it } from 'vitest'
import { oauthClientsProjector } from '../../../projections/auth/oauth-clients.projector.ts'
import { oauthScopesProjector } from '../../../projections/auth/oauth-scopes.projector.ts'
import { oauthClients } from '../../../streams/oauth-client/aggregate.ts'
import { oauthScopes } from '../../../streams/oauth-scope/aggregate.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'
import { at, clientFact, ids, scopeFact } from '../../streams/facts.ts'

const { stream } = oauthClients.of(ids.client)
const own = (...types: readonly Parameters<typeof clientFact>[0][]) =>
  recorded(types.map((type) => ({ ...clientFact(type), stream })))

describe('the clients read model', () => {
  it('has a client with its last change and its secrets, and no hash', async () => {
    const { oauth_clients: clients, oauth_client_secrets: secrets } = await rowsAfter(
      oauthClientsProjector,
      own(
        'OauthClientRegistered',
        'OauthClientChanged',
        'OauthClientNarrowed',
        'OauthClientSecretAdded',
        'OauthClientSecretUsed',
        'OauthTokenRevoked',
      ),
    )
    expect(clients).toEqual([
      {
        client_id: ids.client,
        org_id: ids.org,
        name: 'Demo clinic',
        product_id: ids.product,
        scopes: ['assessments:read', 'assessments:write', 'webhooks:write'],
        trusted_actor_context: true,
        status: 'active',
        auth_method: 'client_secret',
        jwks: null,
        jwks_uri: null,
        registered_at: at(0),
        updated_at: at(7),
        stream_revision: '3',
      },
    ])
    const secret = { client_id: ids.client, expires_at: null, last_used_at: null }
    expect(secrets).toEqual([
      { ...secret, secret_id: ids.clientSecret, created_at: at(0), last_used_at: at(9) },
      { ...secret, secret_id: ids.secondClientSecret, created_at: at(7), expires_at: at(600) },
    ])
  })

  it('shows removed secrets and a disabled client, and nothing of a deleted one', async () => {
    const story = [
      'OauthClientRegistered',
      'OauthClientSecretAdded',
      'OauthClientSecretRemoved',
      'OauthClientDisabled',
    ] as const
    const { oauth_clients: clients, oauth_client_secrets: secrets } = await rowsAfter(
      oauthClientsProjector,
      own(...story),
    )
    expect(clients).toMatchObject([{ status: 'disabled', updated_at: at(10), stream_revision: '3' }])
    expect(secrets).toMatchObject([{ secret_id: ids.secondClientSecret }])
    const enabled = await rowsAfter(oauthClientsProjector, own(...story, 'OauthClientEnabled'))
    expect(enabled['oauth_clients']).toMatchObject([{ status: 'active' }])
    const deleted = await rowsAfter(oauthClientsProjector, own(...story, 'OauthClientDeleted'))
    expect(deleted).toEqual({ oauth_clients: [], oauth_client_secrets: [] })
  })
})

describe('the scopes read model', () => {
  it('has each scope with its newest description', async () => {
    const again = scopeFact('OauthScopesRegistered', {
      scopes: [{ scope: 'recalls:read', description: 'Read all recalls' }],
      registeredAt: at(5),
    })
    const story = [scopeFact('OauthScopesRegistered'), again].map((fact) => ({
      ...fact,
      stream: oauthScopes.of().stream,
    }))
    const { oauth_scopes: scopes } = await rowsAfter(oauthScopesProjector, recorded(story))
    expect(scopes).toEqual([
      { scope: 'recalls:read', service_id: 'recall-service', description: 'Read all recalls', updated_at: at(5) },
    ])
  })
})
