import { describe, expect, it } from 'vitest'
import { changeClient, deleteClient } from '../../../commands/auth/change-client.ts'
import { addSecret, removeSecret, useSecret } from '../../../commands/auth/client-secrets.ts'
import { registerScopes } from '../../../commands/auth/register-scopes.ts'
import { builtInScopes, builtInService, isCovered } from '../../../commands/auth/scopes.ts'
import { isRegistered, isRevoked, oauthClients } from '../../../streams/oauth-client/aggregate.ts'
import { oauthScopes } from '../../../streams/oauth-scope/aggregate.ts'
import { at, clientFact as fact, hash, ids, scopeFact } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

const registered = fact('OauthClientRegistered', { trustedActorContext: false })
const platform = { tenant: null, isPlatformWide: true, admitted: undefined }
const own = { tenant: ids.org, isPlatformWide: false, admitted: undefined }
const unchanged = {
  name: undefined,
  scopes: undefined,
  productId: undefined,
  status: undefined,
  trustedActorContext: undefined,
  jwks: undefined,
  jwksUri: undefined,
  unknownScopes: [],
  now: new Date(at(5)),
}
const change = { ...own, ...unchanged }
const changed = (more: object) => fact('OauthClientChanged', { trustedActorContext: false, ...more })
const narrowed = fact('OauthClientNarrowed', { narrowedAt: at(5) })

describe('changing a client', () => {
  it('appends the whole description once, and nothing for what it has already', () => {
    const scopes = ['webhooks:write', 'assessments:read', 'assessments:write']
    given(oauthClients, registered)
      .when(changeClient, { ...change, scopes })
      .thenEvents([changed({ scopes: scopes.toSorted() })])
    given(oauthClients, registered)
      .when(changeClient, { ...change, scopes: ['assessments:write', 'assessments:read'], status: 'active' })
      .thenNothing()
  })

  it('narrows it where a scope, the product or the trust is lost, so that older tokens end', () => {
    const scopes = ['assessments:read']
    const after = given(oauthClients, registered)
      .when(changeClient, { ...change, scopes })
      .thenEvents([changed({ scopes }), narrowed])
    expect(after).toMatchObject({ tokensValidFrom: 2, revision: 2, applied: 3 })
    given(oauthClients, registered)
      .when(changeClient, { ...change, productId: null })
      .thenEvents([changed({ productId: null, scopes: ['assessments:read', 'assessments:write'] }), narrowed])
    given(oauthClients, fact('OauthClientRegistered'))
      .when(changeClient, { ...change, ...platform, trustedActorContext: false })
      .thenEvents([changed({ scopes: ['assessments:read', 'assessments:write'] }), narrowed])
  })

  it('does not narrow it where a star takes the place of its parts, and does where a part takes that of the star', () => {
    const part = fact('OauthClientRegistered', { trustedActorContext: false, scopes: ['orchestrator:read'] })
    const star = fact('OauthClientRegistered', { trustedActorContext: false, scopes: ['orchestrator:*'] })
    given(oauthClients, part)
      .when(changeClient, { ...change, scopes: ['orchestrator:*'] })
      .thenEvents([changed({ scopes: ['orchestrator:*'] })])
    given(oauthClients, star)
      .when(changeClient, { ...change, scopes: ['orchestrator:read'] })
      .thenEvents([changed({ scopes: ['orchestrator:read'] }), narrowed])
  })

  it('disables and enables it; tokens from before stay ended', () => {
    const disabled = given(oauthClients, registered)
      .when(changeClient, { ...change, status: 'disabled' })
      .thenEvents([fact('OauthClientDisabled', { disabledAt: at(5) })])
    expect(disabled).toMatchObject({ status: 'disabled', tokensValidFrom: 1 })
    const enabled = given(oauthClients, registered, fact('OauthClientDisabled'))
      .when(changeClient, { ...change, status: 'active' })
      .thenEvents([fact('OauthClientEnabled', { enabledAt: at(5) })])
    expect(enabled).toMatchObject({ status: 'active', tokensValidFrom: 1, revision: 2 })
  })

  it('replaces an address of keys by keys, and gives a client with secrets no keys', () => {
    const key = { kid: 'k', kty: 'RSA', n: 'AQAB', e: 'AQAB' } as const
    const byKey = fact('OauthClientRegistered', {
      trustedActorContext: false,
      authMethod: 'private_key_jwt',
      secret: null,
      jwksUri: 'https://keys.example/',
    })
    const scopes = ['assessments:read', 'assessments:write']
    given(oauthClients, byKey)
      .when(changeClient, { ...change, jwks: [key] })
      .thenEvents([changed({ scopes, jwks: [key], jwksUri: null })])
    given(oauthClients, registered)
      .when(changeClient, { ...change, jwks: [key] })
      .thenRefused('authentication-method-fixed')
  })

  it('is refused: unknown scopes, another revision, more than the caller may grant', () => {
    const client = given(oauthClients, registered)
    const scopes = ['no:such']
    client.when(changeClient, { ...change, scopes, unknownScopes: scopes }).thenRefused('unknown-scope')
    client.when(changeClient, { ...change, name: 'B', admitted: [1n] }).thenRefused('precondition-failed')
    for (const more of [{ scopes: ['auth:admin'] }, { scopes: ['ai-review:read-raw'] }, { trustedActorContext: true }])
      client.when(changeClient, { ...change, ...more }).thenRefused('grant-not-permitted')
    given(oauthClients, fact('OauthClientRegistered'))
      .when(changeClient, { ...change, name: 'B' })
      .thenRefused('client-read-only')
  })

  it('of another organisation, of the platform, absent or deleted is not found', () => {
    const foreign = { ...change, tenant: ids.otherPatient, name: 'B' }
    given(oauthClients, registered).when(changeClient, foreign).thenRefused('not-found')
    given(oauthClients, fact('OauthClientRegistered', { orgId: null }))
      .when(changeClient, { ...change, name: 'B' })
      .thenRefused('not-found')
    given(oauthClients).when(changeClient, change).thenRefused('not-found')
    given(oauthClients, registered, fact('OauthClientDeleted')).when(changeClient, change).thenRefused('not-found')
  })
})

