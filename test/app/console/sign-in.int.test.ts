import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { startPlatform, type Platform } from '../../../app/assemble.ts'
import type { Configuration } from '../../../platform/configuration/configuration.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { masterKeys } from '../../support/first-clients.ts'
import { startInProcessPlatform, type InProcessPlatform } from '../../support/in-process-platform.ts'
import { expecting, registerPatient } from '../../support/main-job.ts'
import { clientOf, waitFor } from '../../support/platform.ts'
import { createApiClient, requestToken } from '../../support/raw-api.ts'
import { openBrowser, type TestBrowser } from './browser.ts'

const form = '/console/development-sign-in'
const overview = '/console/api/v1/operations/overview'

let inProcess: InProcessPlatform
/** A second API process on the same servers. */
let second: Platform
let baseUrl: string
let pool: Pool
let atConsole: { readonly url: string; readonly email: string; readonly password: string }

beforeAll(async () => {
  inProcess = await startInProcessPlatform({ CONSOLE_IDLE_SECONDS: '60' })
  const { credentials } = inProcess.platform
  baseUrl = credentials.base_url
  pool = createPool({ url: inProcess.databaseUrl, max: 2 })
  if (credentials.console === undefined) throw new Error('no operator of the console')
  atConsole = credentials.console
  second = await apiProcess({})
})
afterAll(async () => {
  await second.stop.stop()
  await pool.end()
  await inProcess.close()
})

/** Another API process on the same servers. */
async function apiProcess(settings: Partial<Configuration>): Promise<Platform> {
  const { configuration } = inProcess.platform
  return startPlatform({
    configuration: { ...configuration, port: 0, ...settings },
    masterKeys: parseMasterKeys(await masterKeys(configuration.dataDir)),
    logger: createLogger({ level: 'silent' }),
    roles: ['api'],
  })
}

async function signIn(browser: TestBrowser, email = atConsole.email, password = atConsole.password) {
  return browser.post(form, { form: { email, password, return_to: '/console/work' } })
}

async function signedIn(): Promise<TestBrowser> {
  const browser = openBrowser(baseUrl)
  expect((await signIn(browser)).status).toBe(303)
  return browser
}

async function csrfToken(browser: TestBrowser): Promise<string> {
  return textAt((await browser.get('/console/session')).body, 'csrf_token')
}

/** A user of the first organisation, with a role that has these permissions. */
async function person(email: string, permissions: readonly string[]) {
  const { org_id: orgId, admin_api_secret: secret } = inProcess.platform.credentials
  const headers = { 'x-admin-api-secret': secret ?? '' }
  const role = { organisationId: orgId, name: email, permissions }
  const { body: madeRole } = await expecting(201, inProcess.api.call('/v1/admin/roles', { body: role, headers }))
  const roleId = textAt(madeRole, 'id')
  const user = { email, displayName: '<img src=x onerror=alert(1)>', userType: 'admin', roleId }
  const { body } = await expecting(201, inProcess.api.call(`/v1/admin/users?org_id=${orgId}`, { body: user, headers }))
  return { userId: textAt(body, 'id'), roleId, headers }
}

describe('the pages', () => {
  it.each([
    '',
    '/work',
    '/read-models',
    '/webhooks',
    '/log',
    '/access',
    '/subjects/0190b0a0-0000-7000-8000-000000000001',
  ])('are public, and contain nothing but the shell: /console%s', async (path) => {
    const { status, headers, text } = await openBrowser(baseUrl).get(`/console${path}`, {
      'accept-language': 'de-CH,en;q=0.5',
    })
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(text).toContain('<html lang="de">')
    expect(text).not.toContain(inProcess.platform.credentials.org_id)
  })

  it.each(['/console', '/console/assets/app.mjs', '/console/session', '/console/none', '/console/%ff', overview])(
    'have the headers that protect them: %s',
    async (path) => {
      const { headers } = await openBrowser(baseUrl).get(path)
      const policy = headers.get('content-security-policy') ?? ''
      expect(policy).toMatch(/default-src 'none'.*form-action 'self'.*frame-ancestors 'none'.*base-uri 'none'/)
      expect(policy).not.toMatch(/unsafe|https?:|\*/)
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
    },
  )

  it('the API has none of these headers, and no page of the console', async () => {
    const { headers } = await openBrowser(baseUrl).get('/health')
    expect(headers.get('content-security-policy')).toBe(null)
  })

  it('load their modules, which a browser asks for again only if they changed', async () => {
    const browser = openBrowser(baseUrl)
    for (const name of ['app.mjs', 'preact.mjs', 'hooks.mjs', 'htm.mjs', 'console.css']) {
      const { status, headers } = await browser.get(`/console/assets/${name}`)
      expect([name, status]).toEqual([name, 200])
      const again = await browser.get(`/console/assets/${name}`, { 'if-none-match': headers.get('etag') ?? '' })
      expect(again.status).toBe(304)
    }
    expect((await browser.get('/console/assets/tsconfig.json')).status).toBe(404)
    expect((await browser.get('/console/assets/..%2fsessions.ts')).status).toBe(404)
  })
})

