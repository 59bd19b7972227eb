import { createServer, type Server } from 'node:http'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { doctorChecks } from '../../../app/operations/doctor.ts'
import { freePort } from '../../../embedded/children/free-port.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { commandHere, type Ended } from '../../support/command-here.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import { startInProcessPlatform, type InProcessPlatform } from '../../support/in-process-platform.ts'
import { assessmentBody, expecting, photograph, registerPatient, requestAssessment } from '../../support/main-job.ts'
import { createApiClient, requestToken, type ApiClient } from '../../support/raw-api.ts'
import { runPlatform } from '../backup/backup-command.ts'

const base = '/v1/operations'
/** A fault is seen, and its end, within ten seconds. The rest is for a busy machine. */
const soon = { timeout: 40_000, interval: 250 }
let inProcess: InProcessPlatform
let watched: WatchedPlatform
let pool: Pool
/** A platform client with the scope of operators. */
let operator: ApiClient
let providerPort: number

beforeAll(async () => {
  providerPort = await freePort()
  inProcess = await startInProcessPlatform({
    PROVIDER_BASE_URL: `http://127.0.0.1:${providerPort}`,
    PROVIDER_LOGIN: 'login',
    PROVIDER_PASSWORD: 'password',
    WEBHOOK_RETRY_SCHEDULE_MS: '0,60000,60000',
    SEAL_INTERVAL_SECONDS: '1',
  })
  pool = createPool({ url: inProcess.databaseUrl, max: 2 })
  const { base_url: baseUrl } = inProcess.platform.credentials
  watched = watchPlatform(baseUrl)
  operator = watched.watch(await clientWith(['operations:write'], null))
})
afterAll(async () => {
  await pool.end()
  await inProcess.close()
})

/** Registered by the administrator. Null: a platform client. */
async function clientWith(scopes: readonly string[], orgId: string | null): Promise<ApiClient> {
  return createApiClient(inProcess.platform.credentials.base_url, await tokenWith(scopes, orgId))
}

async function tokenWith(scopes: readonly string[], orgId: string | null): Promise<string> {
  const { status, body } = await register(scopes, orgId)
  expect(status).toBe(201)
  const secrets = { client_id: textAt(body, 'client_id'), client_secret: textAt(body, 'client_secret') }
  const { body: token } = await requestToken(inProcess.platform.credentials.base_url, secrets)
  return textAt(token, 'access_token')
}

async function register(scopes: readonly string[], orgId: string | null) {
  const { base_url: baseUrl, admin_api_secret: secret } = inProcess.platform.credentials
  const answer = await fetch(`${baseUrl}/v1/auth/clients`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-admin-api-secret': secret ?? '' },
    body: JSON.stringify({ name: 'Operators', scopes, ...(orgId === null ? {} : { org_id: orgId }) }),
  })
  const body: unknown = await answer.json()
  return { status: answer.status, body }
}

async function read(path: string): Promise<unknown> {
  return (await expecting(200, operator.call(`${base}${path}`))).body
}

/** The problems of the overview with this code. */
async function problemsOf(code: string): Promise<readonly unknown[]> {
  const problems = at(await read('/overview'), 'problems')
  return Array.isArray(problems) ? problems.filter((problem) => at(problem, 'code') === code) : []
}

async function systemNamed(name: string): Promise<unknown> {
  const systems = at(await read('/overview'), 'systems')
  return Array.isArray(systems) ? systems.find((system) => at(system, 'name') === name) : undefined
}

