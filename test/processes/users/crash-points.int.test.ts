import { randomUUID } from 'node:crypto'
import { version } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mintId } from '../../../engine/commands/mint-id.ts'
import { changeUser } from '../../../commands/users/change-user.ts'
import { eraseUserEverywhere } from '../../../commands/users/erase-user.ts'
import {
  addOrganisationMembership,
  endOrganisationMembership,
} from '../../../commands/users/organisation-membership.ts'
import { registerUser } from '../../../commands/users/register-user.ts'
import type { RegisterUser, UserDependencies } from '../../../commands/users/registration-attempt.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { KilledError, mortal } from './mortal-process.ts'
import {
  expectWhole,
  newOrganisation,
  newUser,
  openUsersWorld,
  registered,
  workOffUsers,
  type Organisation,
  type UsersWorld,
} from './users-world.ts'

let world: UsersWorld
beforeAll(async () => {
  world = await openUsersWorld()
})
afterAll(() => world.close())

const by = { changedBy: randomUUID(), grantor: 'platform' } as const
const administration = { tenant: null, mayChangeShared: true, grantor: by.grantor }
const unconditional = { profile: null, administration, requireMatch: () => undefined }

interface Story {
  readonly user: ReturnType<typeof newUser>
  readonly orgs: readonly Organisation[]
  /** The request, by the process that may be killed. */
  readonly request: (deps: UserDependencies) => Promise<unknown>
}

async function member(): Promise<Omit<Story, 'request'>> {
  const orgs = [await newOrganisation(world), await newOrganisation(world)]
  const user = await registered(world, newUser(orgs[0] ?? null))
  await addOrganisationMembership(world, membershipIn(user.userId, orgs[1]), contextOf(world))
  return { user, orgs }
}

function membershipIn(userId: string, organisation: Organisation | undefined) {
  if (organisation === undefined) throw new Error('the story has no such organisation')
  const { organisationId, roleId } = organisation
  const ids = { userId, membershipId: randomUUID(), organisationId, roleId }
  return { ...ids, fingerprint: null, ...by, now: world.now() }
}

function status(user: Story['user'], to: 'active' | 'suspended' | 'deactivated') {
  const command = { to, holdId: randomUUID(), changedBy: randomUUID(), now: world.now() }
  const context = contextOf(world)
  return (deps: UserDependencies) => changeUser(deps, user.userId, { ...unconditional, status: command }, context)
}

/** Each request, with what it does in its order. */
const stories: Readonly<Record<string, { readonly effects: readonly string[]; readonly given: () => Promise<Story> }>> =
  {
    'creating a user': {
      effects: [
        'role: MembershipRoleAssigned',
        'reservation: ReservationClaimed',
        'user: UserRegistrationStarted',
        'reservation: ReservationConfirmed',
        'account: create',
        'reservation: ReservationClaimed',
        'reservation: ReservationConfirmed',
        'user: UserCreated, UserMembershipAdded',
        'role: MembershipConfirmed',
      ],
      given: async () => {
        const orgs = [await newOrganisation(world)]
        const user = newUser(orgs[0] ?? null)
        const context = contextOf(world)
        return { user, orgs, request: (deps) => registerUser(deps, user, context) }
      },
    },
    'adding a membership': {
      effects: ['role: MembershipRoleAssigned', 'user: UserMembershipAdded', 'role: MembershipConfirmed'],
      given: async () => {
        const orgs = [await newOrganisation(world)]
        const user = await registered(world, newUser(null))
        const command = membershipIn(user.userId, orgs[0])
        const context = contextOf(world)
        return { user, orgs, request: (deps) => addOrganisationMembership(deps, command, context) }
      },
    },
    'removing a membership': {
      effects: ['role: MembershipRevoked', 'user: UserMembershipRemoved'],
      given: async () => {
        const { user, orgs } = await member()
        if (user.membership === null) throw new Error('the user is no member')
        const { membershipId, organisationId } = user.membership
        const removed = { userId: user.userId, membershipId, organisationId }
        const context = contextOf(world)
        return { user, orgs, request: (deps) => endOrganisationMembership(deps, removed, by, context) }
      },
    },
    'suspending a user': {
      effects: ['role: MembershipHeld', 'role: MembershipHeld', 'user: UserSuspended'],
      given: async () => {
        const story = await member()
        return { ...story, request: status(story.user, 'suspended') }
      },
    },
    'reactivating a user': {
      effects: ['user: UserReactivated', 'role: MembershipHoldEnded', 'role: MembershipHoldEnded'],
      given: async () => {
        const story = await member()
        await status(story.user, 'suspended')(world.routes)
        return { ...story, request: status(story.user, 'active') }
      },
    },
    'adding a membership to a suspended user': {
      effects: ['role: MembershipRoleAssigned', 'user: UserMembershipAdded', 'role: MembershipConfirmed'],
      given: async () => {
        const { user, orgs } = await member()
        await status(user, 'suspended')(world.routes)
        const third = await newOrganisation(world)
        const command = membershipIn(user.userId, third)
        const context = contextOf(world)
        const request = (deps: UserDependencies) => addOrganisationMembership(deps, command, context)
        return { user, orgs: [...orgs, third], request }
      },
    },
    'erasing a user': {
      effects: [
        'user: UserErasureStarted',
        'role: MembershipRevoked',
        'user: UserMembershipRemoved',
        'role: MembershipRevoked',
        'user: UserMembershipRemoved',
      ],
      given: async () => {
        const story = await member()
        await status(story.user, 'deactivated')(world.routes)
        const context = contextOf(world)
        const request = (deps: UserDependencies) =>
          eraseUserEverywhere(deps, story.user.userId, { changedBy: randomUUID(), administration }, context)
        return { ...story, request }
      },
    },
  }