describe('a session', () => {
  it('begins at the form with the password of the credentials, and shows the person and its rights', async () => {
    const browser = openBrowser(baseUrl)
    const begun = await browser.get('/console/sign-in?return_to=/console/work')
    expect([begun.status, begun.headers.get('location')]).toEqual([303, `${form}?return_to=%2Fconsole%2Fwork`])
    expect((await browser.get(form)).text).toContain('<label for="password">Password</label>')
    const answer = await signIn(browser)
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/console/work'])
    const [cookie = ''] = answer.headers.getSetCookie()
    expect(cookie).toMatch(/^__Host-console=[\w-]{43}; Path=\/; Max-Age=28800; HttpOnly; Secure; SameSite=Strict$/)
    const { status, headers, body } = await browser.get('/console/session')
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(body).toEqual({
      user: { id: expect.any(String), display_name: 'Demo Operator' },
      permissions: ['operations:read', 'operations:write'],
      csrf_token: expect.stringMatching(/^[\w-]{43}$/),
      expires_at: expect.any(String),
    })
    expect((await browser.get(overview)).status).toBe(200)
  })

  it('is needed for data, whatever other identity a request has', async () => {
    const { admin_api_secret: secret } = inProcess.platform.credentials
    const headers = { authorization: `Bearer ${inProcess.token}`, 'x-admin-api-secret': secret ?? '' }
    for (const path of [overview, '/console/session', '/console/api/v1/admin/users', '/console/api/v1/auth/clients']) {
      const { status, body } = await openBrowser(baseUrl).get(path, headers)
      expect([path, status, at(body, 'code')]).toEqual([path, 401, 'session-missing'])
    }
    const browser = await signedIn()
    const { status, body } = await browser.get('/console/api/v1/admin/users', headers)
    expect([status, at(body, 'code')]).toEqual([403, 'permission-missing'])
  })

  it('counts below /console only, and its cookie is no token', async () => {
    const browser = await signedIn()
    expect((await browser.get('/v1/operations/overview')).status).toBe(401)
  })

  it('is new at each sign-in: a given one is not taken, and the former one ends', async () => {
    const browser = openBrowser(baseUrl)
    const planted = 'A'.repeat(43)
    browser.cookies.set('__Host-console', planted)
    await signIn(browser)
    const first = browser.cookies.get('__Host-console') ?? ''
    expect(first).not.toBe(planted)
    await signIn(browser)
    expect(browser.cookies.get('__Host-console')).not.toBe(first)
    for (const former of [planted, first]) {
      const other = openBrowser(baseUrl)
      other.cookies.set('__Host-console', former)
      expect((await other.get('/console/session')).status).toBe(401)
    }
  })

  it('is stored as its hash only', async () => {
    const browser = await signedIn()
    const secret = browser.cookies.get('__Host-console') ?? ''
    const { rows } = await pool.query('select * from runtime.console_sessions')
    expect(rows.length).toBeGreaterThan(0)
    expect(JSON.stringify(rows)).not.toContain(secret)
    expect(JSON.stringify(rows)).not.toContain(Buffer.from(secret).toString('hex'))
  })

  it('ends by time, and a refresh that nobody asked for does not keep it', async () => {
    const age = (seconds: number) =>
      pool.query(`update runtime.console_sessions set seen_at = clock_timestamp() - make_interval(secs => ${seconds})`)
    const browser = await signedIn()
    await age(50)
    await browser.get(overview, { 'x-console-refresh': '1' })
    await age(50)
    expect((await browser.get('/console/session')).status).toBe(200)
    await age(61)
    const { status, body } = await browser.get(overview)
    expect([status, at(body, 'code')]).toEqual([401, 'session-missing'])
    const other = await signedIn()
    await pool.query('update runtime.console_sessions set ends_at = clock_timestamp()')
    expect((await other.get(overview)).status).toBe(401)
  })

  it('that nobody looks at stays as it is', async () => {
    const browser = await signedIn()
    await pool.query(`update runtime.console_sessions set seen_at = clock_timestamp() - interval '50 seconds'`)
    const { body: before } = await browser.get('/console/session', { 'x-console-refresh': '1' })
    expect(Date.parse(textAt(before, 'expires_at')) - Date.now()).toBeLessThan(30_000)
    const { body: after } = await browser.get('/console/session')
    expect(Date.parse(textAt(after, 'expires_at')) - Date.now()).toBeGreaterThan(30_000)
  })

  it('ends its open streams, which do not keep it alive', async () => {
    const browser = await signedIn()
    await pool.query(`update runtime.console_sessions set seen_at = clock_timestamp() - interval '50 seconds'`)
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { cookie, accept: 'text/event-stream' }
    const stream = await fetch(baseUrl + overview, { headers })
    expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    const ended = stream.text()
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    const { rows } = await pool.query<{ is_old: boolean }>(
      `select bool_and(seen_at < clock_timestamp() - interval '50 seconds') as is_old from runtime.console_sessions`,
    )
    expect(rows).toEqual([{ is_old: true }])
    await pool.query('delete from runtime.console_sessions')
    expect(await ended).toContain('data: {')
  })

  it('ends in every process at the sign-out at one of them', async () => {
    const browser = await signedIn()
    const other = openBrowser(`http://127.0.0.1:${second.port}`)
    for (const [name, value] of browser.cookies) other.cookies.set(name, value)
    expect((await other.get(overview)).status).toBe(200)
    const headers = { 'x-csrf-token': await csrfToken(browser) }
    const { status, body } = await browser.post('/console/sign-out', { headers })
    expect([status, body]).toEqual([200, { redirect_to: '/console' }])
    expect(browser.cookies.has('__Host-console')).toBe(false)
    expect((await other.get(overview)).status).toBe(401)
  })
})

