import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { textAt } from '../../../app/demo/members.ts'
import { freePort } from '../../../embedded/children/free-port.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { keycloakEnv, startKeycloakStandIn } from '../../support/keycloak-stand-in.ts'
import { startInProcessPlatform, type InProcessPlatform } from '../../support/in-process-platform.ts'
import {
  assessmentBody,
  consentedPatient,
  endOf,
  expecting,
  photograph,
  registerPatient,
  requestAssessment,
} from '../../support/main-job.ts'
import { waitFor } from '../../support/platform.ts'
import { browserPath, openChromium } from './chromium.ts'

/** Pictures for the guide are written if this names a folder. */
const pictures = process.env['CONSOLE_PICTURES']
const pages = [
  '/console',
  '/console/work',
  '/console/read-models',
  '/console/webhooks',
  '/console/log',
  '/console/access',
]
const hostileName = `<img src=x onerror="document.title='hit'"> & "Ada"`

let inProcess: InProcessPlatform
let browser: Browser
let pool: Pool
let baseUrl: string
let atConsole: { readonly email: string; readonly password: string }
/** An analysis that has ended. */
let assessmentId: string
const contexts: BrowserContext[] = []
/** What the pages wrote to the console of the browser, without refused requests. */
const complaints: string[] = []

/** The signed-in person. Rows of a list may be users too. */
const userOf = (page: Page) => page.getByRole('banner').getByTestId('user')

