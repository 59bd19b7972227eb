import { randomUUID } from 'node:crypto'
import {
  createConsentType,
  type CreateConsentType,
  updateConsentType,
  useConsentType,
} from '../../../commands/consent/consent-types.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refused, type Decision } from '../../../engine/commands/decision.ts'
import { execute } from '../../../engine/commands/execute.ts'
import type { KeyedRequest } from '../../../engine/commands/keyed-request.ts'
import { onceByKey } from '../../../engine/commands/once-by-key.ts'
import { problem, type ProblemCode } from '../../../platform/http/problems.ts'
import { AppendOutcomeUnknownError } from '../../../engine/store/errors.ts'
import type { StreamRevision } from '../../../platform/kit/positions.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import type { ConsentTypeEvent } from '../../../streams/consent-type/events.ts'
import { consentTypes, type ConsentTypeState, consentTypeIdOf } from '../../../streams/consent-type/aggregate.ts'
import { consentTypeFact, hash } from '../../streams/facts.ts'
import {
  contextOf,
  interrupted,
  openDecisionWorld,
  problemOf,
  withReads,
  type DecisionWorld,
} from './decision-world.ts'

let world: DecisionWorld
beforeAll(async () => {
  world = await openDecisionWorld()
})
afterAll(() => world.close())

function definition(code: string, changes: Partial<CreateConsentType> = {}): CreateConsentType {
  const { createdAt: _, ...data } = consentTypeFact('ConsentTypeCreated').data
  const consentTypeId = consentTypeIdOf(world.orgId, code)
  return { ...data, code, consentTypeId, organisationId: world.orgId, now: world.now(), ...changes }
}

const targetOf = (code: string) => consentTypes.of(world.orgId, consentTypeIdOf(world.orgId, code))
const create = (command: CreateConsentType, store = world.store) =>
  execute(store, targetOf(command.code), (state) => createConsentType(command, state), contextOf(world))
const used = { now: new Date('2026-03-01T11:00:00.000Z') }

