import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { WakeUpSignal } from '../../../engine/processes/wake-up-signal.ts'

const longMs = 60_000

beforeEach(() => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
})

/** Whether a wait has ended after so many milliseconds. */
async function endsWithin(ms: number, waiting: Promise<void>): Promise<boolean> {
  let isOver = false
  void waiting.then(() => (isOver = true))
  await vi.advanceTimersByTimeAsync(ms)
  return isOver
}

it('wakes who waits for it', async () => {
  const wakeUp = new WakeUpSignal()
  const waiting = wakeUp.wait(longMs)
  wakeUp.send()
  expect(await endsWithin(0, waiting)).toBe(true)
})

it('reaches the next waiting caller once, however often it was sent', async () => {
  const wakeUp = new WakeUpSignal()
  wakeUp.send()
  wakeUp.send()
  expect(await endsWithin(0, wakeUp.wait(longMs))).toBe(true)
  expect(await endsWithin(longMs - 1, wakeUp.wait(longMs))).toBe(false)
})

it('ends a wait after its time limit', async () => {
  const wakeUp = new WakeUpSignal()
  expect(await endsWithin(0, wakeUp.wait(0))).toBe(true)
  expect(await endsWithin(longMs, wakeUp.wait(longMs))).toBe(true)
})
