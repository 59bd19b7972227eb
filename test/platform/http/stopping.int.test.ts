import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { createGracefulStop } from '../../../platform/lifecycle/graceful-stop.ts'
import type { Service } from '../../../platform/http/service.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { startApplication } from './test-application.ts'

it('lets running requests finish, refuses later ones on open connections, and accepts no new connection', async () => {
  let finish: () => void = () => undefined
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  let begun: () => void = () => undefined
  const begins = new Promise<void>((resolve) => {
    begun = resolve
  })
  const slow: Service = {
    prefix: 'consent',
    documentedAt: 'bare',
    routes: (app) => {
      app.get('/slow', { config: { access: 'public' } }, async () => {
        begun()
        await finished
        return { done: true }
      })
      app.get('/quick', { config: { access: 'public' } }, () => ({ done: true }))
    },
  }
  const graceful = createGracefulStop({ logger: createLogger({ level: 'silent' }) })
  const t = await startApplication({ services: [slow], isStopping: () => graceful.isStopping })
  graceful.onStop('intake', 'http', () => t.app.close())
  const address = await t.app.listen({ port: 0, host: '127.0.0.1' })

  const inFlight = fetch(`${address}/v1/slow`)
  await begins
  const open = connect(Number(new URL(address).port), '127.0.0.1')
  open.write('GET /v1/quick HTTP/1.1\r\nhost: x\r\n')
  expect((await fetch(`${address}/v1/quick`)).status).toBe(200)
  const stopped = graceful.stop()
  const late = new Promise<string>((resolve) => {
    let answer = ''
    open.on('data', (chunk) => {
      answer += chunk.toString()
    })
    open.on('close', () => resolve(answer))
  })
  open.write('\r\n')
  expect(await late).toMatch(/^HTTP\/1\.1 503[^]*connection: close[^]*shutting-down/)
  await expect(fetch(`${address}/v1/quick`)).rejects.toThrow()
  finish()
  expect(await (await inFlight).json()).toEqual({ done: true })
  expect(await stopped).toBe(0)
})
