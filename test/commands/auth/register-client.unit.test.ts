import { describe, expect, it } from 'vitest'
import { grantScopes, registerClient, registerFirstClient } from '../../../commands/auth/register-client.ts'
import { oauthClients } from '../../../streams/oauth-client/aggregate.ts'
import { at, clientFact as fact, hash, ids } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

const registered = fact('OauthClientRegistered')
const { registeredAt: _, ...usual } = registered.data
const register = { ...usual, now: new Date(at(0)) }

describe('registering a client', () => {
  it('stores the scopes sorted and once', () => {
    given(oauthClients)
      .when(registerClient, { ...register, scopes: ['b:read', 'a:read', 'b:read'], fingerprint: hash('f') })
      .thenEvents([fact('OauthClientRegistered', { scopes: ['a:read', 'b:read'], fingerprint: hash('f') })])
  })

  it('happens once for a key, is refused for another body, and never brings a deleted client back', () => {
    const keyed = given(oauthClients, fact('OauthClientRegistered', { fingerprint: hash('f') }))
    keyed.when(registerClient, { ...register, fingerprint: hash('f') }).thenNothing()
    keyed.when(registerClient, { ...register, fingerprint: hash('a') }).thenRefused('idempotency-key-reused')
    given(oauthClients, registered, fact('OauthClientDeleted'))
      .when(registerClient, register)
      .thenRefused('client-deleted')
  })

  it('happens at the first start of a platform only, also after the client was changed or deleted', () => {
    given(oauthClients).when(registerFirstClient, register).thenEvents([registered])
    given(oauthClients, registered, fact('OauthClientDisabled')).when(registerFirstClient, register).thenNothing()
    given(oauthClients, registered, fact('OauthClientDeleted')).when(registerFirstClient, register).thenNothing()
  })
})

const command = {
  clientId: ids.client,
  orgId: ids.org,
  secretHash: hash('c'),
  scopes: ['assessments:read', 'assessments:write', 'webhooks:write'],
  now: new Date(at(5)),
}

describe('a client that is registered again with more scopes', () => {
  it('is granted missing scopes once, and keeps the others', () => {
    const after = given(oauthClients, registered)
      .when(grantScopes, command)
      .thenEvents([fact('OauthClientChanged')])
    expect(after).toMatchObject({ status: 'active', scopes: command.scopes, tokensValidFrom: 0 })
  })

  it('gets no scope that it has, and loses no scope that is not named', () => {
    given(oauthClients, registered)
      .when(grantScopes, { ...command, scopes: ['assessments:read'] })
      .thenNothing()
    given(oauthClients, registered, fact('OauthClientChanged')).when(grantScopes, command).thenNothing()
  })

  it('is granted nothing if it is unknown, deleted, of another organisation, or has another secret', () => {
    given(oauthClients).when(grantScopes, command).thenNothing()
    given(oauthClients, registered, fact('OauthClientDeleted')).when(grantScopes, command).thenNothing()
    const client = given(oauthClients, registered)
    client.when(grantScopes, { ...command, orgId: null }).thenNothing()
    client.when(grantScopes, { ...command, secretHash: hash('d') }).thenNothing()
  })
})
