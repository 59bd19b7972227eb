import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { createIdentityProvider } from '../../../app/identity-provider.ts'
import { registerUser } from '../../../commands/users/register-user.ts'
import type { RegisterUser, UserDependencies } from '../../../commands/users/registration-attempt.ts'
import { addressKey, reserveForUser } from '../../../commands/users/user-reservations.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { tenantOfFact, type TenantId } from '../../../platform/kit/tenants.ts'
import { ledgerKey, readLedgerEntry } from '../../../contracts/clinical/erasure-ledger.ts'
import { noOrganisation } from '../../../platform/kit/tenants.ts'
import { connectObjectStore } from '../../../platform/storage/object-store.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { memberOf } from '../../../platform/outbound/outside-answers.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import type { TodoRow } from '../../../engine/processes/process.ts'
import { usersProcess } from '../../../processes/users/users.process.ts'
import { organisationRoles } from '../../../streams/organisation-roles/aggregate.ts'
import type { RecordedEvent } from '../../../engine/store/events.ts'
import { users, type UserState } from '../../../streams/user/aggregate.ts'
import { contextOf, openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { roleFact } from '../../streams/user-facts.ts'
import { todosAfter, whenWorkedOff } from '../../support/given-process.ts'
import { hostedObjectStore } from '../../support/hosted-stand-ins.ts'
import { keycloakEnv, startKeycloakStandIn, type KeycloakStandIn } from '../../support/keycloak-stand-in.ts'
import { processDependencies } from '../../support/process-world.ts'

export interface UsersWorld extends DecisionWorld {
  readonly keycloak: KeycloakStandIn
  /** Of the routes. */
  readonly routes: UserDependencies
  /** Of the processor: another process, with a cache of its own. */
  readonly processor: ProcessDependencies
}

/** Streams in an event store, accounts at a stand-in of Keycloak, and a clock that tests move. */
export async function openUsersWorld(): Promise<UsersWorld> {
  const bucket = { bucket: 'assessments', accessKeyId: 'test', secretAccessKey: randomUUID() }
  const [world, keycloak, stored] = await Promise.all([
    openDecisionWorld(),
    startKeycloakStandIn(),
    hostedObjectStore(bucket),
  ])
  const own = { IDP_MODE: 'keycloak', ERASURE_VAULT_HOURS: '0' }
  const configuration = loadConfiguration({ ...own, ...keycloakEnv(keycloak.url) })
  const { endpoint } = stored
  const objects = connectObjectStore({ endpoint, region: 'us-east-1', ...bucket, now: () => new Date() })
  const egress = createEgress({ configuration })
  const identityProvider = createIdentityProvider(configuration, egress, world.now)
  const outside = processDependencies({ ...world, configuration }, egress, objects)
  return {
    ...world,
    keycloak,
    routes: { ...world, identityProvider },
    processor: { ...outside, store: world.otherStore, identityProvider },
    close: async () => {
      await egress.close()
      objects.close()
      await Promise.all([world.close(), keycloak.close(), stored.stop()])
    },
  }
}

export interface Organisation {
  readonly organisationId: TenantId
  /** The default role, which administers nothing. */
  readonly roleId: string
  readonly adminRoleId: string
}

export async function newOrganisation({ store }: Pick<UsersWorld, 'store'>): Promise<Organisation> {
  const organisationId = tenantOfFact(randomUUID())
  const [roleId, adminRoleId] = [randomUUID(), randomUUID()]
  const roles = [
    roleFact('RoleCreated', { roleId, organisationId }),
    roleFact('RoleCreated', {
      roleId: adminRoleId,
      organisationId,
      name: 'Administrator',
      isDefault: false,
      permissions: ['users:admin'],
    }),
  ]
  await store.append(organisationRoles.of(organisationId), 'no_stream', roles, contextOf({ orgId: organisationId }))
  return { organisationId, roleId, adminRoleId }
}

/** What a route is given for a new user, who is a member of the organisation if there is one. */
export function newUser(organisation: Organisation | null, roleId = organisation?.roleId): RegisterUser {
  const userId = randomUUID()
  return {
    userId,
    attemptId: randomUUID(),
    userType: 'admin',
    email: `${userId}@example.org`,
    displayName: 'Canary',
    locale: null,
    practitionerProfile: null,
    patientAccount: null,
    fingerprint: userId.replaceAll('-', '').repeat(2),
    changedBy: randomUUID(),
    grantor: 'platform',
    membership: organisation && { membershipId: randomUUID(), organisationId: organisation.organisationId, roleId },
  }
}

export async function registered(world: UsersWorld, command: RegisterUser): Promise<RegisterUser> {
  await registerUser(world.routes, command, contextOf(world))
  return command
}

async function eventsOf({ otherStore }: UsersWorld, userId: string, orgs: readonly Organisation[]) {
  const streams = [
    users.of(userId).stream,
    ...orgs.map(({ organisationId }) => organisationRoles.of(organisationId).stream),
  ]
  const events: RecordedEvent[] = []
  for (const stream of streams) for await (const event of otherStore.readStream(stream)) events.push(event)
  return events.toSorted((one, other) => Number(one.position.commit - other.position.commit))
}

export async function todosOf(world: UsersWorld, userId: string, orgs: readonly Organisation[]): Promise<TodoRow[]> {
  const rows = todosAfter(usersProcess, await eventsOf(world, userId, orgs))
  return rows.toSorted((one, other) => one.dueAt.getTime() - other.dueAt.getTime())
}

const mostRounds = 20

/** Works off the to-do list as the processor does, until nothing is left. The time passes meanwhile. */
export async function workOffUsers(
  world: UsersWorld,
  userId: string,
  orgs: readonly Organisation[],
  deps: ProcessDependencies = world.processor,
): Promise<void> {
  for (let round = 1; round <= mostRounds; round++) {
    const [next] = await todosOf(world, userId, orgs)
    if (next === undefined) return
    waitUntil(world, next.dueAt)
    const outcome = await whenWorkedOff(usersProcess, next, deps, world.now())
    if (outcome.kind === 'wait') waitUntil(world, outcome.until)
  }
  expect(await todosOf(world, userId, orgs), 'rows that never end').toEqual([])
}

function waitUntil(world: UsersWorld, instant: Date): void {
  const leftMs = instant.getTime() - world.now().getTime()
  if (leftMs > 0) world.pass(leftMs / 1000)
}

const erasureTypes = ['UserErasureStarted', 'UserKeyDestroyed', 'UserErased']

/**
 * What must be true of a user once nothing is left to do: memberships are in both streams, holds are those of the status,
 * the one account has the state and the address of the user, and the address is taken exactly while the user has it.
 */
export async function expectWhole(
  world: UsersWorld,
  { userId, email }: Pick<RegisterUser, 'userId' | 'email'>,
  orgs: readonly Organisation[],
): Promise<UserState> {
  const { otherStore, keycloak, processor } = world
  const { state: user } = await otherStore.load(users.of(userId))
  const memberships = 'externalId' in user ? [...user.memberships.keys()] : []
  const holds = 'externalId' in user && user.holdId !== null ? [user.holdId] : []
  const assigned: string[] = []
  for (const { organisationId } of orgs) {
    const { state } = await otherStore.load(organisationRoles.of(organisationId))
    for (const one of state.assignments.values()) {
      if (one.userId !== userId) continue
      assigned.push(one.membershipId)
      expect(one).toMatchObject({ isConfirmed: true, holds: new Set(holds) })
    }
  }
  expect(assigned.toSorted()).toEqual(memberships.toSorted())

  const accounts = [...keycloak.accounts.values()].filter(({ username }) => username === userId)
  const isThere = 'externalId' in user && user.status !== 'erased'
  expect(accounts.map(({ id, enabled, email: address }) => ({ id, enabled, address }))).toEqual(
    isThere ? [{ id: user.externalId, enabled: user.status === 'active', address: user.email }] : [],
  )

  if (user.status === 'erased') {
    const types: string[] = []
    for await (const { type, data } of otherStore.readStream(users.of(userId).stream)) {
      if (type === 'UserCreated') expect(memberOf(data, 'email'), 'the key is destroyed').toBe(null)
      types.push(type)
    }
    const once = types.filter((type) => erasureTypes.includes(type))
    expect([once, types.at(-1)]).toEqual([erasureTypes, erasureTypes.at(-1)])
    const entry = await processor.objects.get(ledgerKey({ orgId: noOrganisation, subjectId: userId }))
    const erasure = readLedgerEntry(Buffer.from(entry).toString())
    expect(erasure && world.vault.isSigned(erasure), 'the entry of the ledger').toBe(true)
    expect((await world.vault.lastRewrite(noOrganisation, userId)).isAfterErasure, 'files of the vault').toBe(true)
  }

  world.pass(60)
  const other = { userId: randomUUID(), key: addressKey(email), fingerprint: null }
  const claim = await reserveForUser({ ...world, store: otherStore }, other, contextOf(world))
  expect(claim.kind).toBe(isThere ? 'held' : 'reserved')
  if (claim.kind === 'reserved') await claim.release()
  return user
}
