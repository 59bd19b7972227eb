import { expect, it } from 'vitest'
import { derivedV7 } from '../../../engine/processes/step-identity.ts'

const at = new Date('2026-03-01T10:00:00.000Z')

it('is the same for the same cause and instant, and different for others', () => {
  const id = derivedV7('cause', at)
  expect(derivedV7('cause', new Date(at))).toBe(id)
  expect(derivedV7('another', at)).not.toBe(id)
  expect(derivedV7('cause', new Date(at.getTime() + 1))).not.toBe(id)
})

it('is a UUID of version 7 that sorts by its instant', () => {
  expect(derivedV7('cause', at)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(derivedV7('a', at) < derivedV7('b', new Date(at.getTime() + 1))).toBe(true)
})