describe.skipIf(browserPath === undefined)('the pages of the console', () => {
  beforeAll(async () => {
    inProcess = await startInProcessPlatform({ WEBHOOK_RETRY_SCHEDULE_MS: '0,60000,60000' })
    const { credentials } = inProcess.platform
    baseUrl = credentials.base_url
    atConsole = credentials.console ?? { email: '', password: '' }
    pool = createPool({ url: inProcess.databaseUrl, max: 2 })
    browser = await openChromium()
    await someWork()
  })
  afterAll(async () => {
    await browser.close()
    await pool.end()
    await inProcess.close()
  })
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()))
    expect(complaints.splice(0)).toEqual([])
  })

  /** An analysis that ends well, and one whose webhook nobody takes. */
  async function someWork(): Promise<void> {
    const { api, terms } = inProcess
    assessmentId = await requestAssessment(
      api,
      assessmentBody(await consentedPatient(api, terms), [await photograph()]),
    )
    await endOf(api, assessmentId)
    const url = `http://127.0.0.1:${await freePort()}/hook`
    const subscription = { url, event_types: ['assessment.failed'] }
    await expecting(201, api.call('/v1/clinical-api/webhook-subscriptions', { body: subscription }))
    await requestAssessment(api, assessmentBody(await registerPatient(api), [await photograph()]))
  }

  /** The read model stops at an event, as if it could not handle it. */
  function failConsentTypes() {
    return pool.query(
      `update runtime.projectors set status = 'failed', failed_event_id = gen_random_uuid(), failed_event_type = 'ConsentTypeCreated',
         failed_category = 'consent_type', failed_commit = commit_position, failed_prepare = prepare_position, failed_reason = 'planted'
       where name = 'consent_types'`,
    )
  }

  async function openPage(options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
    const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options })
    context.setDefaultTimeout(120_000)
    contexts.push(context)
    const page = await context.newPage()
    page.on('pageerror', ({ message }) => complaints.push(message))
    page.on('console', (message) => {
      // A test cuts a request off by ERR_FAILED.
      const isExpected = /status of (401|403|404)|ERR_FAILED/.test(message.text())
      if (message.type() === 'error' && !isExpected) complaints.push(message.text())
    })
    return page
  }

  async function signIn(page: Page, email = atConsole.email): Promise<void> {
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password').fill(atConsole.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }

  /** The page of a person who is signed in. */
  async function signedIn(path: string, email?: string, options: Parameters<Browser['newContext']>[0] = {}) {
    const page = await openPage(options)
    await page.goto(baseUrl + path)
    await page.getByTestId('sign-in').click()
    await signIn(page, email)
    await userOf(page).waitFor()
    return page
  }

  async function picture(page: Page, name: string): Promise<void> {
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true })
  }

  /** A user with a role of these permissions. */
  async function person(email: string, permissions: readonly string[]): Promise<{ readonly roleId: string }> {
    const { org_id: orgId } = inProcess.platform.credentials
    const role = { organisationId: orgId, name: `${hostileName} ${email}`, permissions }
    const roleId = textAt((await expecting(201, administer('/v1/admin/roles', role))).body, 'id')
    const user = { email, displayName: hostileName, userType: 'admin', roleId }
    await expecting(201, administer(`/v1/admin/users?org_id=${orgId}`, user))
    return { roleId }
  }

  function administer(path: string, body: object, method = 'POST') {
    const headers = { 'x-admin-api-secret': inProcess.platform.credentials.admin_api_secret ?? '' }
    return inProcess.api.call(path, { method, body, headers })
  }

  it('send a person to the form and back to the page, and show who is signed in', async () => {
    const page = await signedIn('/console/work?state=failing')
    expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe('/console/work?state=failing')
    expect(await userOf(page).textContent()).toBe('Demo Operator')
    expect(await page.getByLabel('State').inputValue()).toBe('failing')
  })

  it('show on the overview what is wrong, and lead to its items', async () => {
    const page = await signedIn('/console')
    const problem = page.locator('[data-testid=problem][data-code=work-failing]')
    await problem.waitFor()
    // Right after a start a role or a check may still be missing.
    await page.locator('[data-testid=status][data-status=warning]').waitFor()
    expect(await page.getByTestId('system').count()).toBe(5)
    expect(await page.getByTestId('process').count()).toBeGreaterThan(0)
    await picture(page, 'overview')
    const group = await problem.getAttribute('data-subject')
    await problem.getByRole('link').click()
    await page.locator(`[data-testid=group][data-id="${group}"]`).waitFor()
    await page.getByTestId('item').first().waitFor()
    expect(await page.getByTestId('item').count()).toBe(1)
    await picture(page, 'work')
  })

  it('retry a failing group after one question, and show how far the retry is', async () => {
    const page = await signedIn('/console/work')
    const group = page.getByTestId('group').first()
    const subject = await group.getAttribute('data-id')
    await group.getByTestId('action-retry').click()
    await group.getByRole('button', { name: 'Cancel' }).click()
    await group.getByTestId('action-retry').click()
    await picture(page, 'work-retry')
    await group.getByTestId('confirm').click()
    await page.getByTestId('notice').filter({ hasText: 'The retry has begun' }).waitFor()
    await group.getByTestId('retry').filter({ hasText: 'Failed 1' }).waitFor()
    await page.goto(`${baseUrl}/console/access`)
    await page
      .getByTestId('action')
      .filter({ hasText: 'group.retry' })
      .filter({ hasText: subject ?? '' })
      .waitFor()
  })

  it('offer no action without the permission to write', async () => {
    await person('reading@example.org', ['operations:read'])
    const page = await signedIn('/console/work', 'reading@example.org')
    await page.getByTestId('group').first().waitFor()
    expect(await page.getByTestId('action-retry').count()).toBe(0)
  })

  it('show a record on its way, and lead there from its work and from what is related', async () => {
    const page = await signedIn('/console/work?kind=delivery')
    // The groups stand above the items, so an answer that comes during the click moves the link away.
    await page.getByTestId('group').waitFor()
    await page.getByTestId('item').getByRole('link').click()
    await page.waitForURL('**/console/subjects/*')
    const stage = (name: string) => page.locator(`[data-testid=stage][data-name=${name}]`)
    await stage('webhooks').filter({ hasText: 'attempt_failed' }).waitFor()
    expect(await stage('webhooks').getAttribute('data-status')).toBe('running')
    await page.getByRole('link', { name: /^assessment / }).click()
    await stage('consent').waitFor()
    const statuses = ['accepted', 'consent', 'provider', 'webhooks'].map((name) =>
      stage(name).getAttribute('data-status'),
    )
    expect(await Promise.all(statuses)).toEqual(['done', 'failed', 'skipped', 'running'])
    await page.getByText('CONSENT_MISSING').first().waitFor()
    await picture(page, 'subject')
    await page.goto(`${baseUrl}/console/work`)
    await page
      .getByTestId('group')
      .getByRole('link', { name: /^delivery / })
      .click()
    await stage('webhooks').waitFor()
    await page.goto(`${baseUrl}/console/subjects/${randomUUID()}`)
    await page.getByText('There is no such record.').waitFor()
  })

  it('show the timeline of a record to whoever may read it, when asked', async () => {
    await person('auditor@example.org', ['operations:read', 'audit:read'])
    const page = await signedIn(`/console/subjects/${assessmentId}?kind=assessment`, 'auditor@example.org')
    await page.getByRole('button', { name: 'Show the audit timeline' }).click()
    await page.getByText('AssessmentCompleted').waitFor()
  })

  it('lead to the rest of a timeline', async () => {
    const { org_id: orgId } = inProcess.platform.credentials
    const user = { email: 'renamed@example.org', displayName: 'Name 0', userType: 'admin', organisationId: orgId }
    const { roleId } = await person('timeline@example.org', ['operations:read', 'audit:read'])
    const created = await expecting(201, administer('/v1/admin/users', { ...user, roleId }))
    const userId = textAt(created.body, 'id')
    let position = ''
    for (let name = 1; name <= 100; name += 1) {
      const change = await expecting(
        200,
        administer(`/v1/admin/users/${userId}`, { displayName: `Name ${name}` }, 'PATCH'),
      )
      position = change.headers.get('x-commit-position') ?? ''
    }
    const page = await signedIn(`/console/subjects/${userId}?kind=user`, 'timeline@example.org')
    await page.route('**/audit/timeline*', (route) =>
      route.continue({ headers: { ...route.request().headers(), 'x-min-commit-position': position } }),
    )
    await page.getByRole('button', { name: 'Show the audit timeline' }).click()
    const shown = page.getByRole('region', { name: 'The audit timeline' })
    await shown.getByText('UserRegistrationStarted').waitFor()
    await shown.getByRole('link', { name: 'To the next page' }).click()
    await shown.getByRole('link', { name: 'To the first page' }).waitFor()
    await shown.getByText('UserChanged').first().waitFor()
    expect(await shown.getByText('UserRegistrationStarted').count()).toBe(0)
  })

  it('have a read model verified, and show the outcome', async () => {
    const page = await signedIn('/console/read-models')
    const projector = page.locator('[data-testid=projector][data-name=patients]')
    await projector.getByTestId('action-verify').click()
    await projector.getByTestId('confirm').click()
    await projector.locator('[data-testid=operation][data-status=done]').waitFor()
  })

  it('do not call an action refused whose answer was lost', async () => {
    const page = await signedIn('/console/read-models')
    const projector = page.locator('[data-testid=projector][data-name=cases]')
    await page.route('**/projections/cases/verify', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await projector.getByTestId('action-verify').click()
    await projector.getByTestId('confirm').click()
    await page.getByTestId('notice').filter({ hasText: 'The action may have begun' }).waitFor()
    await projector.locator('[data-testid=operation][data-status=done]').waitFor()
  })

  it('have a read model that stopped go on without its event, for a reason', async () => {
    const page = await signedIn('/console/read-models')
    const projector = page.locator('[data-testid=projector][data-name=consent_types]')
    await projector.waitFor()
    expect(await projector.getByTestId('action-skip').count()).toBe(0)
    await failConsentTypes()
    await projector.getByTestId('action-retry').waitFor()
    await projector.getByTestId('action-skip').click()
    expect(await projector.getByTestId('confirm').isDisabled()).toBe(true)
    await projector.getByLabel('Reason').fill('planted by a test')
    await projector.getByTestId('confirm').click()
    await projector.locator('[data-testid=operation][data-status=done]').waitFor()
    await page.goto(`${baseUrl}/console/access`)
    await page
      .getByTestId('action')
      .filter({ hasText: 'projection.skip' })
      .filter({ hasText: 'planted by a test' })
      .waitFor()
  })

  it('drop a question when its action is not offered any more, instead of asking for another one', async () => {
    const page = await signedIn('/console/read-models')
    const projector = page.locator('[data-testid=projector][data-name=consent_types]')
    await failConsentTypes()
    await projector.getByTestId('action-retry').click()
    await projector.getByTestId('confirm').waitFor()
    await pool.query(
      `update runtime.projectors set status = 'running', failed_event_id = null, failed_event_type = null, failed_category = null,
         failed_commit = null, failed_prepare = null, failed_reason = null where name = 'consent_types'`,
    )
    await projector.getByTestId('action-skip').waitFor({ state: 'detached' })
    expect(await projector.getByTestId('confirm').count()).toBe(0)
  })

  it('show read models and receivers of webhooks', async () => {
    const page = await signedIn('/console/read-models')
    await page.locator('[data-testid=projector][data-name=patients]').waitFor()
    await picture(page, 'read-models')
    await page.goto(`${baseUrl}/console/webhooks`)
    await page.getByTestId('endpoint').waitFor()
    await page.getByTestId('item').first().waitFor()
    await picture(page, 'webhooks')
  })

  it('have no fault of accessibility in light and in dark colours, and fit 400 pixels', async () => {
    const viewport = { width: 400, height: 800 }
    const page = await signedIn('/console', undefined, { colorScheme: 'light', viewport })
    for (const path of [...pages, `/console/subjects/${assessmentId}?kind=assessment`]) {
      await page.goto(baseUrl + path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.locator('[aria-busy]').first().waitFor({ state: 'detached' })
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(400)
      for (const role of ['main', 'navigation'] as const) expect(await page.getByRole(role).count(), path).toBe(1)
      expect(await page.getByRole('heading', { level: 1 }).count(), path).toBe(1)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        const axe = new AxeBuilder({ page })
        // Only the colours differ, so the second time only their rules are checked.
        if (colorScheme === 'dark') axe.withRules(['color-contrast', 'link-in-text-block'])
        const { violations } = await axe.analyze()
        const found = violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])
        expect([path, colorScheme, found]).toEqual([path, colorScheme, []])
        if (path === '/console') await picture(page, `overview-400-${colorScheme}`)
      }
    }
  })

  it('have a form and messages without a fault of accessibility', async () => {
    const page = await openPage()
    for (const path of ['/console/development-sign-in', '/console']) {
      await page.goto(baseUrl + path)
      await page.getByTestId('sign-in').waitFor()
      expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([])
    }
  })

  it('are German where the browser prefers it, and in the language that the person chooses', async () => {
    const page = await signedIn('/console', undefined, { locale: 'de-DE' })
    await page.getByRole('heading', { level: 1, name: 'Überblick' }).waitFor()
    await page.getByTestId('status').waitFor()
    await picture(page, 'overview-german')
    await page.getByTestId('language').selectOption('en')
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.locator('html[lang=en]').waitFor()
    await page.goto(`${baseUrl}/console/work`)
    await page.getByRole('heading', { level: 1, name: 'Work' }).waitFor()
  })

  it('open in a browser that lets no site store anything', async () => {
    const page = await openPage()
    const blocked = `get() { throw new DOMException('denied', 'SecurityError') }`
    await page.addInitScript(`Object.defineProperty(window, 'localStorage', { ${blocked} })`)
    await page.goto(`${baseUrl}/console`)
    await page.getByTestId('sign-in').waitFor()
    await page.getByTestId('language').selectOption('de')
    await page.locator('html[lang=de]').waitFor()
  })

  it('can be used with the keyboard alone', async () => {
    const page = await openPage()
    await page.goto(`${baseUrl}/console/development-sign-in`)
    await page.keyboard.press('Tab')
    await page.keyboard.type(atConsole.email)
    await page.keyboard.press('Tab')
    await page.keyboard.type(atConsole.password)
    await page.keyboard.press('Enter')
    await userOf(page).waitFor()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement?.className')).toBe('skip')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement?.id')).toBe('main')
  })

  it('write hostile names as texts', async () => {
    await person('hostile@example.org', ['operations:read', 'users:admin', 'auth:admin'])
    const page = await signedIn('/console/access', 'hostile@example.org')
    expect(await userOf(page).textContent()).toBe(hostileName)
    await page.getByTestId('role').filter({ hasText: 'hostile@example.org' }).waitFor()
    expect(await page.locator('img').count()).toBe(0)
    expect(await page.title()).not.toBe('hit')
    await picture(page, 'access')
  })

  it('say that the overview may be old while its stream is open and has no news', async () => {
    const page = await signedIn('/console')
    await page.getByTestId('status').waitFor()
    const client = await pool.connect()
    try {
      // The overview reads this table, the session does not.
      await client.query('begin; lock table runtime.outside_systems in access exclusive mode')
      await page.getByRole('alert').waitFor()
    } finally {
      await client.query('rollback')
      client.release()
    }
    await page.getByRole('alert').waitFor({ state: 'detached' })
    // What was cut off or refused meanwhile.
    complaints.length = 0
  })

  it('show that the session has ended while the page was open', async () => {
    const page = await signedIn('/console')
    await page.getByTestId('status').waitFor()
    await pool.query('delete from runtime.console_sessions')
    await page.getByTestId('sign-in').waitFor()
    expect(await page.getByTestId('status').count()).toBe(0)
    await page.getByTestId('sign-in').click()
    await signIn(page)
    await page.getByTestId('status').waitFor()
  })

  it('show that the permission was taken away while the page was open', async () => {
    const { roleId } = await person('losing@example.org', ['operations:read'])
    const page = await signedIn('/console', 'losing@example.org')
    await page.getByTestId('status').waitFor()
    await expecting(200, administer(`/v1/admin/roles/${roleId}`, { permissions: [] }, 'PATCH'))
    await page.getByTestId('denied').waitFor()
    expect(await page.getByTestId('status').count()).toBe(0)
  })

  it('keep a question at its row when the row before it goes, and drop it with its row', async () => {
    const { api } = inProcess
    const url = `http://127.0.0.1:${await freePort()}/other`
    const subscription = { url, event_types: ['assessment.failed'] }
    const { body } = await expecting(201, api.call('/v1/clinical-api/webhook-subscriptions', { body: subscription }))
    await requestAssessment(api, assessmentBody(await registerPatient(api), [await photograph()]))
    const page = await signedIn('/console/work?kind=delivery')
    const rows = page.getByTestId('item')
    const row = rows.filter({ hasText: new URL(url).host })
    await row.getByTestId('action-retry').waitFor()
    const others = rows.filter({ hasNotText: new URL(url).host })
    const before = await others.count()
    expect(before).toBeGreaterThan(0)
    await row.getByTestId('action-retry').click()
    await page.getByTestId('confirm').waitFor()
    await expecting(204, api.call(`/v1/clinical-api/webhook-subscriptions/${textAt(body, 'id')}`, { method: 'DELETE' }))
    await row.waitFor({ state: 'detached' })
    expect(await page.getByTestId('confirm').count()).toBe(0)
  })

  it('lead to the failure groups behind the first page', async () => {
    const { api } = inProcess
    const subscription = { url: `http://127.0.0.1:${await freePort()}/hook`, event_types: ['assessment.failed'] }
    await expecting(201, api.call('/v1/clinical-api/webhook-subscriptions', { body: subscription }))
    await requestAssessment(api, assessmentBody(await registerPatient(api), [await photograph()]))
    const page = await signedIn('/console')
    // Pages of one group, because an organisation has few receivers.
    await page.route('**/operations/groups?limit=50*', (route) =>
      route.continue({ url: route.request().url().replace('limit=50', 'limit=1') }),
    )
    await page.goto(`${baseUrl}/console/work`)
    const groups = page.getByRole('region', { name: 'Failure groups' })
    const first = await groups.getByTestId('group').getAttribute('data-id')
    await groups.getByRole('link', { name: 'To the next page' }).click()
    await groups.getByRole('link', { name: 'To the first page' }).waitFor()
    expect(await groups.getByTestId('group').getAttribute('data-id')).not.toBe(first)
  })

  it('read a list again by themselves that got no answer', async () => {
    const page = await signedIn('/console')
    await page.route('**/operations/actions*', (route) => route.abort(), { times: 1 })
    await page.goto(`${baseUrl}/console/access`)
    await page.getByRole('alert').waitFor()
    await page.getByTestId('action').first().waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  it('read the session again by themselves after no answer', async () => {
    const page = await signedIn('/console')
    await page.route('**/console/session', (route) => route.abort(), { times: 1 })
    await page.reload()
    await page.getByRole('alert').waitFor()
    await userOf(page).waitFor()
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0)
  })

  it('follow a new session that another tab has begun', async () => {
    await person('second@example.org', ['operations:read', 'operations:write'])
    const page = await signedIn('/console/read-models')
    const other = await page.context().newPage()
    await other.goto(`${baseUrl}/console`)
    await other.getByTestId('sign-out').click()
    await other.getByTestId('sign-in').click()
    await signIn(other, 'second@example.org')
    await userOf(other).waitFor()
    const projector = page.locator('[data-testid=projector][data-name=patients]')
    const verify = async () => {
      await projector.getByTestId('action-verify').click()
      await projector.getByTestId('confirm').click()
    }
    await verify()
    // The pages do not act for another person unseen.
    await page.getByTestId('notice').filter({ hasText: 'csrf-refused' }).waitFor()
    await userOf(page).filter({ hasText: hostileName }).waitFor()
    await verify()
    await page.getByTestId('notice').filter({ hasText: 'The action was requested' }).waitFor()
  })

  it('sign out, and a stranger gets no data with the way back', async () => {
    const page = await signedIn('/console')
    await page.getByTestId('sign-out').click()
    await page.getByTestId('sign-in').waitFor()
    await page.goBack()
    await page.getByTestId('sign-in').waitFor()
    expect(await page.getByTestId('status').count()).toBe(0)
  })

  it('open for a signed-in person who follows a link from another site', async () => {
    const page = await signedIn('/console')
    const other = await listening(`<!doctype html><title>Other</title><a href="${baseUrl}/console/work">work</a>`)
    try {
      // Another host name is another site.
      await page.goto(`http://localhost:${portOf(other)}/`)
      await page.getByRole('link').click()
      await userOf(page).waitFor()
    } finally {
      other.close()
      other.closeAllConnections()
    }
  })

  it('are in no frame of another site', async () => {
    const page = await openPage()
    const other = await listening(`<!doctype html><title>Other</title><iframe src="${baseUrl}/console"></iframe>`)
    try {
      await page.goto(`http://localhost:${portOf(other)}/`)
      await waitFor('the refusal of the frame', () =>
        complaints.some((text) => text.includes('frame')) ? true : undefined,
      )
      expect(await page.frameLocator('iframe').getByRole('main').count()).toBe(0)
    } finally {
      complaints.length = 0
      other.close()
      other.closeAllConnections()
    }
  })

  it('come back from the sign-in at a Keycloak on another site, without a loop', async () => {
    const keycloak = await startKeycloakStandIn()
    // Another host name is another site: after its redirect the browser sends no strict cookie.
    const url = keycloak.url.replace('127.0.0.1', 'localhost')
    const other = await startInProcessPlatform({ IDP_MODE: 'keycloak', ...keycloakEnv(url) })
    try {
      const { base_url: ownUrl, org_id: orgId, admin_api_secret: secret } = other.platform.credentials
      const headers = { 'x-admin-api-secret': secret ?? '' }
      const role = { organisationId: orgId, name: 'Operators', permissions: ['operations:read'] }
      const { body } = await expecting(201, other.api.call('/v1/admin/roles', { body: role, headers }))
      const user = { email: 'a@example.org', displayName: 'Ada', userType: 'admin', roleId: textAt(body, 'id') }
      await expecting(201, other.api.call(`/v1/admin/users?org_id=${orgId}`, { body: user, headers }))
      keycloak.signedIn = [...keycloak.accounts.values()].find(({ email }) => email === user.email)?.id
      const page = await openPage()
      let visits = 0
      page.on('framenavigated', () => (visits += 1))
      await page.goto(`${ownUrl}/console/webhooks`)
      await page.getByTestId('sign-in').click()
      await userOf(page).waitFor()
      expect(page.url()).toBe(`${ownUrl}/console/webhooks`)
      // The page, the callback, and the page again.
      expect(visits).toBe(3)
      await page.close()
    } finally {
      await other.close()
      await keycloak.close()
    }
  })
})

async function listening(html: string): Promise<Server> {
  const server = createServer((_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(html))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return server
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}
