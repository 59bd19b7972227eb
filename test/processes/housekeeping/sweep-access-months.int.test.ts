import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createAccessMonthSweep } from '../../../processes/housekeeping/sweep-access-months.ts'
import { accessMonths } from '../../../streams/access-month/aggregate.ts'
import { openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'

let world: DecisionWorld
beforeAll(async () => {
  world = await openDecisionWorld()
})
afterAll(() => world.close())

const open = new AbortController().signal
const configuration = { accessLogRetentionDays: 30 }

/** How often a month ended. */
async function ends(month: string): Promise<number> {
  let count = 0
  for await (const _ of world.otherStore.readStream(accessMonths.of(month).stream)) count += 1
  return count
}

it('ends each month whose last day is past the retention, in every organisation, and no other', async () => {
  const { store, vault } = world
  const [one, two] = [randomUUID(), randomUUID()]
  const keys = [
    [one, 'access_log@2025-12'],
    [one, 'access_log@2026-01'],
    [two, 'access_log@2026-01'],
    [two, 'access_log@2026-02'],
    [two, 'other@2026-01'],
    [two, randomUUID()],
  ] as const
  for (const [orgId, subject] of keys) await vault.subjectKeyForWriting(orgId, subject)
  const sweptAt = (at: string) => createAccessMonthSweep({ store, vault, configuration, now: () => new Date(at) })(open)
  const isLeft = () =>
    Promise.all(
      keys.map(async ([orgId, subject]) => (await vault.subjectKeyForReading(orgId, subject)) !== 'destroyed'),
    )

  expect(await sweptAt('2026-03-02T23:59:59.999Z')).toBe(1)
  expect(await isLeft()).toEqual([false, true, true, true, true, true])
  expect(await sweptAt('2026-03-03T00:00:00.000Z')).toBe(2)
  expect(await isLeft()).toEqual([false, false, false, true, true, true])
  expect(await sweptAt('2026-03-03T00:00:00.000Z')).toBe(0)
  expect([await ends('2025-12'), await ends('2026-01'), await ends('2026-02')]).toEqual([1, 1, 0])
})

it('is finished by the next sweep after a crash', async () => {
  const { store, vault } = world
  const orgId = randomUUID()
  await vault.subjectKeyForWriting(orgId, 'access_log@2020-01')
  const now = () => new Date('2026-03-03T00:00:00.000Z')
  const crashing = {
    periodKeysBefore: (...given: Parameters<typeof vault.periodKeysBefore>) => vault.periodKeysBefore(...given),
    destroySubject: () => Promise.reject(new Error('crashed')),
  }
  await expect(createAccessMonthSweep({ store, vault: crashing, configuration, now })(open)).rejects.toThrow('crashed')
  expect(await ends('2020-01')).toBe(1)
  expect(await createAccessMonthSweep({ store, vault, configuration, now })(open)).toBe(1)
  expect(await vault.subjectKeyForReading(orgId, 'access_log@2020-01')).toBe('destroyed')
  expect(await ends('2020-01')).toBe(1)
})
