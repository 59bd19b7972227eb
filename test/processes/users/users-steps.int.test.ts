import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { execute } from '../../../engine/commands/execute.ts'
import { answeringRefusals } from '../../../engine/commands/refusals.ts'
import { changeUser } from '../../../commands/users/change-user.ts'
import { eraseUserEverywhere } from '../../../commands/users/erase-user.ts'
import {
  addOrganisationMembership,
  endOrganisationMembership,
  resolveMembership,
} from '../../../commands/users/organisation-membership.ts'
import { registerUser } from '../../../commands/users/register-user.ts'
import { createdUser, type RegisterUser } from '../../../commands/users/registration-attempt.ts'
import { userDetailOf } from '../../../commands/users/user-records.ts'
import { requestPasswordReset } from '../../../commands/users/reset-password.ts'
import { IdentityProviderUnavailableError, type IdentityProvider } from '../../../contracts/users/identity-provider.ts'
import { createPool } from '../../../platform/database/database.ts'
import { problem } from '../../../platform/http/problems.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { overdueAccountSteps } from '../../../processes/users/overdue-steps.ts'
import { usersProcess } from '../../../processes/users/users.process.ts'
import { users } from '../../../streams/user/aggregate.ts'
import type { UserEvent } from '../../../streams/user/events.ts'
import { contextOf, interrupted, problemOf } from '../../engine/commands/decision-world.ts'
import { whenWorkedOff } from '../../support/given-process.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { workOff } from '../../support/process-world.ts'
import { KilledError, mortal } from './mortal-process.ts'
import {
  expectWhole,
  newOrganisation,
  newUser,
  openUsersWorld,
  registered,
  todosOf,
  workOffUsers,
  type Organisation,
  type UsersWorld,
} from './users-world.ts'

let world: UsersWorld
let organisation: Organisation
let user: RegisterUser
beforeAll(async () => {
  world = await openUsersWorld()
})
afterAll(() => world.close())
beforeEach(async () => {
  organisation = await newOrganisation(world)
  user = newUser(organisation)
})

const administration = { tenant: null, mayChangeShared: true, grantor: 'platform' } as const
const unconditional = { profile: null, administration, requireMatch: () => undefined }

function setStatus(to: 'active' | 'suspended' | 'deactivated', routes = world.routes) {
  const command = { to, holdId: randomUUID(), changedBy: randomUUID(), now: world.now() }
  return changeUser(routes, user.userId, { ...unconditional, status: command }, contextOf(world))
}

function move(email: string, deps = world.routes, displayName?: string, requireMatch: () => void = () => undefined) {
  const profile = { email, displayName, newProfileId: randomUUID(), changedBy: randomUUID(), now: world.now() }
  const command = { profile, status: null, administration, requireMatch }
  return changeUser(deps, user.userId, command, contextOf(world))
}

async function typesOfUser(): Promise<string[]> {
  const types: string[] = []
  for await (const { type } of world.otherStore.readStream(users.of(user.userId).stream)) types.push(type)
  return types
}

const finish = async () => {
  await workOffUsers(world, user.userId, [organisation])
  return expectWhole(world, user, [organisation])
}

function withProvider<Deps extends { readonly identityProvider: IdentityProvider }>(
  deps: Deps,
  changes: Partial<IdentityProvider>,
): Deps {
  return { ...deps, identityProvider: { ...deps.identityProvider, ...changes } }
}

