import { randomBytes } from 'node:crypto'
import { v4 } from 'uuid'
import { clientScopes, serviceScopes } from '../commands/auth/scopes.ts'
import type { UserDependencies } from '../commands/users/registration-attempt.ts'
import {
  IdentityProviderRejectedError,
  IdentityProviderUnavailableError,
} from '../contracts/users/identity-provider.ts'
import { writeDurably } from 'embedded-eventstore/durable-file'
import type { EventStore } from '../engine/store/event-store.ts'
import type { Configuration } from '../platform/configuration/configuration.ts'
import { Problem } from '../platform/http/problems.ts'
import type { Logger } from '../platform/observability/logging.ts'
import type { Vault } from '../platform/vault/vault.ts'
import {
  createAdministrator,
  createDemoOperator,
  demoAddressOf,
  operatorAddressOf,
  type Administrator,
} from './administrators.ts'
import { registerFirst, registerOnce, seedPermissions, seedScopes, seedTemplates } from './client-registration.ts'
import type { StandIns } from './embedded.ts'
import { credentialsFile, readCredentials, type Credentials } from './credentials-file.ts'

const noStandIns: StandIns = { controlSecret: null, mailboxUrl: null, chatUrl: null }

/**
 * The credentials of this data folder, created at the first start: a client of the demo organisation, one of a second
 * organisation, and a platform-level one for the services. Each start updates the addresses from the configuration.
 * The stand-ins are those that this start began.
 */
export async function keepCredentials(
  configuration: Configuration,
  { controlSecret, mailboxUrl, chatUrl }: StandIns = noStandIns,
): Promise<Credentials> {
  const { console: known, ...kept }: Identities = withServiceScopes(
    (await readCredentials(configuration.dataDir)) ?? newIdentities(),
  )
  const hasForm = configuration.profile === 'development' && configuration.idpMode === 'mock'
  const credentials: Credentials = {
    ...kept,
    ...(hasForm
      ? {
          console: {
            url: `${configuration.baseUrl}/console`,
            email: operatorAddressOf(kept.org_id),
            password: configuration.consolePassword ?? known?.password ?? randomBytes(18).toString('base64url'),
          },
        }
      : {}),
    base_url: configuration.baseUrl,
    admin_api_secret: configuration.adminApiSecret ?? null,
    eventstore_url: configuration.esdbUrl ?? null,
    database_url: configuration.databaseUrl ?? null,
    provider_url: configuration.providerBaseUrl ?? null,
    control_secret: controlSecret,
    mailbox_url: mailboxUrl,
    chat_url: chatUrl,
  }
  await writeCredentials(configuration, credentials)
  return credentials
}

async function writeCredentials({ dataDir }: Configuration, credentials: Credentials): Promise<void> {
  await writeDurably(credentialsFile(dataDir), `${JSON.stringify(credentials, null, 2)}\n`, 0o600)
}

/**
 * In development, creates one administrator for each organisation of the credentials and names them in the file, and the
 * operator of the console.
 * An identity provider that is away does not hold up the start: the next start tries again.
 */
export async function keepAdministrators(
  deps: UserDependencies,
  credentials: Credentials,
  logger: Logger,
): Promise<Credentials> {
  const { configuration } = deps
  if (configuration.profile !== 'development') return credentials
  const created = async (create: () => Promise<Administrator>): Promise<readonly Administrator[]> => {
    try {
      return [await create()]
    } catch (error) {
      if (!isFaultOfProvider(error)) throw error
      logger.warn({ component: 'users', err: error }, 'a demo user is missing; the next start tries again')
      return []
    }
  }
  const administrators: Administrator[] = []
  for (const { org_id: orgId } of credentials.clients) {
    if (orgId === null) continue
    const ordered = { orgId, email: demoAddressOf(orgId), displayName: 'Demo Administrator', isAlone: true }
    administrators.push(...(await created(() => createAdministrator(deps, ordered))))
  }
  const { console: atConsole, org_id: orgId } = credentials
  if (atConsole !== undefined) {
    const ordered = { orgId, email: atConsole.email, displayName: 'Demo Operator', isAlone: true }
    await created(() => createDemoOperator(deps, ordered))
  }
  const kept = { ...credentials, administrators }
  await writeCredentials(configuration, kept)
  return kept
}

function isFaultOfProvider(error: unknown): boolean {
  if (error instanceof Problem) return error.code.startsWith('identity-provider-')
  return error instanceof IdentityProviderUnavailableError || error instanceof IdentityProviderRejectedError
}

/** The services may need more scopes of each other than at the folder's creation. */
function withServiceScopes<Kept extends Pick<Credentials, 'clients'>>(kept: Kept): Kept {
  const clients = kept.clients.map((client) =>
    client.org_id === null ? { ...client, scopes: [...new Set([...client.scopes, ...serviceScopes])] } : client,
  )
  return { ...kept, clients }
}

/** The platform-level client with which the services call each other. */
export function serviceClientOf({ clients }: Credentials): Credentials['clients'][number] {
  const client = clients.find((each) => each.org_id === null)
  if (client === undefined) throw new Error('credentials.json has no platform-level client')
  return client
}

/**
 * Registers the clients of the credentials. The services' client gets missing scopes; administrators decide about the
 * others.
 */
export async function registerClients(
  store: EventStore,
  vault: Vault,
  { clients }: Credentials,
  now: Date,
): Promise<void> {
  await seedScopes(store, now)
  await seedPermissions(store, now)
  await seedTemplates(store, now)
  for (const client of clients) {
    const registered = {
      clientId: client.client_id,
      secret: client.client_secret,
      name: client.org_id === null ? 'platform services' : 'first client',
      orgId: client.org_id,
      productId: client.product_id,
      scopes: client.scopes,
      trustedActorContext: client.trusted_actor_context,
    }
    await (client.org_id === null ? registerOnce : registerFirst)(store, vault, registered, now)
  }
}

type Identities = Pick<Credentials, 'org_id' | 'product_id' | 'clients' | 'console'>

function newIdentities(): Identities {
  const [demo, second] = [v4(), v4()]
  const product = v4()
  const client = (orgId: string | null, productId: string | null, scopes: readonly string[]) => ({
    client_id: v4(),
    client_secret: randomBytes(32).toString('base64url'),
    scopes: [...scopes],
    org_id: orgId,
    product_id: productId,
    trusted_actor_context: orgId !== null,
  })
  return {
    org_id: demo,
    product_id: product,
    clients: [
      client(demo, product, clientScopes),
      client(second, v4(), clientScopes),
      client(null, null, serviceScopes),
    ],
  }
}