describe('deleting a client', () => {
  it('happens once; afterwards it is not found', () => {
    given(oauthClients, registered)
      .when(deleteClient, { ...own, now: new Date(at(12)) })
      .thenEvents([fact('OauthClientDeleted')], 'not-found')
  })
})

describe('the secrets of a client', () => {
  const add = {
    ...own,
    secretId: ids.secondClientSecret,
    hash: hash('d'),
    expiresAt: new Date(at(600)),
    fingerprint: hash('f'),
    now: new Date(at(7)),
  }
  const added = fact('OauthClientSecretAdded')
  const remove = { ...own, secretId: ids.clientSecret, now: new Date(at(8)) }

  it('are two at most, and an expired one counts', () => {
    given(oauthClients, registered).when(addSecret, add).thenEvents([added])
    const both = given(oauthClients, registered, added)
    both
      .when(addSecret, { ...add, secretId: ids.event, now: new Date(at(700)), expiresAt: null })
      .thenRefused('client-secret-limit')
    both.when(addSecret, { ...add, fingerprint: hash('a') }).thenRefused('idempotency-key-reused')
    given(oauthClients, registered)
      .when(addSecret, { ...add, expiresAt: add.now })
      .thenRefused('expires-in-past')
  })

  it('are removed but for the last one, and a removed one does not come back by its key', () => {
    given(oauthClients, registered, added)
      .when(removeSecret, remove)
      .thenEvents([fact('OauthClientSecretRemoved')], 'not-found')
    given(oauthClients, registered).when(removeSecret, remove).thenRefused('last-secret')
    given(oauthClients, registered, added, fact('OauthClientSecretRemoved', { secretId: ids.secondClientSecret }))
      .when(addSecret, add)
      .thenRefused('secret-removed')
  })

  it('are marked as used at most once an hour, which is no new revision of the record', () => {
    const use = { secretId: ids.clientSecret, now: new Date(at(9)) }
    const after = given(oauthClients, registered)
      .when(useSecret, use)
      .thenEvents([fact('OauthClientSecretUsed')])
    expect(after).toMatchObject({ revision: 0, applied: 2, secrets: [{ lastUsedAt: at(9) }] })
    const used = given(oauthClients, registered, fact('OauthClientSecretUsed'))
    used.when(useSecret, { ...use, now: new Date(at(3608)) }).thenNothing()
    const later = fact('OauthClientSecretUsed', { usedAt: at(3609) })
    used.when(useSecret, { ...use, now: new Date(at(3609)) }).thenEvents([later])
    given(oauthClients, registered)
      .when(useSecret, { ...use, secretId: ids.event })
      .thenNothing()
  })
})

