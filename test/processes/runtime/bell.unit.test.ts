import { expect, it } from 'vitest'
import { Bell } from '../../../processes/runtime/bell.ts'

it('wakes who waits for it', async () => {
  const bell = new Bell()
  const waiting = bell.heard(60_000)
  bell.ring()
  expect(await waiting).toBe(true)
})

it('is heard by whoever waits next, once however often it rang', async () => {
  const bell = new Bell()
  bell.ring()
  bell.ring()
  expect(await bell.heard(60_000)).toBe(true)
  expect(await bell.heard(1)).toBe(false)
})

it('keeps nobody waiting longer than asked', async () => {
  const bell = new Bell()
  expect([await bell.heard(0), await bell.heard(1)]).toEqual([false, false])
})