describe('a write', () => {
  it('needs the token of the session and the origin of the console', async () => {
    const browser = await signedIn()
    const token = { 'x-csrf-token': await csrfToken(browser) }
    const strange = await csrfToken(await signedIn())
    const refused = [
      {},
      { 'x-csrf-token': strange },
      { ...token, origin: 'https://evil.example' },
      { ...token, origin: 'null' },
      { ...token, origin: 'null', 'sec-fetch-site': 'cross-site' },
      { ...token, 'sec-fetch-site': 'same-site' },
      { ...token, 'sec-fetch-site': 'cross-site' },
    ]
    for (const headers of refused) {
      const { status, body } = await browser.post('/console/sign-out', { headers })
      expect([headers, status, at(body, 'code')]).toEqual([headers, 403, 'csrf-refused'])
    }
    const own = { ...token, origin: baseUrl, 'sec-fetch-site': 'same-origin' }
    expect((await browser.post('/console/sign-out', { headers: own })).status).toBe(200)
  })

  it('the form takes no sign-in from another site', async () => {
    const given = { email: atConsole.email, password: atConsole.password }
    const { status } = await openBrowser(baseUrl).post(form, {
      form: given,
      headers: { origin: 'https://evil.example' },
    })
    expect(status).toBe(403)
  })
})