describe('revoked tokens in the state of a client', () => {
  const revoked = (jti: string, second: number) =>
    fact('OauthTokenRevoked', { jti, revokedAt: at(second), expiresAt: at(second + 100) })
  const knownAfter = (...facts: ReturnType<typeof revoked>[]) => {
    const { state } = given(oauthClients, registered, ...facts)
    return ['a', 'b', 'c', 'd'].filter((jti) => isRegistered(state) && isRevoked(state, jti))
  }

  it('are known until a day after they have ended, and are then forgotten', () => {
    expect(knownAfter(revoked('a', 0), revoked('b', 90), revoked('c', 90_000), revoked('d', 180_000))).toEqual([
      'c',
      'd',
    ])
  })

  it('stay known when a server whose clock is hours ahead revokes others', () => {
    expect(knownAfter(revoked('a', 10), revoked('b', 50_000), revoked('c', 60_000))).toEqual(['a', 'b', 'c'])
  })
})

describe('registering scopes', () => {
  const command = {
    serviceId: 'recall-service',
    scopes: scopeFact('OauthScopesRegistered').data.scopes,
    now: new Date(at(0)),
  }

  it('appends new and newly described ones, once', () => {
    given(oauthScopes)
      .when(registerScopes, command)
      .thenEvents([scopeFact('OauthScopesRegistered')])
    const scopes = [{ scope: 'recalls:read', description: 'Read all recalls' }]
    given(oauthScopes, scopeFact('OauthScopesRegistered'))
      .when(registerScopes, { ...command, scopes })
      .thenEvents([scopeFact('OauthScopesRegistered', { scopes })])
  })

  it('is refused for scopes of another service and of the platform, which alone seeds the built-in ones', () => {
    given(oauthScopes, scopeFact('OauthScopesRegistered'))
      .when(registerScopes, { ...command, serviceId: 'other' })
      .thenRefused('scope-owned-by-other-service')
    const scopes = [...builtInScopes].map(([scope, description]) => ({ scope, description }))
    given(oauthScopes)
      .when(registerScopes, { ...command, scopes })
      .thenRefused('scope-owned-by-other-service')
    given(oauthScopes)
      .when(registerScopes, { ...command, serviceId: builtInService, scopes })
      .thenEvents([scopeFact('OauthScopesRegistered', { serviceId: builtInService, scopes })])
  })

  it('a star covers read and write of its service, and nothing else', () => {
    const covered = (scope: string) => isCovered(scope, ['orchestrator:*', 'auth:*'])
    expect(['orchestrator:*', 'orchestrator:read', 'orchestrator:write'].every(covered)).toBe(true)
    expect(['auth:admin', 'orchestrator', 'other:read', 'orchestrator:a:read'].some(covered)).toBe(false)
  })
})
