import { v4 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../app/demo/members.ts'
import { createApiClient, requestToken } from '../support/raw-api.ts'
import { waitFor } from '../support/platform.ts'
import { openServeWorld, type ServeWorld } from './serve-world.ts'

let world: ServeWorld

beforeAll(async () => {
  world = await openServeWorld()
})
afterAll(() => world.close())

test('an operator registers a client, an API serves it, and SIGTERM ends the API with exit code 0', async () => {
  const registered = await world.outcome(
    ['clients', 'register', '--new-org', '--new-product', '--scope', 'patients:read'],
    world.settings,
  )
  expect([registered.code, registered.stderr]).toEqual([0, ''])
  const client: unknown = JSON.parse(registered.stdout)
  const projector = world.begin(['serve', '--role', 'projector'], { ...world.settings, PORT: '0' })
  const api = world.begin(['serve', '--role', 'api'], world.settings)
  await waitFor(
    'both to be ready',
    () => (projector.output.stdout.includes('is ready') && api.output.stdout.includes('is ready') ? true : undefined),
    60_000,
  )
  const health = await waitFor('the API to be ready', async () => {
    const answer = await fetch(`${world.settings['BASE_URL']}/health/ready`)
    return answer.status === 200 ? answer.json() : undefined
  })
  expect(at(health, 'roles')).toEqual(['api'])
  const asking = { client_id: textAt(client, 'client_id'), client_secret: textAt(client, 'client_secret') }
  const token = await requestToken(world.settings['BASE_URL'] ?? '', asking)
  expect([token.status, at(token.body, 'scope')]).toEqual([200, 'patients:read'])
  const caller = createApiClient(world.settings['BASE_URL'] ?? '', textAt(token.body, 'access_token'))
  expect((await caller.call(`/v1/clinical-api/patients/${v4()}`)).status).toBe(404)
  api.kill()
  projector.kill()
  expect([await api.exited, await projector.exited, api.output.stderr, projector.output.stderr]).toEqual([0, 0, '', ''])
})

test('in production a debugger stops the start', async () => {
  const { code, stdout, stderr } = await world.outcome(['serve', '--role', 'projector'], {
    ...world.settings,
    APP_ENV: 'production',
    NODE_OPTIONS: '--inspect=127.0.0.1:0',
  })
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('platform: configuration: NODE_OPTIONS and the command line must not contain --inspect')
})

test('a processor without its services logs that steps wait, is not ready, and still ends with 0', async () => {
  const processor = world.begin(['serve', '--role', 'processor'], { ...world.settings, BASE_URL: 'http://127.0.0.1:1' })
  const health = await waitFor(
    'its health',
    async () => {
      const answer = await fetch(`http://127.0.0.1:${world.port}/health/ready`).catch(() => undefined)
      return answer === undefined ? undefined : { status: answer.status, body: await answer.json() }
    },
    60_000,
  )
  expect(health.status).toBe(503)
  expect(at(health.body, 'checks')).toContainEqual({
    name: 'steps',
    status: 'failing',
    detail: 'the services that steps call do not answer yet',
  })
  const metrics = await (await fetch(`http://127.0.0.1:${world.port}/metrics`)).text()
  expect(metrics).toContain('health_check_status{check="steps",state="failing"} 1')
  expect(metrics).toContain('projector_state{projector="assessments_todo",')
  expect(metrics).not.toContain('projector_state{projector="patients"')
  expect(metrics).toContain('projector_has_process{projector="patients"} ')
  processor.kill()
  expect([await processor.exited, processor.output.stderr]).toEqual([0, ''])
})
