import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { applyLedger } from '../../app/erasure-ledger.ts'
import { ledgerKey, ledgerText } from '../../contracts/clinical/erasure-ledger.ts'
import { patientErasures } from '../../streams/patient-erasure/aggregate.ts'
import type { SignedErasure } from '../../platform/vault/vault-rows.ts'
import { noOrganisation } from '../../platform/kit/tenants.ts'
import { users } from '../../streams/user/aggregate.ts'
import { contextOf } from '../engine/commands/decision-world.ts'
import { userFact } from '../streams/user-facts.ts'
import { silentLogger } from '../../tools/equality/contents.ts'
import { openProcessWorld, type ProcessWorld } from '../support/process-world.ts'

let world: ProcessWorld
beforeAll(async () => {
  world = await openProcessWorld()
})
afterAll(() => world.close())

const apply = () => applyLedger({ ...world, objects: world.deps.objects, logger: silentLogger, now: () => world.now() })
const store = async (entry: SignedErasure) =>
  void (await world.deps.objects.put(ledgerKey(entry), Buffer.from(ledgerText(entry)), 'application/json'))

/** An entry of the ledger, and a key that a restored vault brought back under another subject's place. */
async function entry(): Promise<SignedErasure> {
  return world.vault.eraseSubject(world.orgId, randomUUID())
}

it('an erasure that the log lacks begins again, once', async () => {
  const { orgId, subjectId } = await entry()
  expect(await apply()).toEqual({ destroyed: 0, begun: 1, unsigned: [] })
  const { state } = await world.store.load(patientErasures.of(world.orgId, subjectId))
  expect(state.erasure).toMatchObject({ status: 'running', reference: 'ledger' })
  expect(world.vault.isClosed(orgId, subjectId)).toBe(true)
  expect(await apply()).toEqual({ destroyed: 0, begun: 0, unsigned: [] })
})

it('an entry of the object store destroys a key that exists, and an altered one does nothing', async () => {
  const [subjectId, otherId] = [randomUUID(), randomUUID()]
  const { orgId } = world
  for (const id of [subjectId, otherId]) await world.vault.subjectKeyForWriting(orgId, id)
  const erasedAt = '2026-03-01T10:00:00.000Z'
  const signature = world.vault.fingerprint(`erasure\0${orgId}\0${subjectId}\0${erasedAt}`)
  await store({ orgId, subjectId, erasedAt, signature })
  await store({ orgId, subjectId: otherId, erasedAt, signature })
  expect(await apply()).toEqual({ destroyed: 1, begun: 1, unsigned: [`${orgId}/${otherId}`] })
  expect(await world.vault.subjectKeyForReading(orgId, subjectId)).toBe('destroyed')
  expect(await world.vault.lastRewrite(orgId, subjectId)).toMatchObject({ isAfterErasure: true })
  expect(await world.vault.subjectKeyForReading(orgId, otherId)).not.toBe('destroyed')
})

it('a user whom a backup brought back is erased again, in any status, once', async () => {
  const userId = randomUUID()
  const user = users.of(userId)
  await world.store.append(user, 'no_stream', [userFact('UserCreated', { userId })], contextOf(world))
  const { orgId, subjectId, ...signed } = await world.vault.eraseSubject(noOrganisation, userId)
  await store({ orgId, subjectId, ...signed })
  expect(await apply()).toMatchObject({ destroyed: 0, begun: 1 })
  const { state } = await world.store.load(user)
  expect(state).toMatchObject({ status: 'erased', erasure: { startedBy: 'erasure-ledger', reached: 'started' } })
  expect((await apply()).begun).toBe(0)
})

it('an entry of a user destroys a key that exists, and begins nothing where the log does not know the user', async () => {
  const userId = randomUUID()
  await world.vault.subjectKeyForWriting(noOrganisation, userId)
  const erasedAt = '2026-03-01T10:00:00.000Z'
  const signature = world.vault.fingerprint(`erasure\0${noOrganisation}\0${userId}\0${erasedAt}`)
  await store({ orgId: noOrganisation, subjectId: userId, erasedAt, signature })
  expect(await apply()).toMatchObject({ destroyed: 1, begun: 0 })
  expect(await world.vault.subjectKeyForReading(noOrganisation, userId)).toBe('destroyed')
})
