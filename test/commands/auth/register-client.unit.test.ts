import { describe, expect, it } from 'vitest'
import { grantScopes } from '../../../commands/auth/register-client.ts'
import { registerClient } from '../../../commands/auth/register-client.ts'
import { oauthClients } from '../../../streams/oauth-client/aggregate.ts'
import { at, clientFact as fact, hash, ids } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

const registered = fact('OauthClientRegistered')
const command = {
  clientId: ids.client,
  orgId: ids.org,
  secretHash: hash('c'),
  scopes: ['assessments:read', 'assessments:write', 'webhooks:write'],
  now: new Date(at(5)),
}

describe('a client that is registered again with more scopes', () => {
  it('gets the missing scopes, once, and keeps the others', () => {
    const after = given(oauthClients, registered)
      .when(grantScopes, command)
      .thenEvents([fact('OauthClientScopesGranted')])
    expect(after).toEqual({ status: 'registered', ...registered.data, scopes: command.scopes })
  })

  it('gets no scope that it has, and loses no scope that is not named', () => {
    given(oauthClients, registered)
      .when(grantScopes, { ...command, scopes: ['assessments:read'] })
      .thenNothing()
    given(oauthClients, registered, fact('OauthClientScopesGranted')).when(grantScopes, command).thenNothing()
  })

  it('gets no scope if it is unknown, of another organisation, or has another secret', () => {
    given(oauthClients).when(grantScopes, command).thenNothing()
    given(oauthClients, registered)
      .when(grantScopes, { ...command, orgId: null })
      .thenNothing()
    given(oauthClients, registered)
      .when(grantScopes, { ...command, secretHash: hash('d') })
      .thenNothing()
  })

  it('is still registered once', () => {
    given(oauthClients, registered, fact('OauthClientScopesGranted'))
      .when(registerClient, { ...registered.data, now: new Date(at(9)) })
      .thenNothing()
  })
})
