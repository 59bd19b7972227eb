import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import { runStep } from '../../../engine/processes/step-run.ts'

const limitMs = 1_500
let egress: Egress
let server: Worker | undefined

beforeEach(() => {
  egress = createEgress({ configuration: loadConfiguration({}) })
})
afterEach(async () => {
  await server?.terminate()
  await egress.close()
})

/** Calls a server that answers while this process stands still for longer than `limitMs`. */
async function askedOver<Answer>(ask: (url: string) => Promise<Answer>): Promise<Answer> {
  const shared = new SharedArrayBuffer(16)
  const flags = new Int32Array(shared)
  server = new Worker(new URL('answering-worker.ts', import.meta.url), { workerData: shared })
  await Atomics.waitAsync(flags, 3, 0).value
  const answer = ask(`http://127.0.0.1:${Atomics.load(flags, 3)}/`)
  await Atomics.waitAsync(flags, 0, 0).value
  Atomics.store(flags, 1, 1)
  Atomics.notify(flags, 1)
  Atomics.wait(flags, 2, 0)
  const never = new Int32Array(new SharedArrayBuffer(4))
  Atomics.wait(never, 0, 0, limitMs + 100)
  return answer
}

async function statusOf(url: string, timeoutMs: number, signal?: AbortSignal): Promise<number> {
  const response = await egress.request(url, {
    purpose: 'webhook',
    method: 'POST',
    body: 'x',
    timeoutMs,
    maxBytes: 1_000,
    ...(signal === undefined ? {} : { signal }),
  })
  await response.discard()
  return response.status
}

describe('an answer that arrived while the process stood still', () => {
  it('counts, although the time limit of the call has passed', async () => {
    expect(await askedOver((url) => statusOf(url, limitMs))).toBe(204)
  })

  it('counts, although the time limit of the step has passed', async () => {
    const todo = { key: 'k', step: 's', orgId: null, dueAt: new Date(0), payload: {} }
    const surroundings = { now: () => new Date(), endedLeases: [], signal: new AbortController().signal }
    const term = { leaseUntil: '2030-01-01T00:00:00.000Z', timeoutMs: limitMs, abandonMs: 50_000 }
    const result = await askedOver((url) =>
      runStep(
        async (_todo, { signal }) => ({
          kind: 'retry',
          after: await statusOf(url, 40_000, signal),
          reason: 'answered',
        }),
        todo,
        surroundings,
        term,
      ),
    )
    expect(result).toEqual({ kind: 'retry', after: 204, reason: 'answered' })
  })
})
