import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { administratorsOf } from '../../../commands/users/administrators.ts'
import { organisationRoles } from '../../../streams/organisation-roles/aggregate.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { contextOf, openDecisionWorld, problemOf, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { roleFact, userFact } from '../../streams/user-facts.ts'
import { startRacer, type Racer } from './racer.ts'
import { newRole, runRacing, type RacingCommand } from './racing-commands.ts'
import { newOrganisation, newUser, type Organisation } from './users-world.ts'

/* Each rule of users and roles, decided by two processes of the operating system at the same time. */

let world: DecisionWorld
let racer: Racer
beforeAll(async () => {
  world = await openDecisionWorld()
  racer = await startRacer(world)
})
afterAll(async () => {
  await racer.close()
  await world.close()
})

const rounds = 40
const atOnce = 20
const by = { changedBy: randomUUID(), grantor: 'platform' } as const
const { changedBy } = by

/** Many rounds, of which some run at the same time. Each has streams of its own. */
async function eachRound(round: () => Promise<void>): Promise<void> {
  for (let done = 0; done < rounds; done += atOnce)
    await Promise.all(Array.from({ length: atOnce }, async () => round()))
}

/** The problems of two commands at the same time, the first one here; null for one that succeeded. */
async function both(here: RacingCommand, there: RacingCommand) {
  // A command takes a moment to reach the other process.
  const answered = racer.run(there)
  return Promise.all([problemOf(runRacing(world, here)), answered])
}

const answersOfOne = (code: string) =>
  expect.toSatisfy((answers: unknown[]) => {
    return answers.includes(null) && answers.includes(code)
  })

async function rolesOf({ organisationId }: Organisation) {
  return (await world.otherStore.load(organisationRoles.of(organisationId))).state
}

/** A member with a role of the organisation, in both streams. */
async function newMember({ organisationId }: Organisation, roleId: string) {
  const [userId, membershipId] = [randomUUID(), randomUUID()]
  const of = { userId, membershipId, organisationId }
  const created = [
    userFact('UserCreated', { userId, externalId: userId }),
    userFact('UserMembershipAdded', { ...of, roleId }),
  ]
  await world.store.append(users.of(userId), 'no_stream', created, contextOf(world))
  const target = organisationRoles.of(organisationId)
  const { revision } = await world.store.load(target)
  const assigned = [roleFact('MembershipRoleAssigned', { ...of, roleId }), roleFact('MembershipConfirmed', of)]
  await world.store.append(target, revision, assigned, contextOf(world))
  return of
}

/** Two administrators with a role each, who are the only ones. */
async function twoAdministrators() {
  const organisation = await newOrganisation(world)
  const { adminRoleId } = organisation
  const input = { ...newRole(organisation, world.now()), permissions: ['users:admin'] }
  await runRacing(world, { name: 'createRole', input })
  const first = await newMember(organisation, adminRoleId)
  const second = await newMember(organisation, input.roleId)
  return { organisation, first, second, secondRoleId: input.roleId }
}

async function expectAdministrator(organisation: Organisation, answers: readonly unknown[]): Promise<void> {
  expect(answers).toEqual(answersOfOne('last-administrator'))
  expect(administratorsOf(await rolesOf(organisation))).toHaveLength(1)
}

test('an address belongs to one user', async () => {
  await eachRound(async () => {
    const [first, second] = [newUser(null), newUser(null)]
    const email = first.email.toUpperCase()
    const answers = await both(
      { name: 'register', input: { user: first, externalId: null } },
      { name: 'register', input: { user: { ...second, email }, externalId: null } },
    )
    expect(answers).toEqual(answersOfOne('email-in-use'))
  })
})

test('a subject of the identity provider belongs to one user', async () => {
  await eachRound(async () => {
    const externalId = randomUUID()
    const register = () => ({ name: 'register', input: { user: newUser(null), externalId } }) as const
    expect(await both(register(), register())).toEqual(answersOfOne('identity-provider-rejected'))
  })
})

test('a user has one membership in an organisation', async () => {
  await eachRound(async () => {
    const organisation = await newOrganisation(world)
    const { userId } = newUser(null)
    await world.store.append(users.of(userId), 'no_stream', [userFact('UserCreated', { userId })], contextOf(world))
    const { organisationId, roleId } = organisation
    const add = () => {
      const ids = { userId, membershipId: randomUUID(), organisationId, roleId }
      return { name: 'addMembership', input: { ...ids, fingerprint: null, ...by, now: world.now() } } as const
    }
    expect(await both(add(), add())).toEqual(answersOfOne('membership-exists'))
    expect((await rolesOf(organisation)).assignments.size).toBe(1)
  })
})

test('a name belongs to one role of an organisation', async () => {
  await eachRound(async () => {
    const organisation = await newOrganisation(world)
    const create = () =>
      ({ name: 'createRole', input: { ...newRole(organisation, world.now()), name: 'Nurse' } }) as const
    expect(await both(create(), create())).toEqual(answersOfOne('role-name-in-use'))
  })
})

test('an organisation has one default role', async () => {
  await eachRound(async () => {
    const organisation = await newOrganisation(world)
    const create = () =>
      ({ name: 'createRole', input: { ...newRole(organisation, world.now()), isDefault: true } }) as const
    expect(await both(create(), create())).toEqual([null, null])
    const { roles } = await rolesOf(organisation)
    expect([...roles.values()].filter(({ isDefault }) => isDefault)).toHaveLength(1)
  })
})

test('a role is not both deleted and assigned', async () => {
  await eachRound(async () => {
    const organisation = await newOrganisation(world)
    const { organisationId, adminRoleId: roleId } = organisation
    const ids = { membershipId: randomUUID(), userId: randomUUID(), organisationId, roleId }
    const now = world.now()
    const answers = await both(
      { name: 'deleteRole', input: { roleId, organisationId, changedBy, now } },
      { name: 'assignRole', input: { ...ids, fingerprint: null, ...by, now } },
    )
    expect(answers.filter((answer) => answer === null)).toHaveLength(1)
    const { roles, assignments } = await rolesOf(organisation)
    expect(roles.has(roleId)).toBe(assignments.size === 1)
  })
})

test('two administrators are not both removed', async () => {
  await eachRound(async () => {
    const { organisation, first, second } = await twoAdministrators()
    const answers = await both(
      { name: 'endMembership', input: { membership: first, changedBy } },
      { name: 'endMembership', input: { membership: second, changedBy } },
    )
    await expectAdministrator(organisation, answers)
  })
})

test('one administrator is not removed while the other one is suspended', async () => {
  await eachRound(async () => {
    const { organisation, first, second } = await twoAdministrators()
    const status = { to: 'suspended', holdId: randomUUID(), changedBy, now: world.now() } as const
    const answers = await both(
      { name: 'endMembership', input: { membership: first, changedBy } },
      { name: 'changeUser', input: { userId: second.userId, status } },
    )
    await expectAdministrator(organisation, answers)
  })
})

test('one administrator does not lose the role while the other role loses its permission', async () => {
  await eachRound(async () => {
    const { organisation, first, secondRoleId } = await twoAdministrators()
    const { organisationId, roleId } = organisation
    const now = world.now()
    const { membershipId } = first
    const answers = await both(
      { name: 'changeMembershipRole', input: { membershipId, organisationId, roleId, ...by, now } },
      { name: 'changeRole', input: { roleId: secondRoleId, organisationId, permissions: [], ...by, now } },
    )
    await expectAdministrator(organisation, answers)
  })
})
