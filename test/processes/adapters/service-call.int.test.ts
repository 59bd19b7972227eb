import { afterEach, expect, test } from 'vitest'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { getFromService, type ServiceAnswer } from '../../../processes/adapters/service-call.ts'
import { startOutsideServer, type Reply } from '../../support/process-world.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Calls a service with these answers; the last one repeats for ever. `asked` is the number of calls. */
async function heard(
  ...replies: readonly [Reply, ...Reply[]]
): Promise<{ readonly answer: ServiceAnswer; readonly asked: number }> {
  let given = 0
  const server = await startOutsideServer(() => replies[Math.min(given++, replies.length - 1)] ?? replies[0])
  const egress = createEgress({ configuration: loadConfiguration({ BASE_URL: server.url }) })
  closing.push(
    () => egress.close(),
    () => server.close(),
  )
  const token = { get: async () => 'token', drop: () => undefined }
  const answer = await getFromService({ egress, token }, new URL('/v1/thing', server.url), new AbortController().signal)
  return { answer, asked: server.asked.length }
}

const refusal = (code: string): Reply => ({ status: 503, body: { code } })
const granted: Reply = { status: 200, body: { granted: true } }

test('a token that lacks a scope is renewed once: it may be older than the scope', async () => {
  const lacking: Reply = { status: 403, body: { code: 'insufficient-scope' } }
  expect(await heard(lacking, granted)).toEqual({ answer: { kind: 'answer', body: { granted: true } }, asked: 2 })
  expect(await heard(lacking)).toEqual({ answer: { kind: 'unavailable', status: 403 }, asked: 2 })
  expect(await heard({ status: 403, body: { code: 'org-mismatch' } }, granted)).toEqual({
    answer: { kind: 'unavailable', status: 403 },
    asked: 1,
  })
})

test('a service that shuts down is called again, until another instance answers', async () => {
  expect(await heard(refusal('shutting-down'), refusal('shutting-down'), granted)).toEqual({
    answer: { kind: 'answer', body: { granted: true } },
    asked: 3,
  })
})

test('a service that a newer version replaces is called again', async () => {
  expect(await heard(refusal('written-by-newer-version'), granted)).toEqual({
    answer: { kind: 'answer', body: { granted: true } },
    asked: 2,
  })
})

test('a service that keeps shutting down is unavailable', async () => {
  expect(await heard(refusal('shutting-down'))).toEqual({ answer: { kind: 'unavailable', status: 503 }, asked: 4 })
})

test.each(['database-unavailable', 'read-model-behind'])(
  'a service that answers %s has waited itself and is not called again',
  async (code) => {
    expect(await heard(refusal(code), granted)).toEqual({ answer: { kind: 'unavailable', status: 503 }, asked: 1 })
  },
)