describe('operators', () => {
  it('are platform clients with the scope', async () => {
    const orgId = inProcess.platform.credentials.org_id
    expect((await register(['operations:read'], orgId)).status).toBe(400)
    for (const path of ['/overview', '/health', '/steps', '/groups']) {
      const refused = await inProcess.api.call(`${base}${path}`)
      expect([path, refused.status, at(refused.body, 'code')]).toEqual([path, 403, 'insufficient-scope'])
    }
    const reader = await clientWith(['operations:read'], null)
    expect((await reader.call(`${base}/overview`)).status).toBe(200)
    const unknown = '0190b0a0-0000-7000-8000-000000000001'
    for (const path of ['steps', 'groups']) {
      const retry = `${base}/${path}/${unknown}/retry`
      expect((await reader.call(retry, { method: 'POST' })).status).toBe(403)
      expect((await operator.call(retry, { method: 'POST' })).status).toBe(404)
    }
  })

  it('see every process with its checks', async () => {
    const well = { name: 'database', status: 'ok', detail: null, since: expect.any(String) }
    await vi.waitFor(async () => {
      const process = at(await read('/health'), 'processes', 0)
      const living = { roles: ['api', 'projector', 'processor'], profile: 'development', status: 'running' }
      expect(process).toMatchObject(living)
      expect(at(process, 'checks')).toContainEqual(well)
    }, soon)
    expect(await problemsOf('role-missing')).toEqual([])
  })

  it('follow the overview', async () => {
    const { base_url: baseUrl } = inProcess.platform.credentials
    const closing = new AbortController()
    const headers = {
      authorization: `Bearer ${await tokenWith(['operations:read'], null)}`,
      accept: 'text/event-stream',
    }
    const answer = await fetch(`${baseUrl}${base}/overview`, { headers, signal: closing.signal })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    let text = ''
    for await (const part of answer.body ?? []) {
      text += Buffer.from(part).toString()
      if (/^data: /m.test(text) && text.endsWith('\n\n')) break
    }
    closing.abort()
    const shown: unknown = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '')
    expect(at(shown, 'rates')).toHaveLength(60)
    expect(at(shown, 'status')).toMatch(/ok|warning|failing/)
  })

  it('see the newest seal of the log', async () => {
    const seal = await vi.waitFor(() => read('/seals'), soon)
    expect(seal).toMatchObject({
      size: expect.any(Number),
      position: expect.stringMatching(/^\d+\/\d+$/),
      witnesses: [],
    })
    expect(at(seal, 'size')).toBeGreaterThan(0)
    expect(Object.keys(Object(at(await read('/overview'), 'seal')))).toEqual(Object.keys(Object(seal)))
    expect(at(seal, 'last_verification')).toBeNull()
    // A command verifies the log.
    const verified: unknown = JSON.parse((await command('audit', 'verify', '--json')).out)
    await vi.waitFor(async () => {
      const last = { at: expect.any(String), size: at(verified, 'size'), faults: 0, actor: { kind: 'command' } }
      expect(at(await read('/seals'), 'last_verification')).toMatchObject(last)
    }, soon)
  })

  it('see the rates of the last hour, and the relays of channels', async () => {
    await vi.waitFor(async () => {
      const rates = at(await read('/overview'), 'rates')
      const requests = Array.isArray(rates) ? rates.map((minute) => Number(at(minute, 'requests'))) : []
      expect(Math.max(...requests)).toBeGreaterThan(0)
    }, soon)
    await vi.waitFor(async () => {
      const relays = at(await read('/relays'), 'data')
      expect(relays).toContainEqual(expect.objectContaining({ channel: 'assessment.events', state: 'running' }))
    }, soon)
  })

  it('see read models and to-do lists, in pages', async () => {
    const names: string[] = []
    let cursor = ''
    do {
      const page = await read(`/projections?limit=10${cursor}`)
      const found = at(page, 'data')
      for (const one of Array.isArray(found) ? found : []) {
        expect(one).toMatchObject({ status: 'running', failure: null, copies: [] })
        names.push(textAt(one, 'name'))
      }
      cursor = at(page, 'has_more') === true ? `&cursor=${textAt(page, 'next_cursor')}` : ''
    } while (cursor !== '')
    expect(names).toEqual(names.toSorted())
    expect(names).toEqual(expect.arrayContaining(['assessments_todo', 'patients', 'webhooks_todo']))
    expect(new Set(names).size).toBe(names.length)
  })

  it('get a refusal of unknown filters, and 404 for unknown ids', async () => {
    for (const query of ['kind=other', 'process=other', 'step=other', 'state=due,other', 'other=1', 'failing_with=1'])
      expect([query, (await operator.call(`${base}/steps?${query}`)).status]).toEqual([query, 400])
    expect((await operator.call(`${base}/steps?state=due,other`)).body).toMatchObject({
      errors: [{ pointer: '/state', detail: 'must be one of due, waiting, leased, failing, parked, failed' }],
    })
    const unknown = '0190b0a0-0000-7000-8000-000000000001'
    for (const path of [`/steps/${unknown}`, `/groups/${unknown}`])
      expect((await operator.call(`${base}${path}`)).status).toBe(404)
  })
})

