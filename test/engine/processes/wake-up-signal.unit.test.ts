import { expect, it } from 'vitest'
import { WakeUpSignal } from '../../../engine/processes/wake-up-signal.ts'

it('wakes who waits for it', async () => {
  const wakeUp = new WakeUpSignal()
  const waiting = wakeUp.wait(60_000)
  wakeUp.send()
  expect(await waiting).toBe(true)
})

it('reaches the next waiting caller once, however often it was sent', async () => {
  const wakeUp = new WakeUpSignal()
  wakeUp.send()
  wakeUp.send()
  expect(await wakeUp.wait(60_000)).toBe(true)
  expect(await wakeUp.wait(1)).toBe(false)
})

it('ends a wait after its time limit', async () => {
  const wakeUp = new WakeUpSignal()
  expect([await wakeUp.wait(0), await wakeUp.wait(1)]).toEqual([false, false])
})