describe('the form', () => {
  it('has one answer for an unknown address and a wrong password', async () => {
    const answers = [
      await signIn(openBrowser(baseUrl), atConsole.email, 'wrong password'),
      await signIn(openBrowser(baseUrl), 'nobody@example.org'),
      await signIn(openBrowser(baseUrl), 'no address'),
      await signIn(openBrowser(baseUrl), ''),
    ]
    for (const { status, text, headers } of answers) {
      expect([status, headers.getSetCookie()]).toEqual([401, []])
      expect(text).toBe(answers[0]?.text)
    }
  })

  it.each([
    ['/console/work?state=failing#items', '/console/work?state=failing#items'],
    ['https://evil.example/console', '/console'],
    ['//evil.example', '/console'],
    ['/\\evil.example', '/console'],
    ['/console/../v1', '/console'],
    ['/console/..%2f..', '/console/..%2f..'],
    ['/consolething', '/console'],
    ['/console/sign-in', '/console'],
    ['javascript:alert(1)', '/console'],
    ['', '/console'],
  ])('goes on to a page of the console only: %s', async (given, expected) => {
    const { email, password } = atConsole
    const { headers } = await openBrowser(baseUrl).post(form, { form: { email, password, return_to: given } })
    expect(headers.get('location')).toBe(expected)
  })

  it('writes what it repeats as text', async () => {
    const { text } = await openBrowser(baseUrl).get(
      `${form}?return_to=${encodeURIComponent('/console/work?x="><script>alert(1)</script>')}`,
    )
    expect(text).not.toContain('<script>alert')
    expect(text).not.toContain('"><script')
  })

  it('admits only users with the permission', async () => {
    await person('clerk@example.org', ['users:admin'])
    const browser = openBrowser(baseUrl)
    const { status, text } = await signIn(browser, 'clerk@example.org')
    expect([status, browser.cookies.size]).toEqual([403, 0])
    expect(text).toContain('data-testid="denied"')
  })
})

