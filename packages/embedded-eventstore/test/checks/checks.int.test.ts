import { describe, expect, test } from 'vitest'
import { isRealEventStore, realEventStoreUrl } from '../../testing/fresh-event-store.ts'
import { checkDamage } from '../../checks/damage-check.ts'
import { checkAgainstModel } from '../../checks/model-check.ts'
import { checkAgainstServer } from '../../checks/real-check.ts'

const quietly = (): void => {}

describe('random operations', () => {
  test.each([1, 2])('get the answers of the model, over restarts: seed %i', async (seed) => {
    const { differences, operations } = await checkAgainstModel({
      operations: 300,
      seed,
      operationsPerRestart: 75,
      progress: quietly,
    })
    expect(differences).toEqual([])
    expect(operations).toBe(300)
  })

  if (isRealEventStore) {
    test('get the answers of a real server', async () => {
      const { differences } = await checkAgainstServer(realEventStoreUrl, 300, 1, quietly)
      expect(differences).toEqual([])
    })
  }
})

test('damage anywhere in the files is reported or harmless, and a torn tail loses no acknowledged event', async () => {
  const { differences, ...figures } = await checkDamage(120, 1, quietly)
  expect(differences).toEqual([])
  expect(figures.refusedStarts).toBeGreaterThan(0)
  expect(figures.reportedReads).toBeGreaterThan(0)
  expect(figures.repaired).toBeGreaterThan(0)
})