describe('a registration', () => {
  test('that is slower than its lease creates no user, and its account is deleted', async () => {
    const routes = withProvider(world.routes, {
      create: async (account, signal) => {
        const created = await world.routes.identityProvider.create(account, signal)
        await workOffUsers(world, user.userId, [organisation])
        return created
      },
    })
    expect(await problemOf(registerUser(routes, user, contextOf(world)))).toBe('registration-under-way')
    expect(await finish()).toMatchObject({ status: 'abandoned', isCleared: true })
  })

  const register = (routes = world.routes) => problemOf(registerUser(routes, user, contextOf(world)))

  test('whose provider is away leaves nothing', async () => {
    world.keycloak.failNext(/^POST .*\/users$/, 'cut-after')
    expect(await register()).toBe('identity-provider-unavailable')
    expect(await finish()).toMatchObject({ status: 'abandoned', isCleared: true })
    expect(await register()).toBe(null)
    expect(await finish()).toMatchObject({ status: 'active' })
  })

  test('is tried again at once after an outage, with the account of the call that had no answer', async () => {
    world.keycloak.failNext(/^POST .*\/users$/, 'cut-after')
    expect(await register()).toBe('identity-provider-unavailable')
    expect(await register()).toBe(null)
    expect(await finish()).toMatchObject({ status: 'active' })
  })

  test('that starts while the account of the former attempt is deleted has an account of its own', async () => {
    world.keycloak.failNext(/^POST .*\/users$/, 'cut-after')
    expect(await register()).toBe('identity-provider-unavailable')
    let again: Promise<unknown> = Promise.resolve()
    const processor = withProvider(world.processor, {
      delete: async (externalId, signal) => {
        again = register()
        await world.processor.identityProvider.delete(externalId, signal)
      },
    })
    await workOffUsers(world, user.userId, [organisation], processor)
    expect(await again).toBe(null)
    expect(await finish()).toMatchObject({ status: 'active' })
  })

  test('that took over the account of the former attempt keeps it, however late the deletion comes', async () => {
    world.keycloak.failNext(/^POST .*\/users$/, 'cut-after')
    expect(await register()).toBe('identity-provider-unavailable')
    const processor = withProvider(world.processor, {
      get: async (userId, signal) => {
        const account = await world.processor.identityProvider.get(userId, signal)
        await register()
        return account
      },
    })
    await workOffUsers(world, user.userId, [organisation], processor)
    expect(await finish()).toMatchObject({ status: 'active' })
  })

  describe('whose claim a failed request of the same key releases late', () => {
    const routes = () =>
      withProvider(world.routes, {
        create: async (account, signal) => {
          const created = await world.routes.identityProvider.create(account, signal)
          const { organisationId } = organisation
          const release = { membershipId: user.membership?.membershipId ?? '', organisationId, changedBy: randomUUID() }
          await resolveMembership(world.routes, release, { status: 'absent' }, contextOf(world))
          return created
        },
      })
    const expectMember = async () => {
      const state = await finish()
      expect('memberships' in state && state.memberships.size).toBe(1)
    }

    test('keeps its membership', async () => {
      expect(await register(routes())).toBe(null)
      await expectMember()
    })

    const dyingBeforeItConfirms = async () => {
      const process = mortal(routes(), 8)
      await expect(registerUser(process.deps, user, contextOf(world))).rejects.toBeInstanceOf(KilledError)
      expect(process.killedBefore()).toBe('role: MembershipRoleAssigned, MembershipConfirmed')
    }

    test('keeps its membership if the process ends it', async () => {
      await dyingBeforeItConfirms()
      await expectMember()
    })

    test('does not get it again while the user is being erased', async () => {
      await dyingBeforeItConfirms()
      const { state } = await world.store.load(users.of(user.userId))
      const erasing = { ...createdUser(state), status: 'erased' } as const
      const { organisationId } = organisation
      const membership = { membershipId: user.membership?.membershipId ?? '', organisationId, changedBy: randomUUID() }
      const resolved = await resolveMembership(world.routes, membership, erasing, contextOf(world))
      expect(resolved.state.assignments.size).toBe(0)
    })

    test('answers a repeat of its key with the membership', async () => {
      await dyingBeforeItConfirms()
      const { state } = await registerUser(world.routes, user, contextOf(world))
      const { organisationId } = organisation
      expect((await userDetailOf(world.routes, state, organisationId)).memberships).toMatchObject([
        { id: user.membership?.membershipId, organisationId, roleId: organisation.roleId },
      ])
      await expectMember()
    })
  })

  test('of an address that another one takes from its failed attempt during its repeat is the only one', async () => {
    world.keycloak.failNext(/^POST .*\/users$/, 'cut-after')
    expect(await register()).toBe('identity-provider-unavailable')
    const [created, taken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow = withProvider(world.routes, {
      create: async (account, signal) => {
        created.resolve()
        await taken.promise
        return world.routes.identityProvider.create(account, signal)
      },
    })
    let again: Promise<unknown> | undefined
    const store = interrupted(world.store, 'reservation', () => {
      again = register(slow)
      return created.promise
    })
    const other = { ...newUser(null), email: user.email }
    const answered = await problemOf(registerUser({ ...world.routes, store }, other, contextOf(world)))
    taken.resolve()
    expect([answered, await again]).toEqual(['email-in-use', null])
    await finish()
  })

  test('whose claim the process releases during a repeat of its key keeps its membership', async () => {
    const killed = mortal(world.routes, 4)
    await expect(registerUser(killed.deps, user, contextOf(world))).rejects.toBeInstanceOf(KilledError)
    expect(killed.killedBefore()).toBe('account: create')
    const [created, processed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let again: Promise<unknown> | undefined
    const repeat = { ...user, attemptId: randomUUID() }
    const beforeItConfirms = interrupted(world.store, 'role', () => {
      created.resolve()
      return processed.promise
    })
    const beforeItReleases = interrupted(world.processor.store, 'role', () => {
      again = problemOf(registerUser({ ...world.routes, store: beforeItConfirms }, repeat, contextOf(world)))
      return created.promise
    })
    await workOffUsers(world, user.userId, [organisation], { ...world.processor, store: beforeItReleases })
    processed.resolve()
    expect(await again).toBe(null)
    const state = await finish()
    expect('memberships' in state && state.memberships.size).toBe(1)
  })

  test('that the provider refuses leaves nothing', async () => {
    world.keycloak.failNext(/^POST .*\/users$/, { status: 400 })
    expect(await problemOf(registerUser(world.routes, user, contextOf(world)))).toBe('identity-provider-rejected')
    expect(await finish()).toMatchObject({ status: 'abandoned', isCleared: true })
  })
})

describe('a membership that is added', () => {
  beforeEach(async () => {
    user = await registered(world, newUser(null))
    // What was added at the instant of the creation counts as a part of it.
    world.pass(1)
  })
  const added = () => {
    const { organisationId, roleId } = organisation
    const ids = { userId: user.userId, membershipId: randomUUID(), organisationId, roleId }
    const by = { changedBy: randomUUID(), grantor: 'platform' } as const
    return { ...ids, ...by, fingerprint: ids.membershipId.replaceAll('-', '').repeat(2), now: world.now() }
  }
  const add = (command: ReturnType<typeof added>, deps = world.routes) =>
    problemOf(addOrganisationMembership(deps, command, contextOf(world)))
  const expectMember = async (...membershipIds: readonly string[]) => {
    const state = await finish()
    expect('memberships' in state && [...state.memberships.keys()]).toEqual(membershipIds)
  }

  test('too late leaves the membership that another request added meanwhile', async () => {
    const [late, other] = [added(), added()]
    const store = interrupted(world.store, 'user', async () => {
      await workOffUsers(world, user.userId, [organisation])
      expect(await add(other)).toBe(null)
    })
    expect(await add(late, { ...world.routes, store })).toBe('conflict')
    await expectMember(other.membershipId)
  })

  /** As a crash leaves it: the user's stream has the membership, and the claim of the organisation's was released. */
  const withoutClaim = async (command: ReturnType<typeof added>) => {
    const process = mortal(world.routes, 2)
    await expect(addOrganisationMembership(process.deps, command, contextOf(world))).rejects.toBeInstanceOf(KilledError)
    await resolveMembership(world.routes, command, { status: 'absent' }, contextOf(world))
  }

  test('again by a repeat of its key is a membership in both streams', async () => {
    const command = added()
    await withoutClaim(command)
    expect(await add(command)).toBe(null)
    await expectMember(command.membershipId)
  })

  test('again while the process removes it is refused, not lost', async () => {
    const command = added()
    await withoutClaim(command)
    let again: unknown
    const store = interrupted(world.processor.store, 'user', async () => {
      again = await add(command)
    })
    await workOffUsers(world, user.userId, [organisation], { ...world.processor, store })
    expect(again).toBe('idempotency-key-reused')
    await expectMember()
  })

  test('late, after the process has released its claim, is refused to a repeat of its key, not lost', async () => {
    const command = added()
    const killed = (effects: number) =>
      expect(
        addOrganisationMembership(mortal(world.routes, effects).deps, command, contextOf(world)),
      ).rejects.toBeInstanceOf(KilledError)
    await killed(1)
    let again: unknown
    const late = interrupted(world.processor.store, 'role', () => killed(1))
    const store = interrupted(late, 'user', async () => {
      again = await add(command)
    })
    await workOffUsers(world, user.userId, [organisation], { ...world.processor, store })
    expect(again).toBe('idempotency-key-reused')
    await expectMember()
  })

  test('again before the process ends it stays', async () => {
    const command = added()
    await withoutClaim(command)
    const store = interrupted(world.processor.store, 'role', async () => {
      expect(await add(command)).toBe(null)
    })
    await workOffUsers(world, user.userId, [organisation], { ...world.processor, store })
    await expectMember(command.membershipId)
  })

  test('in place of one without a claim leaves no row', async () => {
    const [first, second] = [added(), added()]
    await withoutClaim(first)
    expect(await add(second)).toBe(null)
    await expectMember(second.membershipId)
  })
})

describe('a change of address', () => {
  const other = () => newUser(organisation)

  test('that took too long is refused, so that no two users have the address', async () => {
    await registered(world, user)
    const second = other()
    const store = interrupted(world.store, 'user', async () => {
      world.pass(31)
      await registered(world, second)
    })
    const process = mortal({ ...world.routes, store }, 2)
    expect(await problemOf(move(second.email, process.deps))).toBe('conflict')
    expect(process.done).toEqual(['reservation: ReservationClaimed', 'user: UserChanged'])
    const { state } = await world.otherStore.load(users.of(user.userId))
    expect('externalId' in state && state.email).toBe(user.email)
    await finish()
  })

  test('that was renewed by a request that was then refused keeps its claim', async () => {
    await registered(world, user)
    const second = other()
    const refusals: unknown[] = []
    const store = interrupted(world.store, 'user', async () => {
      const unmatched = () => {
        throw problem('precondition-failed')
      }
      refusals.push(await problemOf(move(second.email, world.routes, undefined, unmatched)))
      refusals.push(await problemOf(registerUser(world.routes, second, contextOf(world))))
    })
    expect(await problemOf(move(second.email, { ...world.routes, store }))).toBe(null)
    expect(refusals).toEqual(['precondition-failed', 'email-in-use'])
    await workOffUsers(world, user.userId, [organisation])
    await expectWhole(world, { ...user, email: second.email }, [organisation])
  })

  test('that took too long is refused also if a killed request renewed its claim', async () => {
    await registered(world, user)
    const second = other()
    const store = interrupted(world.store, 'user', async () => {
      await expect(move(second.email, mortal(world.routes, 1).deps)).rejects.toBeInstanceOf(KilledError)
      world.pass(31)
      await registered(world, second)
    })
    expect(await problemOf(move(second.email, { ...world.routes, store }))).toBe('conflict')
    await finish()
  })

  test('made while another request names the old one is not undone without a claim', async () => {
    await registered(world, user)
    const { email } = other()
    const store = interrupted(world.store, 'user', async () => {
      await move(email)
    })
    expect(await problemOf(move(user.email, { ...world.routes, store }, 'Other'))).toBe('conflict')
    await workOffUsers(world, user.userId, [organisation])
    expect(await expectWhole(world, { ...user, email }, [organisation])).toMatchObject({ email })
  })

  test('that was killed after its event keeps the address', async () => {
    await registered(world, user)
    const { email } = other()
    const process = mortal(world.routes, 2)
    await expect(move(email, process.deps)).rejects.toBeInstanceOf(KilledError)
    world.pass(31)
    expect(await problemOf(registerUser(world.routes, { ...other(), email }, contextOf(world)))).toBe('email-in-use')
    await workOffUsers(world, user.userId, [organisation])
    await expectWhole(world, { ...user, email }, [organisation])
  })
})

describe('a hold', () => {
  test('of a suspension that took too long ends, and the suspension is refused', async () => {
    await registered(world, user)
    const store = interrupted(world.store, 'user', () => workOffUsers(world, user.userId, [organisation]))
    expect(await problemOf(setStatus('suspended', { ...world.routes, store }))).toBe('conflict')
    expect(await finish()).toMatchObject({ status: 'active', holdId: null })
  })
})

describe('an account', () => {
  beforeEach(() => registered(world, user))

  test('that waits for the provider keeps its row', async () => {
    await setStatus('suspended')
    const [row] = await todosOf(world, user.userId, [organisation])
    if (row === undefined) throw new Error('nothing is due')
    world.keycloak.failNext(/^PUT /, { status: 503 })
    const step = whenWorkedOff(usersProcess, row, world.processor, world.now())
    await expect(step).rejects.toBeInstanceOf(IdentityProviderUnavailableError)
    expect(await todosOf(world, user.userId, [organisation])).toEqual([row])
    await finish()
  })

  /** What happens after the provider has changed the account, and before its answer is there. */
  const duringUpdate = (happens: () => Promise<unknown>) =>
    withProvider(world.processor, {
      update: async (externalId, account, signal) => {
        await world.processor.identityProvider.update(externalId, account, signal)
        await happens()
      },
    })

  test('follows the address, the name and the locale of its user', async () => {
    const email = `new.${user.email}`
    await move(email, world.routes, 'Other')
    await workOffUsers(world, user.userId, [organisation])
    await expectWhole(world, { ...user, email }, [organisation])
    expect([...world.keycloak.accounts.values()].find(({ username }) => username === user.userId)).toMatchObject({
      email,
      emailVerified: false,
      firstName: 'Other',
      enabled: true,
    })
  })

  test('whose user has another address since the call follows again', async () => {
    await move(`first.${user.email}`)
    const email = `second.${user.email}`
    const [row] = await todosOf(world, user.userId, [organisation])
    if (row === undefined) throw new Error('nothing is due')
    await whenWorkedOff(
      usersProcess,
      row,
      duringUpdate(() => move(email)),
      world.now(),
    )
    expect(await typesOfUser()).not.toContain('UserAccountAligned')
    await workOffUsers(world, user.userId, [organisation])
    await expectWhole(world, { ...user, email }, [organisation])
  })

  test('of a suspended user has the new address and stays disabled', async () => {
    const email = `new.${user.email}`
    await setStatus('suspended')
    await move(email)
    await workOffUsers(world, user.userId, [organisation])
    await expectWhole(world, { ...user, email }, [organisation])
  })

  test('whose user is active again during the call is enabled', async () => {
    await setStatus('suspended')
    const deps = duringUpdate(() => setStatus('active'))
    const [row] = await todosOf(world, user.userId, [organisation])
    if (row === undefined) throw new Error('nothing is due')
    expect(await whenWorkedOff(usersProcess, row, deps, world.now())).toEqual({ kind: 'done', position: undefined })
    expect(await typesOfUser()).not.toContain('UserAccountAligned')
    await finish()
  })
})

describe('a processor that is killed at each of its effects', () => {
  const cases: [string, number, () => Promise<unknown>][] = [
    [
      'after a suspension',
      2,
      async () => {
        await registered(world, user)
        await setStatus('suspended')
      },
    ],
    [
      'after a change of address',
      2,
      async () => {
        await registered(world, user)
        const email = `new.${user.email}`
        await move(email)
        user = { ...user, email }
      },
    ],
    [
      'after an erasure',
      7,
      async () => {
        await registered(world, user)
        await setStatus('deactivated')
        await eraseUserEverywhere(
          world.routes,
          user.userId,
          { changedBy: randomUUID(), administration },
          contextOf(world),
        )
      },
    ],
    [
      'after a creation that was cut off',
      4,
      async () => {
        const route = mortal(world.routes, 7)
        await expect(registerUser(route.deps, user, contextOf(world))).rejects.toBeInstanceOf(KilledError)
        expect(route.done.at(-1)).toBe('reservation: ReservationConfirmed')
      },
    ],
    [
      'after a removal that was cut off',
      1,
      async () => {
        await registered(world, user)
        if (user.membership === null) throw new Error('the user is no member')
        const removed = { ...user.membership, userId: user.userId }
        const route = mortal(world.routes, 1)
        const by = { changedBy: randomUUID(), grantor: 'platform' } as const
        const removal = endOrganisationMembership(route.deps, removed, by, contextOf(world))
        await expect(removal).rejects.toBeInstanceOf(KilledError)
      },
    ],
  ]

  test.each(cases)('%s completes its work the next time', async (_, effects, given) => {
    for (let done = 0; done < effects; done++) {
      organisation = await newOrganisation(world)
      user = newUser(organisation)
      await given()
      const process = mortal(world.processor, done)
      const work = workOffUsers(world, user.userId, [organisation], process.deps)
      await expect(work, `after ${done} effects`).rejects.toBeInstanceOf(KilledError)
      await finish()
    }
  })
})

describe('a password reset', () => {
  const answering = answeringRefusals({})
  const mails = () => world.keycloak.mails.length
  let before: number

  beforeEach(async () => {
    await registered(world, user)
    before = mails()
    const request = { requestId: randomUUID(), isKeyed: false, changedBy: randomUUID(), now: world.now() }
    await execute(
      world.store,
      users.of(user.userId),
      (state) => answering(requestPasswordReset(request, state)),
      contextOf(world),
    )
  })

  test('waits until the account has the address of the user', async () => {
    const [reset] = await todosOf(world, user.userId, [organisation])
    if (reset === undefined) throw new Error('nothing is due')
    const email = `new.${user.email}`
    await move(email)
    const waiting = await whenWorkedOff(usersProcess, reset, world.processor, world.now())
    expect(waiting).toEqual({ kind: 'wait', until: new Date(world.now().getTime() + 1_000) })
    expect(mails() - before).toBe(0)
    const align = (await todosOf(world, user.userId, [organisation])).find(({ step }) => step === 'align-account')
    if (align === undefined) throw new Error('the account does not follow')
    await whenWorkedOff(usersProcess, align, world.processor, world.now())
    await workOffUsers(world, user.userId, [organisation])
    await expectWhole(world, { ...user, email }, [organisation])
    expect([mails() - before, await outcome()]).toEqual([1, 'sent'])
  })

  async function outcome() {
    const { state } = await world.otherStore.load(users.of(user.userId))
    expect('externalId' in state && state.passwordReset).toBe(null)
    const last = await world.otherStore.readLast<UserEvent>(users.of(user.userId).stream)
    return last?.type === 'UserPasswordResetEnded' && 'outcome' in last.data ? last.data.outcome : undefined
  }

  test('sends one message', async () => {
    await workOffUsers(world, user.userId, [organisation])
    expect([mails() - before, await outcome()]).toEqual([1, 'sent'])
  })

  test.each(['cut-after', 'cut-before', { status: 504 }] as const)(
    'that may have been sent ends as unknown: %j',
    async (fault) => {
      world.keycloak.failNext(/execute-actions-email$/, fault)
      await workOffUsers(world, user.userId, [organisation])
      expect(await outcome()).toBe('unknown')
      expect(mails() - before).toBeLessThanOrEqual(1)
    },
  )

  test('that was certainly not sent is tried again', async () => {
    world.keycloak.failNext(/execute-actions-email$/, { status: 500 }, { status: 503 })
    await workOffUsers(world, user.userId, [organisation])
    expect([mails() - before, await outcome()]).toEqual([1, 'sent'])
    expect((await typesOfUser()).filter((type) => type === 'UserPasswordResetPostponed')).toHaveLength(2)
  })

  test.each([
    ['a secret of the platform that the provider no longer has', /openid-connect\/token$/, { status: 401 }],
    ['a platform without the right', /execute-actions-email$/, { status: 403 }],
  ] as const)('that is refused for %s is tried again', async (_, call, fault) => {
    world.keycloak.failNext(/execute-actions-email$/, { status: 401 })
    world.keycloak.failNext(call, fault)
    await workOffUsers(world, user.userId, [organisation])
    expect([mails() - before, await outcome()]).toEqual([1, 'sent'])
    expect(await typesOfUser()).toContain('UserPasswordResetPostponed')
  })

  test('that is never sent ends as unavailable', async () => {
    const faults = [1, 2, 3, 4, 5].map(() => ({ status: 500 }))
    world.keycloak.failNext(/execute-actions-email$/, ...faults)
    await workOffUsers(world, user.userId, [organisation])
    expect([mails() - before, await outcome()]).toEqual([0, 'unavailable'])
  })

  test('that the provider refuses ends as rejected', async () => {
    world.keycloak.failNext(/execute-actions-email$/, { status: 400 })
    await workOffUsers(world, user.userId, [organisation])
    expect([mails() - before, await outcome()]).toEqual([0, 'rejected'])
  })

  test('whose processor is killed after the call is not sent again', async () => {
    const process = mortal(world.processor, 2)
    const work = workOffUsers(world, user.userId, [organisation], process.deps)
    await expect(work).rejects.toBeInstanceOf(KilledError)
    expect(process.done).toEqual(['user: UserPasswordResetAttempted', 'account: resetPassword'])
    await workOffUsers(world, user.userId, [organisation])
    expect([mails() - before, await outcome()]).toEqual([1, 'unknown'])
  })

  test('of two workers at once is sent by one', async () => {
    const [row] = await todosOf(world, user.userId, [organisation])
    if (row === undefined) throw new Error('nothing is due')
    const others: ProcessDependencies = { ...world.processor, store: world.store }
    await Promise.all([world.processor, others].map((deps) => workOff({ now: world.now, deps }, usersProcess, row)))
    expect([mails() - before, await outcome()]).toEqual([1, 'sent'])
  })

  test('that a stop of the worker cuts off records no outcome', async () => {
    const [row] = await todosOf(world, user.userId, [organisation])
    if (row === undefined) throw new Error('nothing is due')
    const stopping = new AbortController()
    const deps = withProvider(world.processor, { resetPassword: async () => stopping.abort(new Error('stop')) })
    const { signal } = stopping
    expect(await workOff({ now: world.now, deps }, usersProcess, row, { signal })).toHaveProperty('error')
    expect((await typesOfUser()).at(-1)).toBe('UserPasswordResetAttempted')
  })
})

test('the health report names what waits for the identity provider too long', async () => {
  const database = await freshDatabase()
  const pool = createPool({ url: database.url, max: 1 })
  try {
    await pool.query('create schema users_todo')
    await pool.query('create table users_todo.todo (step text, due_at timestamptz)')
    const insert = `insert into users_todo.todo values ($1, now() - $2::interval)`
    await pool.query(insert, ['resolve-membership', '1 hour'])
    await pool.query(insert, ['align-account', '4 minutes'])
    expect(await overdueAccountSteps(pool)).toBe(null)
    await pool.query(insert, ['align-account', '6 minutes'])
    await pool.query(insert, ['reset-password', '1 hour'])
    expect(await overdueAccountSteps(pool)).toBe('overdue: accounts to change (1), password resets (1)')
  } finally {
    await pool.end()
    await database.drop()
  }
})