describe('executing a command', () => {
  it('appends the decided events, and returns their position', async () => {
    const done = await create(definition('plain'))
    expect(done).toMatchObject({
      revision: 0n,
      events: [{ type: 'ConsentTypeCreated' }],
      state: { status: 'defined', code: 'plain' },
    })
    expect(done.position?.commit).toBeGreaterThan(0n)
  })

  it('refuses with the problem of the refusal', async () => {
    await create(definition('taken'))
    expect(await problemOf(create(definition('taken')))).toBe('consent-type-code-in-use')
  })

  it('decides a refusal again after reading the tail: stale state of another process refuses nothing', async () => {
    const target = targetOf('stale')
    await create(definition('stale'))
    await world.otherStore.load(target)
    await execute(world.store, target, (state) => useConsentType(used, state), contextOf(world))
    const refuseUnused = (state: ConsentTypeState) =>
      state.status === 'defined' && state.isUsed ? [] : refused('conflict')
    expect(await execute(world.otherStore, target, refuseUnused, contextOf(world))).toMatchObject({
      revision: 1n,
      events: [],
    })
  })

  it('decides an empty result again after reading the tail', async () => {
    const target = targetOf('empty')
    await create(definition('empty'))
    await world.otherStore.load(target)
    await execute(world.store, target, (state) => useConsentType(used, state), contextOf(world))
    const decided: boolean[] = []
    const done = await execute(
      world.otherStore,
      target,
      (state) => {
        decided.push(state.status === 'defined' && state.isUsed)
        return []
      },
      contextOf(world),
    )
    expect(decided).toEqual([false, true])
    expect(done).toMatchObject({ events: [], position: undefined, revision: 1n, state: { isUsed: true } })
  })

  it('accepts an expected revision that another process wrote, and no other', async () => {
    const target = targetOf('expected')
    await create(definition('expected'))
    await world.otherStore.load(target)
    const update = (displayName: string) => (state: ConsentTypeState) =>
      updateConsentType({ displayName, description: undefined, required: undefined, now: world.now() }, state)
    await execute(world.store, target, update('First'), contextOf(world))
    const expecting = (expected: bigint) => (revision: StreamRevision) => {
      if (revision !== expected) throw problem('precondition-failed')
    }
    expect(await execute(world.otherStore, target, update('Second'), contextOf(world), expecting(1n))).toMatchObject({
      revision: 2n,
      state: { displayName: 'Second' },
    })
    expect(await problemOf(execute(world.otherStore, target, update('Third'), contextOf(world), expecting(1n)))).toBe(
      'precondition-failed',
    )
  })

  it('decides again after a lost race, on the state of the winner', async () => {
    const command = definition('race', { fingerprint: hash('f') })
    const racing = interrupted(world.store, 'consent_type', async () => void (await create(command, world.otherStore)))
    expect(await create(command, racing)).toMatchObject({ events: [], position: undefined, state: { code: 'race' } })
    const [refused, winner] = [definition('lost'), definition('lost', { displayName: 'The winner' })]
    const beaten = interrupted(world.store, 'consent_type', async () => void (await create(winner, world.otherStore)))
    expect(await problemOf(create(refused, beaten))).toBe('consent-type-code-in-use')
  })

  it('gives up with a conflict after losing every race', async () => {
    const target = targetOf('restless')
    await create(definition('restless'))
    let tries = 0
    const touch = (state: ConsentTypeState): ConsentTypeEvent[] =>
      state.status === 'absent' ? [] : [consentTypeFact('ConsentTypeUsed')]
    const decide = (state: ConsentTypeState) => {
      tries += 1
      return touch(state)
    }
    const work = execute(world.store, target, decide, contextOf(world), async () => {
      const { state, revision } = await world.otherStore.load(target)
      await world.otherStore.append(target, revision, touch(state), contextOf(world))
    })
    expect(await problemOf(work)).toBe('conflict')
    expect(tries).toBeGreaterThan(4)
    expect(tries).toBeLessThan(100)
  })

  it('reads once to refuse: an unknown stream costs what a known one does', async () => {
    await create(definition('costly'))
    const { counting, reads } = withReads(world.store)
    const refusing = async (code: string) => {
      const work = execute(counting, targetOf(code), () => ({ refused: 'not-found' }) as const, contextOf(world))
      expect(await problemOf(work)).toBe('not-found')
      return reads.splice(0).length
    }
    expect([await refusing('costly'), await refusing('unknown')]).toEqual([1, 1])
  })

  it('creates a new stream without reading it, and decides again if it exists', async () => {
    const { counting, reads } = withReads(world.store)
    const make = (command: CreateConsentType, store: EventStore) =>
      execute(
        store,
        { ...targetOf(command.code), isNew: true },
        (state) => createConsentType(command, state),
        contextOf(world),
      )
    const first = definition('new', { fingerprint: hash('f') })
    expect(await make(first, counting)).toMatchObject({
      revision: 0n,
      events: [{ type: 'ConsentTypeCreated' }],
      state: { code: 'new' },
    })
    expect(reads).toEqual([])

    // Another process, with an empty cache, gets the same request again, and a different one.
    expect(await make(first, world.otherStore)).toMatchObject({
      revision: 0n,
      events: [],
      position: undefined,
      state: { code: 'new' },
    })
    await make(definition('not-new'), world.store)
    expect(await problemOf(make(definition('not-new', { displayName: 'Another' }), world.otherStore))).toBe(
      'consent-type-code-in-use',
    )
  })

  it('runs `beforeAppend` after a decision with events, and never for a refusal or a repeat', async () => {
    const calls: string[] = []
    const target = targetOf('before')
    const run = (name: string, decide: (state: ConsentTypeState) => Decision<ConsentTypeEvent, ProblemCode>) =>
      problemOf(execute(world.store, target, decide, contextOf(world), async () => void calls.push(name)))
    expect(await run('refused', () => refused('not-found'))).toBe('not-found')
    expect(await run('repeated', () => [])).toBeNull()
    expect(await run('decided', (state) => createConsentType(definition('before'), state))).toBeNull()
    expect(calls).toEqual(['decided'])
  })
})

