import { quantile } from '../harness/statistics.ts'
import type { JobDone } from './jobs.ts'

/** Does `count` pieces of work, so many at a time, and times each. */
export async function timed(count: number, inFlight: number, work: (number: number) => Promise<void>): Promise<JobDone> {
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
