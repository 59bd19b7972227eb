import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { version } from 'uuid'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createAdministrator, demoAddressOf, type Administrator } from '../../app/administrators.ts'
import { keepAdministrators, keepCredentials } from '../../app/credentials.ts'
import { administratorsOf } from '../../commands/users/administrators.ts'
import type { UserDependencies } from '../../commands/users/registration-attempt.ts'
import { IdentityProviderUnavailableError, type NewAccount } from '../../contracts/users/identity-provider.ts'
import { loadConfiguration } from '../../platform/configuration/configuration.ts'
import { tenantOfFact } from '../../platform/kit/tenants.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import { createMockIdentityProvider } from '../../processes/adapters/mock-identity-provider.ts'
import { organisationRoles } from '../../streams/organisation-roles/aggregate.ts'
import { users } from '../../streams/user/aggregate.ts'
import { contextOf, openDecisionWorld, type DecisionWorld } from '../engine/commands/decision-world.ts'
import { userFact } from '../streams/user-facts.ts'

let world: DecisionWorld
let deps: UserDependencies
let dataDir: string
const logger = createLogger({ level: 'silent' })

beforeAll(async () => {
  world = await openDecisionWorld()
  dataDir = await mkdtemp(join(tmpdir(), 'administrators-'))
  const configuration = loadConfiguration({ PLATFORM_DATA_DIR: dataDir })
  deps = { ...world, configuration, identityProvider: createMockIdentityProvider() }
})
afterAll(async () => {
  await world.close()
  await rm(dataDir, { recursive: true, force: true })
})

async function revisionsOf({ org_id: orgId, user_id: userId }: Administrator): Promise<unknown[]> {
  const loaded = [
    await world.otherStore.load(users.of(userId)),
    await world.otherStore.load(organisationRoles.of(tenantOfFact(orgId))),
  ]
  return loaded.map(({ revision }) => revision)
}

it('creates one administrator of each organisation at the first start in development, and none at the second', async () => {
  const first = await keepAdministrators(deps, await keepCredentials(deps.configuration), logger)
  const organisations = first.clients.flatMap(({ org_id: orgId }) => orgId ?? [])
  expect(organisations).toHaveLength(2)
  expect(first.administrators).toMatchObject(organisations.map((org_id) => ({ org_id, email: demoAddressOf(org_id) })))
  const administrators = first.administrators ?? []
  const revisions = []
  for (const administrator of administrators) {
    const { org_id: orgId, user_id: userId } = administrator
    revisions.push(await revisionsOf(administrator))
    const { state } = await world.store.load(organisationRoles.of(tenantOfFact(orgId)))
    expect([...state.roles.values()].filter(({ name }) => name !== 'Operator')).toMatchObject([
      {
        name: 'Administrator',
        isDefault: false,
        permissions: [
          'audit:export',
          'audit:read',
          'audit:read-phi',
          'auth:admin',
          'consents:admin',
          'human-review:admin',
          'human-review:decide',
          'notifications:admin',
          'patients:erase',
          'users:admin',
        ],
      },
    ])
    const [only, ...others] = administratorsOf(state)
    expect([only?.userId, others]).toEqual([userId, []])
    expect([userId, only?.membershipId ?? '', only?.roleId ?? ''].map(version)).toEqual([7, 7, 7])
  }

  const second = await keepAdministrators(deps, await keepCredentials(deps.configuration), logger)
  expect(second).toEqual(first)
  expect(JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8'))).toEqual(first)
  expect(await Promise.all(administrators.map(revisionsOf))).toEqual(revisions)
})

it('creates none in production', async () => {
  const configuration = { ...deps.configuration, profile: 'production' as const }
  const credentials = await keepCredentials(deps.configuration)
  expect(await keepAdministrators({ ...deps, configuration }, credentials, logger)).toBe(credentials)
})

it('completes at the next start what a start left that was killed while it created the account', async () => {
  const orgId = randomUUID()
  const email = demoAddressOf(orgId)
  const ordered = { orgId, email, displayName: 'Demo', isAlone: true }
  let reached = () => {}
  const atProvider = new Promise<void>((resolve) => (reached = resolve))
  const userIds: string[] = []
  const dying = {
    ...deps.identityProvider,
    create: ({ userId }: NewAccount) => {
      userIds.push(userId)
      return new Promise<never>(reached)
    },
  }
  void createAdministrator({ ...deps, identityProvider: dying }, ordered)
  await atProvider
  const [userId = ''] = userIds
  expect((await world.store.load(users.of(userId))).state.status).toBe('registering')

  const created = await createAdministrator({ ...deps, store: world.otherStore }, ordered)
  expect(created).toEqual({ org_id: orgId, user_id: userId, email })
  const { state } = await world.store.load(users.of(userId))
  expect(state).toMatchObject({ status: 'active', email })
  const { state: roles } = await world.store.load(organisationRoles.of(tenantOfFact(orgId)))
  expect(administratorsOf(roles)).toHaveLength(1)
  expect(roles.roles.size).toBe(1)
})

it('creates another user for the address of one that was erased, once', async () => {
  const ordered = { orgId: randomUUID(), email: `${randomUUID()}@example.org`, displayName: 'One', isAlone: false }
  const first = await createAdministrator(deps, ordered)
  const target = users.of(first.user_id)
  const { revision } = await world.store.load(target)
  const erased = userFact('UserErasureStarted', { userId: first.user_id, organisationIds: [] })
  await world.store.append(target, revision, [erased], contextOf(world))
  const second = await createAdministrator(deps, ordered)
  expect(second).toEqual({ ...first, user_id: expect.not.stringMatching(first.user_id) })
  expect((await world.store.load(users.of(second.user_id))).state).toMatchObject({
    status: 'active',
    email: ordered.email,
  })
  expect(await createAdministrator(deps, ordered)).toEqual(second)
})

it('starts without administrators while the identity provider is away, and creates them later', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'administrators-'))
  const configuration = loadConfiguration({ PLATFORM_DATA_DIR: dir })
  const unavailable = () =>
    Promise.reject(new IdentityProviderUnavailableError('no answer', { mayHaveHappened: false }))
  const away = { ...deps.identityProvider, create: unavailable, get: unavailable }
  const made = await keepCredentials(configuration)
  for (let start = 1; start <= 2; start += 1) {
    const without = await keepAdministrators({ ...deps, configuration, identityProvider: away }, made, logger)
    expect(without.administrators).toEqual([])
  }
  const kept = await keepAdministrators({ ...deps, configuration }, made, logger)
  expect(kept.administrators).toHaveLength(2)
  await rm(dir, { recursive: true, force: true })
})
