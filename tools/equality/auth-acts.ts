import { oauthClients } from '../../streams/oauth-client/aggregate.ts'
import { oauthScopes } from '../../streams/oauth-scope/aggregate.ts'
import { tenantOfFact } from '../../platform/kit/tenants.ts'
import { clientFact, ids, scopeFact } from '../../test/streams/facts.ts'
import type { Act } from './clinical-acts.ts'

/** A client from its registration to its end, half of the clients with every change on the way. */
export const administerClient: Act = (story, random, text) => {
  const orgId = tenantOfFact(story.id(random))
  const clientId = story.id(random)
  const { stream } = oauthClients.of(clientId)
  const append = (...facts: ReturnType<typeof clientFact>[]) => {
    for (const fact of facts) story.append(orgId, stream, fact)
  }
  const owner = random.oneIn(3) ? null : orgId
  append(
    clientFact('OauthClientRegistered', { clientId, orgId: owner, name: text, registeredAt: story.instant(random) }),
  )
  if (random.oneIn(2)) {
    append(
      clientFact('OauthClientChanged', { clientId, name: text, productId: null, changedAt: story.instant(random) }),
    )
    append(clientFact('OauthClientNarrowed', { clientId, narrowedAt: story.instant(random) }))
    append(clientFact('OauthClientSecretUsed', { clientId, usedAt: story.instant(random) }))
    append(clientFact('OauthClientSecretAdded', { clientId, addedAt: story.instant(random) }))
    append(clientFact('OauthClientSecretRemoved', { clientId, secretId: ids.clientSecret }))
    append(clientFact('OauthClientDisabled', { clientId, disabledAt: story.instant(random) }))
    append(clientFact('OauthClientEnabled', { clientId, enabledAt: story.instant(random) }))
    append(clientFact('OauthTokenRevoked', { clientId }))
  }
  if (random.oneIn(3)) append(clientFact('OauthClientDeleted', { clientId }))
}

export const registerScopes: Act = (story, random, text) => {
  const scopes = [{ scope: `recalls:${random.oneIn(2) ? 'read' : 'write'}`, description: text }]
  const fact = scopeFact('OauthScopesRegistered', { scopes, registeredAt: story.instant(random) })
  story.append(ids.org, oauthScopes.of().stream, fact)
}
