import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { serviceScopes } from '../../commands/auth/scopes.ts'
import { loadConfiguration } from '../../platform/configuration/configuration.ts'
import { registerOnce, registerServiceClient } from '../../app/client-registration.ts'
import { keepCredentials, registerClients, serviceClientOf } from '../../app/credentials.ts'
import type { Credentials } from '../../app/credentials-file.ts'
import { oauthClients } from '../../streams/oauth-client/aggregate.ts'
import type { OauthClientEvent } from '../../streams/oauth-client/events.ts'
import { contextOf, openDecisionWorld, type DecisionWorld } from '../engine/commands/decision-world.ts'
import { clientFact } from '../streams/facts.ts'

let world: DecisionWorld
let dataDir: string

beforeAll(async () => {
  world = await openDecisionWorld()
  dataDir = await mkdtemp(join(tmpdir(), 'credentials-'))
})
afterAll(async () => {
  await world.close()
  await rm(dataDir, { recursive: true, force: true })
})

/** The former scopes of the services: they only read cases of each other. */
const formerScopes = ['cases:read']

async function typesOf(clientId: string): Promise<string[]> {
  const types: string[] = []
  for await (const { type } of world.otherStore.readStream(oauthClients.of(clientId).stream)) types.push(type)
  return types
}

it('adds missing scopes to the service client of an older data folder once, and changes no other client', async () => {
  const configuration = loadConfiguration({ PLATFORM_DATA_DIR: dataDir })
  const made = await keepCredentials(configuration)
  const older = made.clients.map((client) =>
    client.org_id === null ? { ...client, scopes: formerScopes } : { ...client, scopes: ['patients:read'] },
  )
  await writeFile(join(dataDir, 'credentials.json'), JSON.stringify({ ...made, clients: older }))
  await registerClients(world.store, world.vault, { ...made, clients: older }, world.now())

  for (let start = 1; start <= 2; start += 1) {
    const kept = await keepCredentials(configuration)
    await registerClients(world.otherStore, world.vault, kept, world.now())
    expect(kept.clients.map(({ scopes }) => scopes.toSorted())).toEqual([
      ['patients:read'],
      ['patients:read'],
      [...serviceScopes],
    ])
    const written = JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8')) as Credentials
    expect(written).toEqual(kept)
    expect(await typesOf(serviceClientOf(kept).client_id)).toEqual(['OauthClientRegistered', 'OauthClientChanged'])
    expect(await typesOf(kept.clients[0]?.client_id ?? '')).toEqual(['OauthClientRegistered'])
  }
})

it('adds them to the client of separate roles, whichever instances start at once', async () => {
  // Any UUID works: this one has neither a version nor a variant.
  const clientId = randomUUID().replace(/-4(...)-./, '-0$1-0')
  const secret = randomUUID()
  const former = {
    clientId,
    secret,
    name: 'platform services',
    orgId: null,
    productId: null,
    scopes: formerScopes,
    trustedActorContext: false,
  }
  await registerOnce(world.store, world.vault, former, world.now())
  const configuration = loadConfiguration({ SERVICE_CLIENT_ID: clientId, SERVICE_CLIENT_SECRET: secret })
  await Promise.all(
    [world.store, world.otherStore].map((store) =>
      registerServiceClient(store, world.vault, configuration, world.now()),
    ),
  )
  const granted = await registerOnce(world.store, world.vault, former, world.now())
  expect(granted.scopes.toSorted()).toEqual([...serviceScopes])
  expect(await typesOf(clientId)).toEqual(['OauthClientRegistered', 'OauthClientChanged'])
})

it('adds nothing to an organisation’s client that is configured as the service client by mistake', async () => {
  const clientId = randomUUID()
  const secret = randomUUID()
  const own = {
    clientId,
    secret,
    name: 'clinic',
    orgId: world.orgId,
    productId: randomUUID(),
    scopes: formerScopes,
    trustedActorContext: false,
  }
  await registerOnce(world.store, world.vault, own, world.now())
  const configuration = loadConfiguration({ SERVICE_CLIENT_ID: clientId, SERVICE_CLIENT_SECRET: secret })
  await expect(registerServiceClient(world.store, world.vault, configuration, world.now())).rejects.toThrow(
    'client of an organisation',
  )
  expect(await typesOf(clientId)).toEqual(['OauthClientRegistered'])
})

it('leaves a client of an organisation as administrators have left it, also if it is gone', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'credentials-'))
  const made = await keepCredentials(loadConfiguration({ PLATFORM_DATA_DIR: dir }))
  await registerClients(world.store, world.vault, made, world.now())
  const [narrowed = '', deleted = '', services = ''] = made.clients.map(({ client_id: id }) => id)
  const at = world.now().toISOString()
  const append = async (id: string, event: OauthClientEvent) => {
    const target = oauthClients.of(id)
    const { revision } = await world.store.load(target)
    await world.store.append(target, revision, [event], contextOf(world))
  }
  const changed = clientFact('OauthClientChanged', { clientId: narrowed, scopes: [] })
  await append(narrowed, changed)
  await append(deleted, clientFact('OauthClientDeleted', { clientId: deleted, deletedAt: at }))
  await registerClients(world.otherStore, world.vault, made, world.now())
  expect(await typesOf(narrowed)).toEqual(['OauthClientRegistered', 'OauthClientChanged'])
  expect(await typesOf(deleted)).toEqual(['OauthClientRegistered', 'OauthClientDeleted'])

  await append(services, clientFact('OauthClientDisabled', { clientId: services, disabledAt: at }))
  await expect(registerClients(world.store, world.vault, made, world.now())).rejects.toThrow('is disabled or deleted')
  await rm(dir, { recursive: true, force: true })
})
