import { expect, test } from 'vitest'
import { createLogger } from '../../../platform/observability/logging.ts'
import { retryUntilDone } from '../../../engine/processes/retry-until-done.ts'

test('the log says once a minute that workers cannot reach something, for all of them together', async () => {
  const lines: string[] = []
  const logger = createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } })
  const { signal } = new AbortController()
  let minutes = 0
  const failing = (times: number) => {
    let left = times
    return async () => {
      if (left === 0) return 'done'
      left -= 1
      throw new Error('away')
    }
  }
  const retried = (times: number) => retryUntilDone(failing(times), logger, signal, () => minutes * 60_000)

  expect(await Promise.all([retried(2), retried(1), retried(1)])).toEqual(['done', 'done', 'done'])
  expect(lines).toHaveLength(1)
  minutes = 0.99
  await retried(1)
  expect(lines).toHaveLength(1)
  minutes = 1
  await Promise.all([retried(1), retried(1)])
  expect(lines.map((line) => JSON.parse(line))).toEqual(
    Array(2).fill(expect.objectContaining({ level: 'warn', attempt: 1, msg: 'workers cannot reach what they need' })),
  )
})
