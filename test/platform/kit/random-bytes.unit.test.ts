import { expect, it } from 'vitest'
import { newId } from '../../../platform/kit/new-id.ts'
import { randomPart } from '../../../platform/kit/random-bytes.ts'

it('returns no byte twice, over many draws and lengths', () => {
  const parts = Array.from({ length: 3_000 }, (_, index) => Buffer.from(randomPart(12 + (index % 5))).toString('hex'))
  expect(new Set(parts.map((part) => part.slice(0, 24))).size).toBe(parts.length)
  expect(parts.slice(0, 5).map((part) => part.length / 2)).toEqual([12, 13, 14, 15, 16])
})

it('makes ids of version 7 that differ', () => {
  const ids = Array.from({ length: 3_000 }, newId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})
