import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  reserve,
  holderOf,
  reservationsOf,
  vacate,
  type ReservationRequest,
  type ReservationResult,
  type OwnerState,
} from '../../../engine/commands/reservations.ts'
import { execute } from '../../../engine/commands/execute.ts'
import { openCase } from '../../../commands/clinical/open-case.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { caseFact, hash } from '../../streams/facts.ts'
import { contextOf, openDecisionWorld, type DecisionWorld } from './decision-world.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'

let world: DecisionWorld
beforeAll(async () => {
  world = await openDecisionWorld()
})
afterAll(() => world.close())

/** An owner of a key: an aggregate that may not exist yet. */
function newOwner() {
  const ownerId = randomUUID()
  return { ownerId, ownerStream: cases.of(world.orgId, ownerId).stream }
}

type Owner = ReturnType<typeof newOwner>

function reserved(key: string, owner: Owner, deps: Pick<DecisionWorld, 'store'> = world): Promise<ReservationResult> {
  const request = { orgId: world.orgId, key, ...owner, fingerprint: hash('f') }
  return reserve(reservationsOf({ ...world, store: deps.store }), request, contextOf(world))
}

async function won(key: string, owner: Owner): Promise<Extract<ReservationResult, { kind: 'reserved' }>> {
  const result = await reserved(key, owner)
  if (result.kind !== 'reserved') throw new Error('the key is held')
  return result
}

async function appear({ ownerId, ownerStream }: Owner): Promise<void> {
  const { openedAt: _, ...data } = caseFact('CaseOpened', { caseId: ownerId, organisationId: world.orgId }).data
  await execute(
    world.store,
    { fold: cases, stream: ownerStream },
    (state) => openCase({ ...data, now: world.now() }, state),
    contextOf(world),
  )
}

const holder = (key: string) => holderOf(reservationsOf(world), world.orgId, key)
const heldBy = (owner: Owner, isConfirmed: boolean) => ({
  kind: 'held',
  ownerId: owner.ownerId,
  fingerprint: hash('f'),
  isConfirmed,
})

describe('a claim', () => {
  it('is made once for an owner, who finds it again', async () => {
    const owner = newOwner()
    expect(await reserved('again', owner)).toMatchObject({ kind: 'reserved', isNew: true })
    expect(await reserved('again', owner)).toMatchObject({ kind: 'reserved', isNew: false, fingerprint: hash('f') })
    expect(await reserved('again', newOwner())).toEqual(heldBy(owner, false))
  })

  it('that is confirmed stays: a second confirmation succeeds, and a release does nothing', async () => {
    const owner = newOwner()
    const own = await won('confirmed', owner)
    await appear(owner)
    expect([await own.confirm(), await own.confirm()]).toEqual([true, true])
    world.pass(3600)
    expect(await reserved('confirmed', newOwner())).toEqual(heldBy(owner, true))
    expect(await holder('confirmed')).toBe(owner.ownerId)
  })

  it('that is released frees the key for all, and cannot be confirmed', async () => {
    const [first, second] = [newOwner(), newOwner()]
    const own = await won('released', first)
    await own.release()
    expect(await holder('released')).toBeNull()
    expect(await own.confirm()).toBe(false)
    await won('released', second)
    expect(await own.confirm()).toBe(false)
    await own.release()
    expect(await reserved('released', first)).toEqual(heldBy(second, false))
  })

  it('is won by one of twenty at once, from two processes', async () => {
    const owners = Array.from({ length: 20 }, newOwner)
    const results = await Promise.all(
      owners.map((owner, index) =>
        reserved('race', owner, { store: index % 2 === 0 ? world.store : world.otherStore }),
      ),
    )
    const winners = results.flatMap((result, index) => (result.kind === 'reserved' ? [owners[index]?.ownerId] : []))
    expect(winners).toHaveLength(1)
    const holders = results.flatMap((result) => (result.kind === 'held' ? [result.ownerId] : []))
    expect(new Set(holders)).toEqual(new Set(winners))
  })

  it('holds a key in one organisation only, and never stores it in the clear', async () => {
    await won('tenant-key', newOwner())
    const other = { ...world, orgId: tenantOfFact(randomUUID()) }
    const request = { orgId: other.orgId, key: 'tenant-key', ...newOwner(), fingerprint: null }
    expect(await reserve(reservationsOf(world), request, contextOf(other))).toMatchObject({
      kind: 'reserved',
      isNew: true,
    })
    expect(reservationsOf(world).hash('tenant-key')).toMatch(/^[0-9a-f]{64}$/)
  })
})

