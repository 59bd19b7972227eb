import { afterAll, beforeAll, expect, it } from 'vitest'
import { listenForMetrics, type MetricsListener } from '../../../platform/observability/metrics-listener.ts'
import { metricsType } from '../../../platform/observability/metrics.ts'
import { startApplication } from '../http/test-application.ts'

let listener: MetricsListener
let isBroken = false
beforeAll(async () => {
  const text = () => (isBroken ? Promise.reject(new Error('broken')) : Promise.resolve('figure 1\n'))
  listener = await listenForMetrics({ text }, { host: '127.0.0.1', port: 0 })
})
afterAll(() => listener.close())

const ask = async (path: string, method = 'GET') => {
  const answer = await fetch(`http://127.0.0.1:${listener.port}${path}`, { method })
  return [answer.status, answer.headers.get('content-type'), await answer.text()]
}

it('serves the figures on a port of their own, and nothing else', async () => {
  expect(await ask('/metrics')).toEqual([200, metricsType, 'figure 1\n'])
  expect(await ask('/metrics?a=b')).toEqual([200, metricsType, 'figure 1\n'])
  for (const path of ['/', '/health', '/metrics/', '/v1/auth/metrics', '//']) expect((await ask(path))[0]).toBe(404)
  expect((await ask('/metrics', 'POST'))[0]).toBe(404)
  isBroken = true
  expect((await ask('/metrics'))[0]).toBe(500)
  isBroken = false
})

it('leaves no figures at the routes of the application', async () => {
  for (const [env, status] of [
    [{ METRICS_PORT: '9464' }, 404],
    [{}, 200],
  ] as const) {
    const { app } = await startApplication({ env })
    expect((await app.inject('/metrics')).statusCode).toBe(status)
    expect((await app.inject('/health')).statusCode).toBe(200)
    await app.close()
  }
})

it('refuses a port that is taken', async () => {
  const taken = { host: '127.0.0.1', port: listener.port }
  await expect(listenForMetrics({ text: () => Promise.resolve('') }, taken)).rejects.toThrow('EADDRINUSE')
})
