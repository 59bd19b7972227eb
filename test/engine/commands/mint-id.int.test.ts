import { randomUUID } from 'node:crypto'
import { version } from 'uuid'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { mintId } from '../../../engine/commands/mint-id.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { mintedIds } from '../../../engine/commands/minted-id/aggregate.ts'
import { contextOf, interrupted, openDecisionWorld, type DecisionWorld } from './decision-world.ts'

let world: DecisionWorld
beforeAll(async () => {
  world = await openDecisionWorld()
})
afterAll(() => world.close())

const minted = (key: string, changes: Partial<DecisionWorld> = {}) => {
  const deps = { ...world, ...changes }
  return mintId(deps, deps.orgId, key, contextOf(deps))
}

it('mints one UUID v7 for a key, whichever of many calls in two processes is first', async () => {
  const key = randomUUID()
  const stores = [world.store, world.otherStore]
  const ids = await Promise.all(Array.from({ length: 20 }, (_, call) => minted(key, { store: stores[call % 2]! })))
  expect(new Set(ids).size).toBe(1)
  expect(version(ids[0] ?? '')).toBe(7)
  expect(await minted(key)).toBe(ids[0])
  const { revision } = await world.otherStore.load(mintedIds.of(world.orgId, world.vault.fingerprint(key)))
  expect(revision).toBe(0n)
})

it('mints another id for another key, and for the same key of another organisation', async () => {
  const key = randomUUID()
  const ids = [await minted(key), await minted(randomUUID()), await minted(key, { orgId: tenantOfFact(randomUUID()) })]
  expect(new Set(ids).size).toBe(3)
})

it('mints no second id after a crash, before the append or after it', async () => {
  const key = randomUUID()
  const crash = async () => Promise.reject(new Error('crashed'))
  await expect(minted(key, { store: interrupted(world.store, 'minted_id', crash) })).rejects.toThrow('crashed')
  let id = ''
  const late = interrupted(world.store, 'minted_id', async () => {
    id = await minted(key, { store: world.otherStore })
  })
  expect(await minted(key, { store: late })).toBe(id)
})

it('contains the key nowhere', async () => {
  const key = `canary-${randomUUID()}`
  await minted(key)
  const { stream } = mintedIds.of(world.orgId, world.vault.fingerprint(key))
  const events: unknown[] = []
  for await (const { data, metadata } of world.store.readStream(stream)) events.push(data, metadata)
  expect(events).toHaveLength(2)
  expect(`${stream} ${JSON.stringify(events)}`).not.toContain(key)
})
