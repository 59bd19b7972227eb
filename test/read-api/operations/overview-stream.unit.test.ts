import { expect, it } from 'vitest'
import type { Overview } from '../../../contracts/operations/record.ts'
import { overviewStream } from '../../../read-api/operations/overview-stream.ts'

const overview = (status: Overview['status'], at: string): Overview => ({
  at,
  status,
  problems: [],
  systems: [],
  steps: { due: 0, waiting: 0, leased: 0, failing: 0, parked: 0, failed: 0 },
  lag: null,
  oldest_work: null,
  processes: [],
  seal: null,
  rates: [],
})

it('shows an overview at once, each five seconds, and at each change of its status', async () => {
  const closing = new AbortController()
  let now = 0
  const timing = {
    nowMs: () => now,
    pause: async (ms: number) => {
      now += ms
      if (now > 13_000) closing.abort()
    },
  }
  const answers: (Overview['status'] | 'away')[] = [
    'ok',
    'ok',
    'failing',
    'failing',
    'failing',
    'failing',
    'failing',
    'failing',
    'away',
  ]
  let look = -1
  const operations = {
    overview: () => {
      look += 1
      const status = answers[Math.min(look, answers.length - 1)] ?? 'ok'
      return status === 'away' ? Promise.reject(new Error('away')) : Promise.resolve(overview(status, `look ${look}`))
    },
  }
  const parts: (readonly [number, string])[] = []
  for await (const part of overviewStream(operations, closing.signal, timing)) {
    const data = /^data: (.*)\n\n$/.exec(part)?.[1]
    parts.push([now / 1_000, data === undefined ? part : (JSON.parse(data) as Overview).status])
  }
  expect(parts).toEqual([
    [0, 'retry: 2000\n\n'],
    [0, 'ok'],
    [2, 'failing'],
    [7, 'failing'],
    [12, ': no overview\n\n'],
  ])
})