describe('a claim whose owner crashed', () => {
  it('before its append stays for 30 s, and then the next request for the key releases it', async () => {
    const [lost, next] = [newOwner(), newOwner()]
    const own = await won('absent', lost)
    world.pass(29.999)
    expect(await reserved('absent', next)).toEqual(heldBy(lost, false))
    expect(await holder('absent')).toBeNull()
    world.pass(0.001)
    expect(await reserved('absent', next)).toMatchObject({ kind: 'reserved', isNew: true })
    // The owner had not crashed. Its late confirmation fails.
    expect(await own.confirm()).toBe(false)
    expect(await reserved('absent', lost)).toEqual(heldBy(next, false))
  })

  it('and whose clock was ahead by more than 30 s is released at once', async () => {
    const [ahead, next] = [newOwner(), newOwner()]
    world.pass(29)
    await won('a little ahead', ahead)
    world.pass(3600)
    await won('ahead', ahead)
    world.pass(-3629)
    expect(await reserved('a little ahead', next)).toEqual(heldBy(ahead, false))
    expect(await reserved('ahead', next)).toMatchObject({ kind: 'reserved', isNew: true })
  })

  it('after its append is confirmed by the next request for the key', async () => {
    const owner = newOwner()
    await won('there', owner)
    await appear(owner)
    expect(await holder('there')).toBe(owner.ownerId)
    world.pass(3600)
    expect(await reserved('there', newOwner())).toEqual(heldBy(owner, true))
  })

  it('is released once by several requests at once', async () => {
    const lost = newOwner()
    await won('many', lost)
    world.pass(30)
    const results = await Promise.all(Array.from({ length: 8 }, () => reserved('many', newOwner())))
    expect(results.filter(({ kind }) => kind === 'reserved')).toHaveLength(1)
    expect(results.every((result) => result.kind === 'reserved' || result.ownerId !== lost.ownerId)).toBe(true)
  })
})

describe('a claim whose owner exists without the key', () => {
  const seen = (owner: OwnerState) => reservationsOf(world, async () => owner)
  const requestOf = (key: string, owner: Owner, isRenewing = false): ReservationRequest => ({
    orgId: world.orgId,
    key,
    ...owner,
    fingerprint: null,
    isRenewing,
  })
  const asked = (key: string, owner: Owner, as: OwnerState) =>
    reserve(seen(as), requestOf(key, owner), contextOf(world))

  it('stays for 30 s, because the owner may be about to use it, but does not count as held', async () => {
    const [owner, next] = [newOwner(), newOwner()]
    await won('lacking', owner)
    world.pass(29.999)
    expect(await asked('lacking', next, 'lacking')).toEqual(heldBy(owner, false))
    expect(await holderOf(seen('lacking'), world.orgId, 'lacking')).toBeNull()
    world.pass(0.001)
    expect(await asked('lacking', next, 'lacking')).toMatchObject({ kind: 'reserved', isNew: true })
  })

  it('ends at once if it was confirmed, because the owner has given the key up', async () => {
    const [owner, next] = [newOwner(), newOwner()]
    expect(await (await won('given up', owner)).confirm()).toBe(true)
    expect(await holderOf(seen('lacking'), world.orgId, 'given up')).toBeNull()
    expect(await asked('given up', next, 'lacking')).toMatchObject({ kind: 'reserved', isNew: true })
    expect(await (await won('gone', owner)).confirm()).toBe(true)
    await vacate(seen('lacking'), { orgId: world.orgId, key: 'gone' }, contextOf(world))
    expect(await reserved('gone', next)).toMatchObject({ kind: 'reserved', isNew: true })
  })

  it('is renewed by the owner only, and cannot be ended or confirmed under its old id', async () => {
    const [owner, next] = [newOwner(), newOwner()]
    const old = await won('renewed', owner)
    await old.confirm()
    const renewed = await reserve(reservationsOf(world), requestOf('renewed', owner, true), contextOf(world))
    if (renewed.kind !== 'reserved') throw new Error('the key is held')
    expect([renewed.isNew, await old.confirm()]).toEqual([true, false])
    await old.release()
    expect(await asked('renewed', next, 'lacking')).toMatchObject({
      kind: 'held',
      ownerId: owner.ownerId,
      isConfirmed: false,
    })
    await vacate(seen('lacking'), { orgId: world.orgId, key: 'renewed' }, contextOf(world))
    expect(await renewed.confirm()).toBe(true)
    expect(await reserve(reservationsOf(world), requestOf('renewed', next, true), contextOf(world))).toMatchObject({
      kind: 'held',
      ownerId: owner.ownerId,
    })
  })

  it('that is renewed between the check and its end does not end', async () => {
    const [owner, next] = [newOwner(), newOwner()]
    await (await won('overtaken', owner)).confirm()
    const slow = reservationsOf(world, async () => {
      await reserve(
        reservationsOf({ ...world, store: world.otherStore }),
        requestOf('overtaken', owner, true),
        contextOf(world),
      )
      return 'lacking'
    })
    expect(await reserve(slow, requestOf('overtaken', next), contextOf(world))).toMatchObject({
      kind: 'held',
      ownerId: owner.ownerId,
    })
  })
})