describe('a fault is on the overview, and gone after its end', () => {
  it('a provider that is away', async () => {
    const failing = {
      status: 'failing',
      error: { class: 'EgressError', code: 'ECONNREFUSED', host: `127.0.0.1:${providerPort}` },
    }
    await vi.waitFor(async () => expect(await systemNamed('provider')).toMatchObject(failing), soon)
    expect(await problemsOf('system-failing')).toMatchObject([
      { severity: 'failing', subject: 'provider', page: '/console', runbook: 'docs/operating.md#system-failing' },
    ])
    expect(at(await read('/overview'), 'status')).toBe('failing')
    const server = createServer((_, response) => void response.writeHead(405).end())
    await listening(server, providerPort)
    await vi.waitFor(
      async () => expect(await systemNamed('provider')).toMatchObject({ status: 'ok', failures: 0 }),
      soon,
    )
    expect(await problemsOf('system-failing')).toEqual([])
    server.closeAllConnections()
    await new Promise<void>((resolve) => void server.close(() => resolve()))
  })

  it('a receiver that is away', async () => {
    const port = await freePort()
    const subscriptions = '/v1/clinical-api/webhook-subscriptions'
    const subscribe = { url: `http://127.0.0.1:${port}/canary-path?canary`, event_types: ['assessment.failed'] }
    const { body } = await expecting(201, inProcess.api.call(subscriptions, { body: subscribe }))
    const id = textAt(body, 'id')
    // Without consent the assessment fails at once, and its end is due to the receiver.
    await requestAssessment(inProcess.api, assessmentBody(await registerPatient(inProcess.api), [await photograph()]))
    const ofReceiver = { kind: 'delivery', process: 'webhooks', step: 'deliver', count: 1, organisations: 1 }
    const group = await vi.waitFor(async () => {
      const { body: groups } = await operator.call(`${base}/groups`)
      const found = at(groups, 'data', 0)
      expect(found).toMatchObject({ ...ofReceiver, error: { class: 'attempt_failed', host: `127.0.0.1:${port}` } })
      return found
    }, soon)
    const groupId = textAt(group, 'id')
    await vi.waitFor(async () => expect(await problemsOf('work-failing')).toMatchObject([{ subject: groupId }]), soon)
    expect(await read(`/groups/${groupId}`)).toMatchObject(ofReceiver)
    const work = await read(`/steps?failing_with=${groupId}`)
    expect(at(work, 'data', 0)).toMatchObject({ state: 'failing', failures: 1, group_id: groupId })
    const own = inProcess.platform.credentials.org_id
    expect(at(await read(`/steps?org_id=${own}&kind=delivery`), 'data')).toHaveLength(1)
    expect(at(await read('/steps?org_id=0190b0a0-0000-7000-8000-000000000001'), 'data')).toEqual([])
    expect(await read(`/steps/${textAt(work, 'data', 0, 'id')}`)).toEqual({
      ...Object(at(work, 'data', 0)),
      retry: null,
    })
    expect(at(await read('/deliveries?state=failing'), 'data')).toEqual(at(work, 'data'))
    expect(at(await read('/deliveries?state=due'), 'data')).toEqual([])
    expect(at(await read('/notifications'), 'data')).toEqual([])
    for (const list of ['/deliveries', '/notifications'])
      expect((await operator.call(`${base}${list}?kind=delivery`)).status).toBe(400)
    expect(JSON.stringify([work, await read('/groups'), await read('/overview')])).not.toContain('canary')
    const endpoints = at(await read(`/endpoints?org_id=${own}`), 'data')
    expect(endpoints).toMatchObject([{ id, host: `127.0.0.1:${port}`, status: 'active', pending: 1, failed: 0 }])
    expect(JSON.stringify(endpoints)).not.toContain('canary')

    // The next try by the schedule is a minute away.
    const retryPath = `${base}/groups/${groupId}/retry`
    const { body: failed } = await expecting(202, operator.call(retryPath, { body: { reason: 'canary-free' } }))
    expect(failed).toMatchObject({ total: 1, reason: 'canary-free', actor: { kind: 'client' } })
    await vi.waitFor(async () => {
      const retried = at(await read(`/groups/${groupId}`), 'retry')
      expect(retried).toMatchObject({ id: textAt(failed, 'id'), done: 0, failed_again: 1 })
    }, soon)
    const receiver = createServer((_, response) => void response.writeHead(204).end())
    await listening(receiver, port)
    const { body: second } = await expecting(202, operator.call(retryPath, { method: 'POST' }))
    await vi.waitFor(async () => {
      const group = await read(`/groups/${groupId}`)
      expect(group).toMatchObject({ count: 0, example: null, retry: { id: textAt(second, 'id'), done: 1 } })
    }, soon)
    await vi.waitFor(async () => expect(await problemsOf('work-failing')).toEqual([]), soon)
    expect((await operator.call(retryPath, { method: 'POST' })).status).toBe(409)
    const actions = at(await read('/actions'), 'data')
    const retries = Array.isArray(actions) ? actions.filter((one) => at(one, 'action') === 'group.retry') : []
    // Clients were registered with the secret.
    expect(actions).toContainEqual(
      expect.objectContaining({
        action: 'administrator_secret.use',
        actor: { kind: 'bootstrap', id: null },
        subject: { kind: 'route', id: 'POST /v1/auth/clients' },
      }),
    )
    expect(retries).toMatchObject([
      { id: textAt(second, 'id'), action: 'group.retry', reason: null, count: 1 },
      { id: textAt(failed, 'id'), action: 'group.retry', subject: { kind: 'group', id: groupId } },
    ])
    await expecting(204, inProcess.api.call(`${subscriptions}/${id}`, { method: 'DELETE' }))
    receiver.closeAllConnections()
    await new Promise<void>((resolve) => void receiver.close(() => resolve()))
  })

  it('a step that throws', async () => {
    // No program writes such a row, so the step that reads it throws.
    await pool.query(
      `insert into assessments_todo.todo (key, step, org_id, due_at, payload) values ('planted', 'expire', $1, now(), '{"canary": 1}')`,
      [inProcess.platform.credentials.org_id],
    )
    const problems = await vi.waitFor(async () => {
      const found = await problemsOf('work-failing')
      expect(found).toHaveLength(1)
      return found
    }, soon)
    const group = await read(`/groups/${textAt(problems, 0, 'subject')}`)
    expect(group).toMatchObject({ kind: 'step', process: 'assessments', step: 'expire', count: 1 })
    expect(at(group, 'example', 'version')).toBe(at(group, 'versions', 0))
    expect(JSON.stringify(group)).not.toContain('canary')
    // A command retries it without the API, and waits for the outcome.
    const retried = await command('steps', 'retry', textAt(group, 'example', 'id'), '--wait', '--json')
    expect(retried.code).toBe(1)
    const failedAgain = { total: 1, waiting: 0, done: 0, failed_again: 1, actor: { kind: 'command' } }
    expect(JSON.parse(retried.out)).toMatchObject(failedAgain)
    await pool.query(`delete from assessments_todo.todo where key = 'planted'`)
    await vi.waitFor(async () => expect(await problemsOf('work-failing')).toEqual([]), soon)
  })

  it('a process without a sign of life', async () => {
    const id = '0190b0a0-0000-7000-8000-000000000002'
    await pool.query(
      `insert into runtime.processes values ($1, '{projector}', '1', 'production', now(), now() - interval '20 seconds', '[]')`,
      [id],
    )
    await vi.waitFor(async () => expect(await problemsOf('process-silent')).toMatchObject([{ subject: id }]), soon)
    await pool.query('delete from runtime.processes where id = $1', [id])
    await vi.waitFor(async () => expect(await problemsOf('process-silent')).toEqual([]), soon)
  })
})

