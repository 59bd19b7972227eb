import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { startInProcessPlatform, type InProcessPlatform } from '../../support/in-process-platform.ts'
import { keycloakEnv, startKeycloakStandIn, type KeycloakStandIn } from '../../support/keycloak-stand-in.ts'
import { expecting } from '../../support/main-job.ts'
import { openBrowser, type TestBrowser } from './browser.ts'

const overview = '/console/api/v1/operations/overview'
let keycloak: KeycloakStandIn
let inProcess: InProcessPlatform
let baseUrl: string
/** The subject at Keycloak of an operator, and of a user without the permission. */
let operator: string
let clerk: string

beforeAll(async () => {
  keycloak = await startKeycloakStandIn()
  inProcess = await startInProcessPlatform({
    IDP_MODE: 'keycloak',
    ...keycloakEnv(keycloak.url),
    CONSOLE_PASSWORD: 'unused-password',
  })
  baseUrl = inProcess.platform.credentials.base_url
  operator = await account('operator@example.org', ['operations:read'])
  clerk = await account('clerk@example.org', ['users:admin'])
})
afterAll(async () => {
  await inProcess.close()
  await keycloak.close()
})

/** A user with a role of these permissions. Resolves to the subject of the account. */
async function account(email: string, permissions: readonly string[]): Promise<string> {
  const { org_id: orgId, admin_api_secret: secret } = inProcess.platform.credentials
  const headers = { 'x-admin-api-secret': secret ?? '' }
  const role = { organisationId: orgId, name: email, permissions }
  const { body } = await expecting(201, inProcess.api.call('/v1/admin/roles', { body: role, headers }))
  const user = { email, displayName: 'Ada', userType: 'admin', roleId: textAt(body, 'id') }
  await expecting(201, inProcess.api.call(`/v1/admin/users?org_id=${orgId}`, { body: user, headers }))
  const found = [...keycloak.accounts.values()].find((one) => one.email === email)
  if (found === undefined) throw new Error(`no account of ${email}`)
  return found.id
}

/** Begins a sign-in. Resolves to the address of Keycloak to which the browser is sent. */
async function begin(browser: TestBrowser, returnTo = '/console/work'): Promise<string> {
  const answer = await browser.get(`/console/sign-in?return_to=${encodeURIComponent(returnTo)}`)
  expect(answer.status).toBe(303)
  return answer.headers.get('location') ?? ''
}

describe('the sign-in at Keycloak', () => {
  it('uses the code flow with PKCE, and goes on by itself to the page', async () => {
    const browser = openBrowser(baseUrl)
    const address = new URL(await begin(browser))
    expect(address.origin + address.pathname).toBe(`${keycloak.url}/realms/clinic/protocol/openid-connect/auth`)
    expect(Object.fromEntries(address.searchParams)).toEqual({
      client_id: 'platform',
      response_type: 'code',
      scope: 'openid',
      redirect_uri: `${baseUrl}/console/callback`,
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    })
    const kept = browser.cookies.get('__Host-console-sign-in') ?? ''
    expect(Buffer.from(kept, 'base64url').toString('latin1')).not.toContain(address.searchParams.get('state'))
    const { status, text, headers } = await browser.get(keycloak.signIn(address.href, operator))
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(text).toContain('<meta http-equiv="refresh" content="0;url=/console/work">')
    expect([...browser.cookies.keys()]).toEqual(['__Host-console'])
    expect((await browser.get(overview)).status).toBe(200)
  })

  it('takes each state once, also from a browser that has kept its cookie', async () => {
    const browser = openBrowser(baseUrl)
    const address = await begin(browser)
    const kept = browser.cookies.get('__Host-console-sign-in') ?? ''
    expect((await browser.get(keycloak.signIn(address, operator))).status).toBe(200)
    const again = openBrowser(baseUrl)
    again.cookies.set('__Host-console-sign-in', kept)
    // Keycloak gives another code, as to somebody who signs in there again.
    expect((await again.get(keycloak.signIn(address, operator))).status).toBe(403)
    expect(again.cookies.has('__Host-console')).toBe(false)
  })

  it('takes no callback that this browser has not begun', async () => {
    const address = await begin(openBrowser(baseUrl))
    for (const browser of [openBrowser(baseUrl), await begun()]) {
      expect((await browser.get(keycloak.signIn(address, operator))).status).toBe(403)
      expect(browser.cookies.has('__Host-console')).toBe(false)
    }
  })

  it('completes the last of two that tabs have begun, whichever one is answered first', async () => {
    const browser = openBrowser(baseUrl)
    const addresses = [await begin(browser), await begin(browser)]
    const answers = []
    for (const address of addresses) answers.push((await browser.get(keycloak.signIn(address, operator))).status)
    expect(answers).toEqual([403, 200])
    expect([...browser.cookies.keys()]).toEqual(['__Host-console'])
  })

  it.each([
    ['another issuer', { iss: 'http://127.0.0.1:1/realms/clinic' }],
    ['another audience', { aud: 'another' }],
    ['another nonce', { nonce: 'another' }],
    ['no nonce', { nonce: null }],
    ['a signature of another key', { isForged: true }],
  ])('refuses an ID token with %s', async (_, changes) => {
    const browser = openBrowser(baseUrl)
    const address = await begin(browser)
    expect((await browser.get(keycloak.signIn(address, operator, changes))).status).toBe(403)
    expect(browser.cookies.size).toBe(0)
  })

  it('admits no unknown account, and no user without the permission', async () => {
    for (const subject of [clerk, 'unknown']) {
      const browser = openBrowser(baseUrl)
      const { status, text } = await browser.get(keycloak.signIn(await begin(browser), subject))
      expect([subject, status, browser.cookies.size]).toEqual([subject, 403, 0])
      expect(text).toContain('data-testid="denied"')
    }
  })

  it('ends the session of Keycloak too at the sign-out', async () => {
    const browser = await begun()
    const address = await begin(browser)
    await browser.get(keycloak.signIn(address, operator))
    const token = textAt((await browser.get('/console/session')).body, 'csrf_token')
    const { body } = await browser.post('/console/sign-out', { headers: { 'x-csrf-token': token } })
    const target = new URL(textAt(body, 'redirect_to'))
    expect(target.origin + target.pathname).toBe(`${keycloak.url}/realms/clinic/protocol/openid-connect/logout`)
    expect(target.searchParams.get('post_logout_redirect_uri')).toBe(`${baseUrl}/console`)
    expect(target.searchParams.get('id_token_hint')?.split('.')).toHaveLength(3)
  })

  it('is a 503 with a sentence while Keycloak is away, and open sessions go on', async () => {
    const browser = openBrowser(baseUrl)
    await browser.get(keycloak.signIn(await begin(browser), operator))
    const half = openBrowser(baseUrl)
    const address = await begin(half)
    keycloak.failNext(/token$/, { status: 502 })
    const { status, text } = await half.get(keycloak.signIn(address, operator))
    expect([status, half.cookies.size]).toEqual([503, 0])
    expect(text).toContain('The identity provider does not answer')
    expect((await browser.get(overview)).status).toBe(200)
  })

  it('replaces the form', async () => {
    expect((await openBrowser(baseUrl).get('/console/development-sign-in')).status).toBe(404)
    expect(at(inProcess.platform.credentials, 'console')).toBe(undefined)
  })
})

/** A browser that has begun a sign-in of its own. */
async function begun(): Promise<TestBrowser> {
  const browser = openBrowser(baseUrl)
  await begin(browser)
  return browser
}
