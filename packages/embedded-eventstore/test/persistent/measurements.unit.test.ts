import { expect, test } from 'vitest'
import { Measurements } from '../../persistent/measurements.ts'

test('messages that are never acknowledged are forgotten', () => {
  const measurements = new Measurements()
  for (let n = 0; n <= 10_000; n += 1) measurements.start(`id-${n}`, 0)
  measurements.end('id-0', 5)
  expect(measurements.summary()).toEqual([])
  measurements.end('id-1', 5)
  expect(measurements.summary()[0]).toEqual({ key: 'Mean', value: 5 })
})