describe('a read model', () => {
  const path = `${base}/projections`
  /** Requests an operation, and resolves to it once it is over. */
  async function workedOn(name: string, verb: string, body: object = {}): Promise<unknown> {
    const { body: requested } = await expecting(202, operator.call(`${path}/${name}/${verb}`, { body }))
    expect(requested).toMatchObject({ action: verb, status: 'requested', progress: null, actor: { kind: 'client' } })
    return vi.waitFor(async () => {
      const page = at(await read('/projections?limit=200'), 'data')
      const found = Array.isArray(page) ? page.find((one) => at(one, 'name') === name) : undefined
      const operation = at(found, 'operation')
      expect(operation).toMatchObject({
        id: textAt(requested, 'id'),
        status: expect.stringMatching(/done|different|failed/),
      })
      return operation
    }, soon)
  }

  it('is compared, rebuilt and rolled back by a projector process', async () => {
    expect(await workedOn('patients', 'verify')).toMatchObject({ status: 'done', detail: null })
    expect(await workedOn('patients', 'rollback')).toMatchObject({
      status: 'failed',
      detail: 'nothing-to-roll-back-to',
    })
    expect(await workedOn('patients', 'rebuild', { reason: 'to be sure' })).toMatchObject({ status: 'done' })
    expect(await workedOn('patients', 'rollback')).toMatchObject({ status: 'done' })
    await pool.query('delete from patients.patients')
    expect(await workedOn('patients', 'verify')).toMatchObject({ status: 'different', detail: 'patients' })
    expect(await workedOn('patients', 'rebuild')).toMatchObject({ status: 'different', detail: 'patients' })
    expect(await workedOn('patients', 'rebuild', { accept_difference: true })).toMatchObject({ status: 'done' })
    expect(await workedOn('patients', 'verify')).toMatchObject({ status: 'done' })
    expect(await workedOn('patients', 'retry')).toMatchObject({ status: 'done' })
    const actions = at(await read('/actions'), 'data')
    expect(actions).toContainEqual(
      expect.objectContaining({
        action: 'projection.rebuild',
        subject: { kind: 'projection', id: 'patients' },
        reason: 'to be sure',
      }),
    )
  })

  it('skips only the event at which it failed', async () => {
    const skip = { position: '1/1', reason: 'tried' }
    const codeOf = async (name: string, body: object = skip) => {
      const answer = await operator.call(`${path}/${name}/skip`, { body })
      return [answer.status, at(answer.body, 'code')]
    }
    expect(await codeOf('patients')).toEqual([409, 'projection-not-there'])
    expect(await codeOf('consent_records')).toEqual([409, 'skip-refused'])
    expect(await codeOf('nobody')).toEqual([404, 'not-found'])
    expect(await codeOf('patients', { position: '1/1' })).toEqual([400, 'validation-failed'])
    const { rows } = await pool.query<{ place: string }>(
      `update runtime.projectors set status = 'failed', failed_event_id = gen_random_uuid(), failed_event_type = 'PatientRegistered',
         failed_category = 'patient', failed_commit = commit_position, failed_prepare = prepare_position, failed_reason = 'planted'
       where name = 'consent_types' returning commit_position || '/' || prepare_position as place`,
    )
    const position = rows[0]?.place ?? ''
    expect(await workedOn('consent_types', 'skip', { position, reason: 'planted' })).toMatchObject({ status: 'done' })
  })

  it('is worked on by one operation at a time', async () => {
    await pool.query(
      `insert into runtime.projection_operations (id, projector, verb, accepts_difference, actor_kind, requested_at, status, seen_at)
       values (gen_random_uuid(), 'cases', 'verify', false, 'client', now(), 'running', clock_timestamp() + interval '1 minute')`,
    )
    const refused = await operator.call(`${path}/cases/verify`, { method: 'POST' })
    expect([refused.status, at(refused.body, 'code')]).toEqual([409, 'projection-busy'])
    // Its process has died: another one carries it out.
    await pool.query(
      `update runtime.projection_operations set seen_at = now() - interval '1 minute' where projector = 'cases'`,
    )
    await vi.waitFor(async () => {
      const { rows } = await pool.query(`select status from runtime.projection_operations where projector = 'cases'`)
      expect(rows).toEqual([{ status: 'done' }])
    }, soon)
  })

  it('is worked on also if the process died after it recorded the request', async () => {
    await pool.query(
      `insert into operator_actions.actions (action_id, at, action, actor_kind, actor_id, subject_kind, subject_id, count, projection)
       values (gen_random_uuid(), now(), 'projection.verify', 'client', 'operators', 'projection', 'images', 1,
         '{"verb": "verify", "acceptsDifference": false, "position": null}')`,
    )
    await vi.waitFor(async () => {
      const { rows } = await pool.query(`select status from runtime.projection_operations where projector = 'images'`)
      expect(rows).toEqual([{ status: 'done' }])
    }, soon)
  })
})

