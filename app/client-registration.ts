import { randomBytes } from 'node:crypto'
import { v4, v7 } from 'uuid'
import { grantScopes, registerFirstClient } from '../commands/auth/register-client.ts'
import { registerScopes } from '../commands/auth/register-scopes.ts'
import { builtInScopes, builtInService, serviceScopes } from '../commands/auth/scopes.ts'
import { saveTemplate } from '../commands/notifications/save-template.ts'
import { seededTemplates } from '../commands/notifications/seeded-templates.ts'
import { execute } from '../engine/commands/execute.ts'
import { answeringRefusals } from '../engine/commands/refusals.ts'
import { platformPermissions, registerPermissions } from '../commands/users/permissions.ts'
import {
  isRegistered,
  liveSecrets,
  oauthClients,
  type RegisteredOauthClient,
} from '../streams/oauth-client/aggregate.ts'
import { oauthScopes } from '../streams/oauth-scope/aggregate.ts'
import { templateOf } from '../streams/notification-template/aggregate.ts'
import { permissions } from '../streams/permission/aggregate.ts'
import type { EventStore } from '../engine/store/event-store.ts'
import type { Configuration } from '../platform/configuration/configuration.ts'
import { tenantOfFact, type CommandContext } from '../platform/kit/tenants.ts'
import { isUuid } from '../platform/http/formats.ts'
import type { Logger } from '../platform/observability/logging.ts'
import { ConfigurationError } from '../platform/configuration/profile-rules.ts'
import type { Vault } from '../platform/vault/vault.ts'
import type { ClientOrder } from './client-orders.ts'
import { onConfiguredServers } from './configured-servers.ts'

export interface NewClient {
  readonly clientId: string
  readonly secret: string
  readonly name: string
  /** Null for the platform-level client. */
  readonly orgId: string | null
  readonly productId: string | null
  readonly scopes: readonly string[]
  readonly trustedActorContext: boolean
}

/** Registers a client that does not exist yet. An existing client is not changed. */
export async function registerFirst(store: EventStore, vault: Vault, client: NewClient, now: Date): Promise<void> {
  const { secret, ...data } = client
  const command = {
    ...data,
    orgId: client.orgId === null ? null : tenantOfFact(client.orgId),
    authMethod: 'client_secret',
    secret: { secretId: v4(), hash: vault.fingerprint(secret), expiresAt: null },
    jwks: null,
    jwksUri: null,
    fingerprint: null,
    now,
  } as const
  await execute(
    store,
    oauthClients.of(client.clientId),
    (state) => registerFirstClient(command, state),
    contextOf(client),
  )
}

/**
 * Registers a client, or finds the one with its id and adds missing scopes. Resolves to the client as stored.
 * @throws ClientTakenError if the id belongs to another organisation's client, or if the client does not accept the
 * secret; that client gets no scopes
 */
export async function registerOnce(
  store: EventStore,
  vault: Vault,
  client: NewClient,
  now: Date,
): Promise<RegisteredOauthClient> {
  await registerFirst(store, vault, client, now)
  const { clientId, orgId, scopes } = client
  const target = oauthClients.of(clientId)
  const secretHash = vault.fingerprint(client.secret)
  const { state: found } = await store.load(target)
  if (found.status !== 'active') throw new ClientTakenError(`${clientId} is disabled or deleted: choose another id`)
  if (found.orgId !== orgId)
    throw new ClientTakenError(
      `${clientId} names the client of ${found.orgId === null ? 'the services' : 'an organisation'}: choose another id`,
    )
  if (!liveSecrets(found, now).some(({ hash }) => hash === secretHash))
    throw new ClientTakenError(`${clientId} is registered with another secret: set that one, or choose a new id`)
  const command = { clientId, orgId, secretHash, scopes, now }
  const { state } = await execute(store, target, (current) => grantScopes(command, current), contextOf(client))
  return isRegistered(state) ? state : found
}

