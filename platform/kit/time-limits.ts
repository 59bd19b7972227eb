import { pause } from './backoff.ts'

/** Waits for the work, at most this long, in milliseconds. */
export async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  try {
    await Promise.race([work, pause(limitMs, over.signal)])
  } finally {
    over.abort()
  }
}

/**
 * The work's result. Rejects if it takes longer than this, in milliseconds. After a standstill of the process, timers run before
 * answers that have already arrived. So answers are read first.
 */
export async function limited<Result>(limitMs: number, work: Promise<Result>): Promise<Result> {
  const over = Promise.withResolvers<never>()
  const reject = () => over.reject(new Error(`no answer within ${limitMs} ms`))
  const timer = setTimeout(() => setImmediate(reject), limitMs)
  try {
    return await Promise.race([work, over.promise])
  } finally {
    clearTimeout(timer)
    work.catch(() => undefined)
  }
}
