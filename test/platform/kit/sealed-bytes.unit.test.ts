import { createSecretKey, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { openBytes, sealBytes } from '../../../platform/kit/sealed-bytes.ts'

const key = createSecretKey(randomBytes(32))
const place = 'raw-responses/org/review/1'
const text = Buffer.from('what the provider said', 'utf8')

it('opens with the same key at the same place only', () => {
  const sealed = sealBytes(key, place, text)
  expect(openBytes(key, place, sealed)).toEqual(text)
  expect(sealed.includes(text)).toBe(false)
  expect(() => openBytes(createSecretKey(randomBytes(32)), place, sealed)).toThrow()
  expect(() => openBytes(key, `${place}0`, sealed)).toThrow()
})

it('does not open if any byte was changed or is missing', () => {
  const sealed = sealBytes(key, place, text)
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed)
    changed[index] = (changed[index] ?? 0) ^ 1
    expect(() => openBytes(key, place, changed)).toThrow()
    expect(() => openBytes(key, place, sealed.subarray(0, index))).toThrow()
  }
})

it('seals the same bytes under another iv each time, also after a failure', () => {
  const ivs = new Set<string>()
  // More than twice as many as one draw of random bytes serves.
  for (let count = 0; count < 600; count += 1) {
    ivs.add(sealBytes(key, place, text).toString('hex', 0, 12))
    if (count % 100 === 0) expect(() => sealBytes(createSecretKey(randomBytes(16)), place, text)).toThrow()
  }
  expect(ivs.size).toBe(600)
})
