import type { OauthClientState, RegisteredOauthClient } from '../../streams/oauth-client/aggregate.ts'
import type { ClientKey, OauthClientEvent } from '../../streams/oauth-client/events.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'
import { administered, isRefused, needsPlatform, type Administration } from './client-rules.ts'
import { exceedsOrganisation, isCovered } from './scopes.ts'

export interface ChangeClient extends Administration {
  /** Undefined members stay as they are. */
  readonly name: string | undefined
  readonly scopes: readonly string[] | undefined
  readonly productId: string | null | undefined
  readonly status: 'active' | 'disabled' | undefined
  readonly trustedActorContext: boolean | undefined
  /** New keys replace an address of keys, and the other way round. */
  readonly jwks: ClientKey[] | undefined
  readonly jwksUri: string | undefined
  /** Scopes of `scopes` that nobody registered. */
  readonly unknownScopes: readonly string[]
  readonly now: Date
}

type ClientRefusal = 'not-found' | 'client-read-only' | 'precondition-failed'

/** Tokens from before the loss of a scope, the product or the trust end. */
export function changeClient(
  command: ChangeClient,
  state: OauthClientState,
): Decision<
  OauthClientEvent,
  ClientRefusal | 'grant-not-permitted' | 'unknown-scope' | 'scope-of-platform-clients' | 'authentication-method-fixed'
> {
  const own = administered(command, state)
  if (isRefused(own)) return own
  const after = afterwards(command, own)
  if (!command.isPlatformWide && needsPlatform({ ...after, orgId: own.orgId })) return refused('grant-not-permitted')
  if (command.unknownScopes.some((scope) => !own.scopes.includes(scope))) return refused('unknown-scope')
  if (exceedsOrganisation(own.orgId, after.scopes)) return refused('scope-of-platform-clients')
  const changesKeys = command.jwks !== undefined || command.jwksUri !== undefined
  if (changesKeys && own.authMethod !== 'private_key_jwt') return refused('authentication-method-fixed')
  return [...described(command, own, after), ...switched(command, own)]
}

type Description = ReturnType<typeof descriptionOf>

/** The members of a client that an administrator may change. */
export function descriptionOf({
  name,
  productId,
  trustedActorContext,
  scopes,
  jwks,
  jwksUri,
}: Pick<RegisteredOauthClient, 'name' | 'productId' | 'trustedActorContext' | 'scopes' | 'jwks' | 'jwksUri'>) {
  return { name, productId, trustedActorContext, scopes, jwks, jwksUri }
}

function afterwards(command: ChangeClient, own: RegisteredOauthClient): Description {
  const { name = own.name, trustedActorContext = own.trustedActorContext, jwks, jwksUri } = command
  const replacesKeys = jwks !== undefined || jwksUri !== undefined
  return {
    name,
    productId: command.productId === undefined ? own.productId : command.productId,
    trustedActorContext,
    scopes: [...new Set(command.scopes ?? own.scopes)].toSorted(),
    jwks: replacesKeys ? (jwks ?? null) : own.jwks,
    jwksUri: replacesKeys ? (jwksUri ?? null) : own.jwksUri,
  }
}

function described({ now }: ChangeClient, own: RegisteredOauthClient, after: Description): OauthClientEvent[] {
  const before = descriptionOf(own)
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  const { clientId } = own
  const at = now.toISOString()
  const isNarrower =
    before.scopes.some((scope) => !isCovered(scope, after.scopes)) ||
    before.productId !== after.productId ||
    (before.trustedActorContext && !after.trustedActorContext)
  return [
    { type: 'OauthClientChanged', data: { ...after, clientId, changedAt: at } },
    ...(isNarrower ? ([{ type: 'OauthClientNarrowed', data: { clientId, narrowedAt: at } }] as const) : []),
  ]
}

function switched({ status, now }: ChangeClient, { clientId, ...own }: RegisteredOauthClient): OauthClientEvent[] {
  if (status === undefined || status === own.status) return []
  const at = now.toISOString()
  return status === 'active'
    ? [{ type: 'OauthClientEnabled', data: { clientId, enabledAt: at } }]
    : [{ type: 'OauthClientDisabled', data: { clientId, disabledAt: at } }]
}

/** For good. All tokens of the client end. */
export function deleteClient(
  command: Administration & { readonly now: Date },
  state: OauthClientState,
): Decision<OauthClientEvent, ClientRefusal> {
  const own = administered(command, state)
  if (isRefused(own)) return own
  return [{ type: 'OauthClientDeleted', data: { clientId: own.clientId, deletedAt: command.now.toISOString() } }]
}