/** The built-in scopes, so that the list of scopes contains them. Every start does this; a later one adds what is new. */
export async function seedScopes(store: EventStore, now: Date): Promise<void> {
  const scopes = [...builtInScopes].map(([scope, description]) => ({ scope, description }))
  const command = { serviceId: builtInService, scopes, now }
  await execute(
    store,
    oauthScopes.of(),
    (state) => answering(registerScopes(command, state)),
    contextOf({ orgId: null }),
  )
}

/** The permissions of the platform, so that roles can have them before anyone registers. Every start does this. */
export async function seedPermissions(store: EventStore, now: Date): Promise<void> {
  const command = {
    serviceId: 'platform',
    clientId: null,
    permissions: platformPermissions.map((one) => ({ permissionId: v7(), ...one })),
    changedBy: 'platform',
    now,
  }
  await execute(
    store,
    permissions.of(),
    (state) => answering(registerPermissions(command, state)),
    contextOf({ orgId: null }),
  )
}

/**
 * Saves the templates of the platform. Every start restores changed templates as a new version. If two processes start
 * at once, one saves and the other finds the same content.
 */
export async function seedTemplates(store: EventStore, now: Date): Promise<void> {
  const save = async (template: (typeof seededTemplates)[number]) => {
    const command = { ...template, isSeed: true, now }
    await execute(store, templateOf(template), (state) => answering(saveTemplate(command, state)), contextOf(template))
  }
  await Promise.all(seededTemplates.map(save))
}

const answering = answeringRefusals({})

/** The start of a platform acts here, and no caller. */
function contextOf({ orgId }: { readonly orgId: string | null }): CommandContext {
  const commandId = v4()
  return { commandId, correlationId: commandId, clientId: 'platform', ...(orgId === null ? {} : { orgId }) }
}

/**
 * Registers the client with which services call each other. Every API instance does this at its start.
 * @throws ConfigurationError if the id belongs to another secret or another client
 */
export async function registerServiceClient(
  store: EventStore,
  vault: Vault,
  configuration: Configuration,
  now: Date,
): Promise<void> {
  const { serviceClientId = '', serviceClientSecret: secret = '' } = configuration
  const clientId = serviceClientId.toLowerCase()
  if (!isUuid(clientId)) throw new ConfigurationError('SERVICE_CLIENT_ID must be a UUID')
  const client = {
    clientId,
    secret,
    name: 'platform services',
    orgId: null,
    productId: null,
    scopes: serviceScopes,
    trustedActorContext: false,
  }
  await seedScopes(store, now)
  await seedPermissions(store, now)
  await seedTemplates(store, now)
  await registerOnce(store, vault, client, now).catch((error: unknown) => {
    if (!(error instanceof ClientTakenError)) throw error
    throw new ConfigurationError(`SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET: ${error.message}`, { cause: error })
  })
}

/** The id belongs to a client that differs in ways that no start may change. */
class ClientTakenError extends Error {
  override readonly name = 'ClientTakenError'
}

/** Printed once for a new client. */
export interface ClientCredentials {
  readonly client_id: string
  readonly client_secret: string
  readonly org_id: string
  readonly product_id: string
  readonly scopes: readonly string[]
  readonly trusted_actor_context: boolean
}

/** Registers a client of an organisation on the configured servers. */
export async function registerOrdered(
  configuration: Configuration,
  order: ClientOrder,
  logger: Logger,
): Promise<ClientCredentials> {
  return onConfiguredServers(configuration, logger, async ({ store, vault }) => {
    const client = {
      clientId: v4(),
      secret: randomBytes(32).toString('base64url'),
      name: 'client registered by an operator',
      orgId: order.orgId ?? v4(),
      productId: order.productId ?? v4(),
      scopes: order.scopes,
      trustedActorContext: order.trustedActorContext,
    }
    await registerFirst(store, vault, client, new Date())
    const { clientId, secret, orgId, productId, scopes, trustedActorContext } = client
    return {
      client_id: clientId,
      client_secret: secret,
      org_id: orgId,
      product_id: productId,
      scopes,
      trusted_actor_context: trustedActorContext,
    }
  })
}