it('the command prints the overview without the API', async () => {
  const run = (...args: string[]) => command('status', ...args)
  const printed = JSON.parse((await run('--json')).out) as unknown
  const { at: _, ...answered } = (await read('/overview')) as Record<string, unknown>
  expect(Object.keys(Object(printed)).toSorted()).toEqual(['at', ...Object.keys(answered)].toSorted())
  expect(at(printed, 'processes', 0, 'id')).toBe(at(answered, 'processes', 0, 'id'))
  expect((await run()).out).toContain('Systems outside')
})

it('the doctor looks at everything, and goes on after a failure', async () => {
  const examined = (printed: string) => {
    const { checks } = JSON.parse(printed) as { checks: { name: string; status: string }[] }
    return Object.fromEntries(checks.map(({ name, status }) => [name, status]))
  }
  const { dataDir } = inProcess.platform.configuration
  const well = examined((await runPlatform(['doctor', '--json'], { PLATFORM_DATA_DIR: dataDir })).out)
  expect(Object.keys(well)).toEqual(doctorChecks)
  const servers = { settings: 'ok', database: 'ok', event_store: 'ok', vault: 'ok', clock: 'ok', versions: 'ok' }
  expect(well).toMatchObject({ ...servers, processes: 'ok', certificates: 'skipped', backup: 'skipped', seal: 'ok' })
  // The provider of these tests comes and goes.
  expect(well['provider']).toMatch(/ok|failing/)
  expect((await command('doctor')).out).toMatch(/^status: \w+\n\nCHECK +STATUS +DETAIL\nsettings +ok/)
  const without = await commandHere(['doctor', '--json'], { PLATFORM_DATA_DIR: '/nowhere' })
  expect(without.code).toBe(1)
  expect(examined(without.out)).toMatchObject({ settings: 'failing', database: 'skipped', seal: 'skipped' })
})

it('answers what the document describes', async () => {
  expect(await watched.undocumented()).toEqual([])
})

/** Runs a command against the servers of the platform. */
function command(...args: string[]): Promise<Ended> {
  return commandHere(args, { PLATFORM_DATA_DIR: inProcess.platform.configuration.dataDir })
}

async function listening(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve))
}