const crashes = Object.entries(stories).flatMap(([name, { effects, given }]) =>
  effects.map((effect, done) => ({ name, effect, done, given })),
)

test.each(crashes)('$name, killed before $effect ($done)', async ({ effect, done, given }) => {
  const { user, orgs, request } = await given()
  const process = mortal(world.routes, done)
  await expect(request(process.deps)).rejects.toBeInstanceOf(KilledError)
  expect(process.killedBefore()).toBe(effect)
  await workOffUsers(world, user.userId, orgs)
  await expectWhole(world, user, orgs)
})

test.each(Object.entries(stories))('%s does these things and no others', async (_, { effects, given }) => {
  const { user, orgs, request } = await given()
  const process = mortal(world.routes, effects.length)
  await request(process.deps)
  expect(process.done).toEqual(effects)
  await workOffUsers(world, user.userId, orgs)
  await expectWhole(world, user, orgs)
})

const creation = stories['creating a user']
const killings = (creation?.effects ?? []).map((effect, done) => ({ effect, done }))
// The repeats of a key below are killed before each effect.
test.each([...killings.slice(0, 1), ...killings.slice(-1)])(
  'a repeat of a creation that was killed before $effect ($done) creates the user once',
  async ({ done }) => {
    if (creation === undefined) throw new Error('no story')
    const { user, orgs, request } = await creation.given()
    await expect(request(mortal(world.routes, done).deps)).rejects.toBeInstanceOf(KilledError)
    await workOffUsers(world, user.userId, orgs)
    await registerUser(world.routes, { ...user, attemptId: randomUUID() }, contextOf(world))
    await workOffUsers(world, user.userId, orgs)
    const state = await expectWhole(world, user, orgs)
    expect(state).toMatchObject({ status: 'active' })
    expect('memberships' in state && state.memberships.size).toBe(1)
  },
)

/** As the route does it: the ids are minted first. */
async function registerByKey(key: string, user: RegisterUser, deps: UserDependencies): Promise<RegisterUser> {
  const context = contextOf(world)
  const userId = await mintId(deps, world.orgId, `user ${key}`, context)
  const membershipId = await mintId(deps, world.orgId, `membership ${key}`, context)
  const membership = user.membership && { ...user.membership, membershipId }
  const command = { ...user, userId, membership, attemptId: randomUUID() }
  await registerUser(deps, command, context)
  return command
}

const byKey = ['minted_id: IdMinted', 'minted_id: IdMinted', ...(creation?.effects ?? [])]
test.each(byKey.map((effect, done) => ({ effect, done })))(
  'a repeat of a key whose first request was killed before $effect ($done) creates one user with one UUID v7',
  async ({ effect, done }) => {
    const orgs = [await newOrganisation(world)]
    const [key, user] = [randomUUID(), newUser(orgs[0] ?? null)]
    const process = mortal(world.routes, done)
    await expect(registerByKey(key, user, process.deps)).rejects.toBeInstanceOf(KilledError)
    expect(process.killedBefore()).toBe(effect)
    const left = await mintId(world.processor, world.orgId, `user ${key}`, contextOf(world))
    await workOffUsers(world, left, orgs)
    const created = await registerByKey(key, user, world.routes)
    await workOffUsers(world, created.userId, orgs)
    expect([left, version(left)]).toEqual([created.userId, 7])
    expect(await expectWhole(world, created, orgs)).toMatchObject({ status: 'active' })
    const accounts = [...world.keycloak.accounts.values()].filter(({ email }) => email === user.email)
    expect(accounts).toHaveLength(1)
  },
)
