import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { execute } from '../../../commands/handling/execute.ts'
import { answeringRefusals } from '../../../commands/handling/refusals.ts'
import { administratorsOf } from '../../../commands/users/administrators.ts'
import { changeUser } from '../../../commands/users/change-user.ts'
import {
  addOrganisationMembership,
  assignRoleFirst,
  endOrganisationMembership,
} from '../../../commands/users/organisation-membership.ts'
import { registerUser, type UserDependencies } from '../../../commands/users/register-user.ts'
import { changeMembershipRole } from '../../../commands/users/role-assignments.ts'
import { changeRole, createRole, deleteRole } from '../../../commands/users/roles.ts'
import { createMockIdentityProvider } from '../../../processes/adapters/mock-identity-provider.ts'
import { organisationRoles } from '../../../streams/organisation-roles/aggregate.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { contextOf, openDecisionWorld, problemOf, type DecisionWorld } from '../../commands/handling/decision-world.ts'
import { roleFact, userFact } from '../../streams/user-facts.ts'
import { newOrganisation, newUser, type Organisation } from './users-world.ts'

let world: DecisionWorld
/** Two processes: each has a connection and a cache of its own. */
let one: UserDependencies
let other: UserDependencies
beforeAll(async () => {
  world = await openDecisionWorld()
  const identityProvider = createMockIdentityProvider()
  one = { ...world, identityProvider }
  other = { ...world, store: world.otherStore, identityProvider }
})
afterAll(() => world.close())

const rounds = 200
const atOnce = 20
const answering = answeringRefusals({ 'role-deleted': { code: 'role-in-use' } })
const changedBy = randomUUID()
const administration = { tenant: null, mayChangeShared: true }
const unconditional = { profile: null, administration, requireMatch: () => undefined }

/** Many rounds, of which some run at the same time. Each has streams of its own. */
async function eachRound(round: () => Promise<void>): Promise<void> {
  for (let done = 0; done < rounds; done += atOnce)
    await Promise.all(Array.from({ length: atOnce }, async () => round()))
}

