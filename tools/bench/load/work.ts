import { setTimeout as pause } from 'node:timers/promises'
import { quantile } from '../harness/compare.ts'
import type { JobDone } from './jobs.ts'

/** Runs `count` pieces of work with a number in flight, and measures the time of each. */
export async function timed(
  count: number,
  inFlight: number,
  work: (number: number) => Promise<void>,
): Promise<JobDone> {
  const each: number[] = []
  let begun = 0
  const doNext = async (): Promise<void> => {
    while (begun < count) {
      const number = begun
      begun += 1
      const started = performance.now()
      await work(number)
      each.push(performance.now() - started)
    }
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: inFlight }, doNext))
  const taken = performance.now() - started
  return { perSecond: (count * 1000) / taken, p50: quantile(each, 0.5), p99: quantile(each, 0.99) }
}

/** Starts pieces of work at a steady rate, independent of earlier ones, and returns their times. */
export async function paced(
  count: number,
  perSecond: number,
  work: (number: number) => Promise<number>,
): Promise<JobDone> {
  const started = performance.now()
  const running: Promise<number>[] = []
  for (let number = 0; number < count; number += 1) {
    const due = started + (number * 1000) / perSecond
    if (due > performance.now()) await pause(due - performance.now())
    const working = work(number)
    // The final wait reports a failure. Until then the promise needs a handler.
    working.catch(() => undefined)
    running.push(working)
  }
  const each = await Promise.all(running)
  return {
    perSecond: (count * 1000) / (performance.now() - started),
    p50: quantile(each, 0.5),
    p99: quantile(each, 0.99),
  }
}

/** A member of parsed JSON, or undefined. */
export function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  return Object.getOwnPropertyDescriptor(value, name)?.value
}
