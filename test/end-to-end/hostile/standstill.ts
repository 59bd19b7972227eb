import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Longest time in milliseconds that the event loop of this process is blocked during the work. Other programs can delay
 * the loop, but not add to the processor time of this thread, so the smaller of the two counts.
 */
export async function standstillOf(work: () => Promise<void>): Promise<number> {
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  const before = process.threadCpuUsage()
  await work()
  // The delay is counted once its timer has run.
  await sleep(2)
  const { user, system } = process.threadCpuUsage(before)
  delays.disable()
  return Math.min(delays.max / 1e6, (user + system) / 1000)
}

/** Milliseconds of `JSON.parse` for a text, the shortest of several runs. */
export function parseTimeOf(json: string): number {
  const times = Array.from({ length: 5 }, () => {
    const before = performance.now()
    try {
      JSON.parse(json)
    } catch {
      // Not JSON: the time until the parser gave up counts.
    }
    return performance.now() - before
  })
  return Math.min(...times)
}
