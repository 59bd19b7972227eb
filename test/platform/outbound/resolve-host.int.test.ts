import { expect, it } from 'vitest'
import { resolveHost } from '../../../platform/outbound/addresses.ts'

const running = () => process.getActiveResourcesInfo().filter((kind) => kind === 'GetAddrInfoReqWrap').length

it('looks one name up once at a time, and again later', async () => {
  const asked = Array.from({ length: 20 }, () => resolveHost('localhost'))
  expect(running()).toBe(1)
  const [first, ...others] = await Promise.all(asked)
  expect(first?.length).toBeGreaterThan(0)
  expect(others.every((found) => found === first)).toBe(true)
  const again = await resolveHost('localhost')
  expect(again).toEqual(first)
  expect(again).not.toBe(first)
})
