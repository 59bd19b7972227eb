import { setTimeout as pause } from 'node:timers/promises'
import { quantile } from '../harness/compare.ts'
import type { JobDone } from './jobs.ts'

/** Does `count` pieces of work, so many at a time, and times each. */
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

/** Begins pieces of work at a steady rate, whatever became of those before; the times that they tell. */
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
    // What fails is told by the wait for all; until then nobody listens.
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

/** A member of parsed JSON, undefined where there is none. */
export function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  return Object.getOwnPropertyDescriptor(value, name)?.value
}
