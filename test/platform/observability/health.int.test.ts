import { stat } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { createHealth } from '../../../platform/observability/health.ts'
import { startApplication } from '../http/test-application.ts'

it('is ok without checks and contains the profile', async () => {
  expect(await createHealth({ profile: 'production' }).report('full')).toEqual({
    status: 'ok',
    profile: 'production',
    checks: [],
  })
})

it('is the worst of its checks; for readiness, only of those that gate it', async () => {
  const health = createHealth({ profile: 'development' })
  health.register({ name: 'database', gatesReadiness: true, run: () => ({ status: 'warning', detail: 'slow' }) })
  health.register({
    name: 'projector',
    gatesReadiness: false,
    run: async () => ({ status: 'failing', detail: 'stopped at an event' }),
  })
  expect(await health.report('ready')).toEqual({
    status: 'warning',
    profile: 'development',
    checks: [{ name: 'database', status: 'warning', detail: 'slow' }],
  })
  expect((await health.report('full')).status).toBe('failing')
  expect(await health.report('live')).toMatchObject({ status: 'ok', checks: [] })
})

it('hides the error of a check', async () => {
  const health = createHealth({ profile: 'development' })
  health.register({
    name: 'database',
    gatesReadiness: true,
    run: () => {
      throw new Error('connect to 10.0.0.1 failed')
    },
  })
  expect(await health.report('ready')).toMatchObject({
    status: 'failing',
    checks: [{ name: 'database', status: 'failing', detail: 'the check failed' }],
  })
})

it('waits for a check no longer than the limit', async () => {
  const health = createHealth({ profile: 'development', limitMs: 5 })
  health.register({ name: 'hanging', gatesReadiness: true, run: () => new Promise(() => undefined) })
  expect(await health.report('ready')).toMatchObject({
    checks: [{ name: 'hanging', status: 'failing', detail: 'no answer in time' }],
  })
})

it('counts an answer that arrived while the process stood still, although the limit has passed', async () => {
  const health = createHealth({ profile: 'development', limitMs: 100 })
  health.register({
    name: 'disk',
    gatesReadiness: true,
    run: async () => ({ status: 'ok', detail: typeof (await stat('/')) }),
  })
  const report = health.report('ready')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
  expect((await report).checks).toEqual([{ name: 'disk', status: 'ok', detail: 'object' }])
})

it('answers 200 or 503, on the host and for a service with its own checks only', async () => {
  const t = await startApplication()
  t.health.register({
    name: 'provider',
    gatesReadiness: true,
    services: ['ai-review'],
    run: () => ({ status: 'failing' }),
  })
  t.health.register({ name: 'database', gatesReadiness: true, run: () => ({ status: 'ok' }) })
  const statuses = await Promise.all(
    ['/health', '/health/live', '/health/ready', '/v1/clinical-api/health', '/v1/clinical-api/v1/health/ready'].map(
      async (url) => (await t.app.inject({ url })).statusCode,
    ),
  )
  expect(statuses).toEqual([503, 200, 503, 200, 200])
  await t.app.close()
})

it('answers 503 to balancers while a server stops, and refuses new requests', async () => {
  let isStopping = false
  const t = await startApplication({ isStopping: () => isStopping })
  isStopping = true
  expect((await t.app.inject({ url: '/health/ready' })).statusCode).toBe(503)
  expect((await t.app.inject({ url: '/health/live' })).statusCode).toBe(200)
  const refused = await t.app.inject({ url: '/v1/whoami' })
  expect([refused.statusCode, refused.headers['retry-after'], refused.headers.connection, refused.json()]).toEqual([
    503,
    '1',
    'close',
    expect.objectContaining({ code: 'shutting-down', retriable: true }),
  ])
  await t.app.close()
})