/** The problems of two requests at the same time; null for one that succeeded. */
async function both(first: Promise<unknown>, second: Promise<unknown>) {
  return Promise.all([problemOf(first), problemOf(second)])
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

/** Two organisations' administrators with a role each, who are the only ones. */
async function twoAdministrators() {
  const organisation = await newOrganisation(world)
  const { organisationId, adminRoleId } = organisation
  const secondRole = { ...newRole(organisation), permissions: ['users:admin'] }
  await change(one, organisationId, (state) => createRole(secondRole, state))
  const first = await newMember(organisation, adminRoleId)
  const second = await newMember(organisation, secondRole.roleId)
  return { organisation, first, second, secondRoleId: secondRole.roleId }
}

function change(
  { store }: UserDependencies,
  organisationId: Organisation['organisationId'],
  decide: (
    state: (typeof organisationRoles)['initialState'],
  ) =>
    | ReturnType<typeof createRole>
    | ReturnType<typeof deleteRole>
    | ReturnType<typeof changeRole>
    | ReturnType<typeof changeMembershipRole>,
) {
  return execute(store, organisationRoles.of(organisationId), (state) => answering(decide(state)), contextOf(world))
}

function newRole({ organisationId }: Organisation) {
  const roleId = randomUUID()
  const texts = { name: roleId, description: null }
  const role = { roleId, organisationId, ...texts, isDefault: false, permissions: [], fingerprint: null }
  return { ...role, changedBy, now: world.now() }
}

async function expectAdministrator(organisation: Organisation, answers: readonly unknown[]): Promise<void> {
  expect(answers).toContain(null)
  expect(answers).toContain('last-administrator')
  expect(administratorsOf(await rolesOf(organisation))).toHaveLength(1)
}

test('an address belongs to one user', async () => {
  await eachRound(async () => {
    const [first, second] = [newUser(null), newUser(null)]
    const email = first.email.toUpperCase()
    const answers = await both(
      registerUser(one, first, contextOf(world)),
      registerUser(other, { ...second, email }, contextOf(world)),
    )
    expect(answers).toEqual(answersOfOne('email-in-use'))
  })
})

test('a subject of the identity provider belongs to one user', async () => {
  await eachRound(async () => {
    const externalId = randomUUID()
    const identityProvider = { ...createMockIdentityProvider(), create: async () => ({ externalId }) }
    const answers = await both(
      registerUser({ ...one, identityProvider }, newUser(null), contextOf(world)),
      registerUser({ ...other, identityProvider }, newUser(null), contextOf(world)),
    )
    expect(answers).toEqual(answersOfOne('identity-provider-rejected'))
  })
})

test('a user has one membership in an organisation', async () => {
  await eachRound(async () => {
    const organisation = await newOrganisation(world)
    const { userId } = newUser(null)
    await world.store.append(users.of(userId), 'no_stream', [userFact('UserCreated', { userId })], contextOf(world))
    const { organisationId, roleId } = organisation
    const add = (deps: UserDependencies) => {
      const ids = { userId, membershipId: randomUUID(), organisationId, roleId }
      const command = { ...ids, fingerprint: null, changedBy, now: world.now() }
      return addOrganisationMembership(deps, command, contextOf(world))
    }
    expect(await both(add(one), add(other))).toEqual(answersOfOne('membership-exists'))
    expect((await rolesOf(organisation)).assignments.size).toBe(1)
  })
})

test('a name belongs to one role of an organisation', async () => {
  await eachRound(async () => {
    const organisation = await newOrganisation(world)
    const { organisationId } = organisation
    const create = (deps: UserDependencies) => {
      const role = { ...newRole(organisation), name: 'Nurse' }
      return change(deps, organisationId, (state) => createRole(role, state))
    }
    expect(await both(create(one), create(other))).toEqual(answersOfOne('role-name-in-use'))
  })
})

test('an organisation has one default role', async () => {
  await eachRound(async () => {
    const organisation = await newOrganisation(world)
    const { organisationId } = organisation
    const create = (deps: UserDependencies) => {
      const role = { ...newRole(organisation), isDefault: true }
      return change(deps, organisationId, (state) => createRole(role, state))
    }
    expect(await both(create(one), create(other))).toEqual([null, null])
    const { roles } = await rolesOf(organisation)
    expect([...roles.values()].filter(({ isDefault }) => isDefault)).toHaveLength(1)
  })
})

test('a role is not both deleted and assigned', async () => {
  await eachRound(async () => {
    const organisation = await newOrganisation(world)
    const { organisationId, adminRoleId: roleId } = organisation
    const ids = { membershipId: randomUUID(), userId: randomUUID(), organisationId, roleId }
    const assign = { ...ids, fingerprint: null, changedBy, now: world.now() }
    const answers = await both(
      change(one, organisationId, (state) => deleteRole({ roleId, changedBy, now: world.now() }, state)),
      assignRoleFirst(other, assign, contextOf(world)),
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
      endOrganisationMembership(one, first, changedBy, contextOf(world)),
      endOrganisationMembership(other, second, changedBy, contextOf(world)),
    )
    await expectAdministrator(organisation, answers)
  })
})

test('one administrator is not removed while the other one is suspended', async () => {
  await eachRound(async () => {
    const { organisation, first, second } = await twoAdministrators()
    const suspend = { to: 'suspended', holdId: randomUUID(), changedBy, now: world.now() } as const
    const answers = await both(
      endOrganisationMembership(one, first, changedBy, contextOf(world)),
      changeUser(other, second.userId, { ...unconditional, status: suspend }, contextOf(world)),
    )
    await expectAdministrator(organisation, answers)
  })
})

test('one administrator does not lose the role while the other role loses its permission', async () => {
  await eachRound(async () => {
    const { organisation, first, secondRoleId } = await twoAdministrators()
    const { organisationId, roleId } = organisation
    const { membershipId } = first
    const now = world.now()
    const answers = await both(
      change(one, organisationId, (state) =>
        changeMembershipRole({ membershipId, organisationId, roleId, changedBy, now }, state),
      ),
      change(other, organisationId, (state) =>
        changeRole({ roleId: secondRoleId, permissions: [], changedBy, now }, state),
      ),
    )
    await expectAdministrator(organisation, answers)
  })
})