describe('the rights of the person', () => {
  it('are read for each request: a role that is taken away ends the access', async () => {
    const reader = await person('reader@example.org', ['operations:read', 'users:admin', 'auth:admin'])
    const browser = openBrowser(baseUrl)
    expect((await signIn(browser, 'reader@example.org')).status).toBe(303)
    expect((await browser.get(overview)).status).toBe(200)
    const { body } = await browser.get('/console/api/v1/admin/users?limit=1')
    expect(at(body, 'data', 0, 'organisation_id') ?? at(body, 'data', 0)).toBeDefined()
    expect((await browser.get('/console/api/v1/auth/clients')).status).toBe(200)
    const change = { method: 'PATCH', body: { permissions: ['users:admin'] }, headers: reader.headers }
    await expecting(200, inProcess.api.call(`/v1/admin/roles/${reader.roleId}`, change))
    await waitFor('the lost permission', async () => {
      const { status, body: refused } = await browser.get(overview)
      return status === 403 && at(refused, 'code') === 'permission-missing' ? true : undefined
    })
    expect(at((await browser.get('/console/session')).body, 'permissions')).toEqual(['users:admin'])
    expect((await browser.get('/console/api/v1/auth/clients')).status).toBe(403)
  })

  it('end with the user: a suspended person has no session any more', async () => {
    const reader = await person('leaving@example.org', ['operations:read'])
    const browser = openBrowser(baseUrl)
    await signIn(browser, 'leaving@example.org')
    const suspend = { method: 'PATCH', body: { status: 'suspended' }, headers: reader.headers }
    await expecting(200, inProcess.api.call(`/v1/admin/users/${reader.userId}`, suspend))
    await waitFor('the end of the session', async () =>
      (await browser.get(overview)).status === 401 ? true : undefined,
    )
    expect((await signIn(openBrowser(baseUrl), 'leaving@example.org')).status).toBe(403)
  })

  it('reach one organisation in the lists of users, roles and clients, and no personal data without the right', async () => {
    await person('timeline@example.org', ['operations:read', 'users:admin', 'auth:admin'])
    const browser = openBrowser(baseUrl)
    await signIn(browser, 'timeline@example.org')
    const [, other] = inProcess.platform.credentials.clients
    for (const path of ['admin/users', 'admin/roles', 'auth/clients'])
      expect([path, (await browser.get(`/console/api/v1/${path}?org_id=${other?.org_id}`)).status]).toEqual([path, 404])
    const timeline = '/console/api/v1/audit/timeline?patient_id=0190b0a0-0000-7000-8000-000000000001'
    const { status, body } = await browser.get(timeline)
    expect([status, at(body, 'code')]).toEqual([403, 'permission-missing'])
  })

  it('reach one organisation in the timeline', async () => {
    await person('auditor@example.org', ['operations:read', 'audit:read'])
    const browser = openBrowser(baseUrl)
    await signIn(browser, 'auditor@example.org')
    const { body } = await requestToken(baseUrl, clientOf(inProcess.platform, 1))
    const other = createApiClient(baseUrl, textAt(body, 'access_token'))
    const timelineOf = async (query: string) =>
      (await browser.get(`/console/api/v1/audit/timeline?patient_id=${query}`)).status
    const foreign = await registerPatient(other)
    expect(await timelineOf(await registerPatient(inProcess.api))).toBe(200)
    expect(await timelineOf(foreign)).toBe(404)
    const { org_id: otherOrg } = clientOf(inProcess.platform, 1)
    expect(await timelineOf(`${foreign}&org_id=${otherOrg}`)).toBe(404)
  })

  it('sign-ins and sign-outs are actions that every operator sees', async () => {
    const browser = await signedIn()
    const { body: session } = await browser.get('/console/session')
    const user = { kind: 'user', id: textAt(session, 'user', 'id') }
    await browser.post('/console/sign-out', { headers: { 'x-csrf-token': textAt(session, 'csrf_token') } })
    const other = await signedIn()
    await waitFor('the actions', async () => {
      const { body } = await other.get('/console/api/v1/operations/actions?limit=3')
      const data = at(body, 'data')
      const found = Array.isArray(data) ? data.map((one) => [at(one, 'action'), at(one, 'actor')]) : []
      const expected = ['console.sign_in', 'console.sign_out', 'console.sign_in'].map((action) => [action, user])
      return JSON.stringify(found) === JSON.stringify(expected) ? true : undefined
    })
  })

  it('a retry needs the permission to write, and a token of the session', async () => {
    await person('looking@example.org', ['operations:read'])
    const browser = openBrowser(baseUrl)
    await signIn(browser, 'looking@example.org')
    const path = '/console/api/v1/operations/groups/0190b0a0-0000-7000-8000-000000000001/retry'
    const headers = { 'x-csrf-token': await csrfToken(browser) }
    const refused = await browser.post(path, { json: {}, headers })
    expect([refused.status, at(refused.body, 'code')]).toEqual([403, 'permission-missing'])
    const writer = await signedIn()
    const without = await writer.post(path, { json: {} })
    expect([without.status, at(without.body, 'code')]).toEqual([403, 'csrf-refused'])
    const unknown = await writer.post(path, { json: {}, headers: { 'x-csrf-token': await csrfToken(writer) } })
    expect(unknown.status).toBe(404)
  })

  it('pages are linked below the console', async () => {
    const browser = await signedIn()
    const { headers, status } = await browser.get('/console/api/v1/operations/projections?limit=1')
    expect(status).toBe(200)
    expect(headers.get('link')).toContain('/console/api/v1/operations/projections?')
  })
})

describe('settings', () => {
  it('turn the console off', async () => {
    const off = await apiProcess({ console: 'off' })
    const browser = openBrowser(`http://127.0.0.1:${off.port}`)
    for (const path of ['/console', '/console/session', '/console/assets/app.mjs', '/console/sign-in', overview])
      expect([path, (await browser.get(path)).status]).toEqual([path, 404])
    await off.stop.stop()
  })

  it('without a password there is no form', async () => {
    const without = await apiProcess({ consolePassword: undefined })
    const browser = openBrowser(`http://127.0.0.1:${without.port}`)
    const { status, text } = await browser.get('/console/sign-in')
    expect([status, (await browser.get(form)).status]).toEqual([404, 404])
    expect(text).toContain('CONSOLE_PASSWORD is not set')
    await without.stop.stop()
  })
})