describe('an Idempotency-Key beside a natural key', () => {
  const keyed = (key: string, letter: string): KeyedRequest => ({
    id: randomUUID(),
    fingerprint: hash(letter),
    isKeyed: true,
    idOf: () => randomUUID(),
    reservedKey: `idempotency\0${key}`,
    identity: hash(letter),
    causing: null,
  })

  function request(key: string, code: string, letter: string, work?: () => Promise<unknown>): Promise<unknown> {
    const ownerId = consentTypeIdOf(world.orgId, code)
    const ownerStream = consentTypes.of(world.orgId, ownerId).stream
    const hasHappened = async () => (await world.store.readLast(ownerStream)) !== undefined
    const owner = { orgId: world.orgId, ownerId, ownerStream, hasHappened }
    return onceByKey(
      world,
      keyed(key, letter),
      owner,
      contextOf(world),
      work ?? (() => create(definition(code, { fingerprint: hash(letter) }))),
    )
  }

  it('is claimed by the first request, answers its repeat, and refuses another request', async () => {
    expect(await request('k1', 'keyed', 'a')).toMatchObject({ events: [{ type: 'ConsentTypeCreated' }] })
    expect(await request('k1', 'keyed', 'a')).toMatchObject({ events: [] })
    expect(await problemOf(request('k1', 'keyed', 'b'))).toBe('idempotency-key-reused')
    expect(await problemOf(request('k1', 'another', 'b'))).toBe('idempotency-key-reused')
  })

  it('makes one record of fifty requests at once', async () => {
    const all = await Promise.all(Array.from({ length: 50 }, () => request('k2', 'fifty', 'a')))
    expect(all.filter((done) => (done as { events: unknown[] }).events.length > 0)).toHaveLength(1)
  })

  it('is released when the request is refused', async () => {
    await create(definition('k3-taken'))
    expect(await problemOf(request('k3', 'k3-taken', 'a'))).toBe('consent-type-code-in-use')
    expect(await request('k3', 'k3-free', 'b')).toMatchObject({ events: [{ type: 'ConsentTypeCreated' }] })
  })

  const unknown = new AppendOutcomeUnknownError('consent_type', 3)

  it('stays claimed if an append with unknown outcome has happened', async () => {
    const happened = () => create(definition('k4-code', { fingerprint: hash('a') })).then(() => Promise.reject(unknown))
    await expect(request('k4', 'k4-code', 'a', happened)).rejects.toBe(unknown)
    expect(await problemOf(request('k4', 'k4-code', 'b'))).toBe('idempotency-key-reused')
    expect(await request('k4', 'k4-code', 'a')).toMatchObject({ events: [] })
  })

  it('is free again if an append with unknown outcome has not happened', async () => {
    await expect(request('k6', 'k6-code', 'a', () => Promise.reject(unknown))).rejects.toBe(unknown)
    expect(await request('k6', 'k6-code', 'b')).toMatchObject({ events: [{ type: 'ConsentTypeCreated' }] })
    expect(await problemOf(request('k6', 'k6-code', 'a'))).toBe('idempotency-key-reused')
  })

  it('is not released by a refused repeat, because the first request owns it', async () => {
    await request('k5', 'k5-code', 'a')
    expect(await problemOf(request('k5', 'k5-code', 'a', () => Promise.reject(problem('conflict'))))).toBe('conflict')
    expect(await problemOf(request('k5', 'k5-other', 'b'))).toBe('idempotency-key-reused')
  })

  it('is not released by a refused repeat while the outcome of the first request is unknown', async () => {
    await expect(request('k7', 'k7-code', 'a', () => Promise.reject(unknown))).rejects.toBe(unknown)
    expect(await problemOf(request('k7', 'k7-code', 'a', () => Promise.reject(problem('conflict'))))).toBe('conflict')
    expect(await problemOf(request('k7', 'k7-other', 'b'))).toBe('idempotency-key-reused')
  })

  it('is optional', async () => {
    const unkeyed = { ...keyed('', 'a'), reservedKey: null, fingerprint: null, isKeyed: false }
    const owner = {
      orgId: world.orgId,
      ownerId: randomUUID(),
      ownerStream: 'consent_type-x',
      hasHappened: async () => false,
    }
    expect(await onceByKey(world, unkeyed, owner, contextOf(world), async () => 'created')).toBe('created')
  })
})
