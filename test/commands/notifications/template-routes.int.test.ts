import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seedTemplates } from '../../../app/client-registration.ts'
import { findTemplate } from '../../../commands/notifications/find-template.ts'
import { seededTemplates } from '../../../commands/notifications/seeded-templates.ts'
import type { NotificationTemplateRecord } from '../../../contracts/notifications/template.ts'
import { openTemplatesApi, refusalOf, type Answer, type TemplatesApi } from './templates-api.ts'

let api: TemplatesApi
beforeAll(async () => {
  api = await openTemplatesApi()
})
afterAll(() => api.close())

type Saved = NotificationTemplateRecord & { readonly warnings: readonly string[] }
const saved = ({ body }: Answer) => body as Saved
const detailsOf = ({ body }: Answer) => body as NotificationTemplateRecord & { readonly variants: readonly object[] }
const listed = ({ body }: Answer) => (body as { readonly data: readonly NotificationTemplateRecord[] }).data

const mail = { category: 'operational', phi: false, subject: 'Ready', bodyTemplate: '<p>{{name}}</p>' }
const chat = { channel: 'slack', category: 'operational', phi: false, bodyTemplate: '{{name}}' }
const newCode = () => `code-${randomUUID()}`
const pathOf = (code: string, query = '') => `/admin/templates/${code}${query}`
const put = (code: string, body: object, orgId?: string | null, headers = {}) =>
  api.call('PUT', pathOf(code), { body, headers, ...(orgId === undefined ? {} : { orgId }) })

describe('PUT /v1/notifications/admin/templates/{code}', () => {
  it('answers 201 for a new template, and its Location and ETag are those of the GET', async () => {
    const code = newCode()
    const made = await put(code, { ...mail, locale: 'de-de' })
    const at = api.world.now().toISOString()
    const record = {
      id: expect.any(String),
      code,
      channel: 'email',
      locale: 'de-DE',
      version: 1,
      source: 'custom',
      orgId: api.world.orgId,
      updatedAt: at,
      ...mail,
      createdAt: at,
    }
    expect([made.status, made.body]).toEqual([201, { ...record, warnings: [] }])
    const location = String(made.headers['location'])
    expect(location).toBe(
      `/v1/notifications/admin/templates/${code}?channel=email&locale=de-DE&orgId=${api.world.orgId}`,
    )
    const read = await api.call('GET', location.replace('/v1/notifications', ''))
    expect([read.status, read.body, made.headers['etag']]).toEqual([200, { ...record, variants: [] }, '"0"'])
    expect(read.headers['etag']).toBe(`"0.0.${api.world.orgId}"`)
  })

  it('answers 200 later; only another subject or body makes another version', async () => {
    const code = newCode()
    await put(code, mail)
    const versionAfter = async (change: object) => {
      const answer = await put(code, { ...mail, ...change })
      return [answer.status, saved(answer).version, answer.headers['etag']]
    }
    expect(await versionAfter({})).toEqual([200, 1, '"0"'])
    expect(await versionAfter({ category: 'clinical', phi: true })).toEqual([200, 1, '"1"'])
    expect(await versionAfter({ subject: 'Other' })).toEqual([200, 2, '"2"'])
    expect(await versionAfter({ subject: 'Other', bodyTemplate: 'x' })).toEqual([200, 3, '"3"'])
    expect(await versionAfter({ subject: null, bodyTemplate: 'x' })).toEqual([200, 4, '"4"'])
  })

  it('compares If-Match with the stored version', async () => {
    const code = newCode()
    expect(refusalOf(await put(code, mail, undefined, { 'if-match': '"0"' }))).toBe('412 precondition-failed')
    expect(refusalOf(await put(code, mail, undefined, { 'if-match': '*' }))).toBe('412 precondition-failed')
    await put(code, mail)
    expect((await put(code, mail, undefined, { 'if-match': '*' })).status).toBe(200)
    expect(refusalOf(await put(code, { ...mail, phi: true }, undefined, { 'if-match': '"1"' }))).toBe(
      '412 precondition-failed',
    )
    expect((await put(code, { ...mail, phi: true }, undefined, { 'if-match': '"0.7"' })).status).toBe(200)
  })

  it.each([
    [{ ...mail, bodyTemplate: 'a\n {{#if a}}x' }, '400 validation-failed /bodyTemplate syntax 2:12'],
    [{ ...mail, bodyTemplate: '{{{name}}}' }, '400 validation-failed /bodyTemplate unescaped-output 1:1'],
    [{ ...mail, subject: 'Hi {{> a}}' }, '400 validation-failed /subject partial 1:4'],
    [{ ...mail, bodyTemplate: { type: 'Program', body: [] } }, '400 validation-failed /bodyTemplate type'],
    [{ ...chat, subject: 'Hi' }, '400 validation-failed /subject subject-on-chat 1:1'],
    [{ ...mail, bodyTemplate: 'x'.repeat(65_537) }, '400 validation-failed /bodyTemplate too-large 1:1'],
    [{ ...mail, locale: 'not a locale' }, '400 validation-failed /locale locale'],
    [{ ...mail, channel: 'sms' }, '400 validation-failed /channel enum'],
    [{ ...mail, category: undefined }, '400 validation-failed /category required'],
    [{ ...mail, version: 2 }, '400 validation-failed /version unknown-member'],
    [{ ...mail, orgId: randomUUID() }, '404 not-found'],
    [{ ...mail, orgId: null }, '403 platform-client-required'],
  ])('%j is refused: %s', async (body, refusal) => {
    expect(refusalOf(await put(newCode(), body))).toBe(refusal)
  })

  it.each(['Upper', '.dot', 'a%20b', 'ä'])('refuses the code %s', async (code) => {
    expect(refusalOf(await put(code, mail))).toBe('400 validation-failed /code pattern')
    expect((await api.call('GET', pathOf(code))).status).toBe(404)
    expect((await api.call('POST', pathOf(`${code}/render-preview`), { body: { variables: {} } })).status).toBe(404)
  })

  it('takes a code of 100 characters, and refuses a longer one', async () => {
    expect((await put('a'.repeat(100), mail)).status).toBe(201)
    expect(refusalOf(await put('a'.repeat(101), mail))).toBe('400 validation-failed /code pattern')
  })

  it('warns about PHI in a chat', async () => {
    const answer = await put(newCode(), { ...chat, phi: true })
    expect([answer.status, saved(answer).warnings]).toEqual([201, [expect.stringContaining('never sent to a chat')]])
  })

  it('lets a platform client name the organisation, or null for a default', async () => {
    const code = newCode()
    expect(refusalOf(await put(code, mail, null))).toBe('400 org-required')
    expect(saved(await put(code, { ...mail, orgId: null }, null)).orgId).toBeNull()
    expect(saved(await put(code, { ...mail, orgId: api.world.orgId.toUpperCase() }, null)).orgId).toBe(api.world.orgId)
    const both = await api.call('PUT', pathOf(code, `?orgId=${api.world.orgId}`), {
      orgId: null,
      body: { ...mail, orgId: null },
    })
    expect(refusalOf(both)).toBe('400 validation-failed /orgId ambiguous')
  })

  it('needs the scope', async () => {
    const scopes = ['notifications:send']
    expect(refusalOf(await api.call('PUT', pathOf(newCode()), { body: mail, scopes }))).toBe('403 insufficient-scope')
  })
})

describe('GET of one code', () => {
  it('chooses mail, en-GB and the own template first, and lists the others', async () => {
    const code = newCode()
    const id = async (body: object, orgId?: string | null) => saved(await put(code, body, orgId)).id
    const chosen = async (query = '', orgId?: string | null) => {
      const answer = await api.call('GET', pathOf(code, query), orgId === undefined ? {} : { orgId })
      return answer.status === 200 ? detailsOf(answer).id : answer.status
    }
    const ownChat = await id(chat)
    expect(await chosen()).toBe(ownChat)
    const german = await id({ ...mail, orgId: null, locale: 'de-DE' }, null)
    expect(await chosen()).toBe(german)
    const platform = await id({ ...mail, orgId: null }, null)
    expect(await chosen()).toBe(platform)
    const own = await id(mail)
    expect(await chosen()).toBe(own)
    expect(await chosen('?channel=slack')).toBe(ownChat)
    expect(await chosen('?locale=de-de')).toBe(german)
    expect(await chosen('?locale=fr-FR')).toBe(404)
    expect(await chosen(`?orgId=${api.world.orgId}&locale=de-DE`)).toBe(404)
    expect(await chosen('', null)).toBe(platform)
    expect(await chosen(`?orgId=${api.world.orgId}`, null)).toBe(own)
    expect(await chosen(`?org_id=${api.world.orgId.toUpperCase()}&locale=de-DE`)).toBe(404)
    expect(await chosen('', randomUUID())).toBe(platform)
    const { variants } = detailsOf(await api.call('GET', pathOf(code)))
    expect(variants.map((variant) => Object.keys(variant))).toEqual(
      Array.from({ length: 3 }, () => ['id', 'code', 'channel', 'locale', 'version', 'source', 'orgId', 'updatedAt']),
    )
  })

  it('gives another ETag when a variant changes, and 304 without a change', async () => {
    const code = newCode()
    await put(code, mail)
    const etag = String((await api.call('GET', pathOf(code))).headers['etag'])
    expect((await api.call('GET', pathOf(code), { headers: { 'if-none-match': etag } })).status).toBe(304)
    await put(code, chat)
    expect((await api.call('GET', pathOf(code), { headers: { 'if-none-match': etag } })).status).toBe(200)
  })

  it('gives another ETag to the actor of another organisation', async () => {
    const code = newCode()
    const [left, right] = [randomUUID(), randomUUID()]
    for (const orgId of [left, right]) await put(code, { ...mail, bodyTemplate: orgId }, orgId)
    const first = await api.call('GET', pathOf(code), { actorOf: left })
    expect(detailsOf(first)).toMatchObject({ bodyTemplate: left })
    const headers = { 'if-none-match': String(first.headers['etag']) }
    expect((await api.call('GET', pathOf(code), { actorOf: left, headers })).status).toBe(304)
    const second = await api.call('GET', pathOf(code), { actorOf: right, headers })
    expect([second.status, detailsOf(second)]).toMatchObject([200, { bodyTemplate: right }])
  })
})

it('GET of the list contains own templates and the defaults, or those that the filters select', async () => {
  const [orgId, strangerId] = [randomUUID(), randomUUID()]
  const code = newCode()
  await put(code, mail, orgId)
  await put(code, { ...chat, category: 'clinical' }, orgId)
  await put(code, mail, strangerId)
  await put(code, { ...mail, orgId: null }, null)
  const found = async (query: string, as: string | null = orgId) => {
    const all = listed(await api.call('GET', `/admin/templates${query}`, { orgId: as }))
    return all
      .filter((one) => one.code === code)
      .map((one) => `${one.channel} ${one.orgId}`)
      .toSorted()
  }
  const [ownMail, ownChat, theirs, platform] = [`email ${orgId}`, `slack ${orgId}`, `email ${strangerId}`, 'email null']
  expect(await found('?limit=200')).toEqual([ownMail, platform, ownChat].toSorted())
  expect(await found('?channel=slack&limit=200')).toEqual([ownChat])
  expect(await found('?category=clinical&limit=200')).toEqual([ownChat])
  for (const name of ['orgId', 'org_id'])
    expect(await found(`?${name}=${orgId}`)).toEqual([ownMail, ownChat].toSorted())
  expect(await found(`?orgId=${strangerId}`, null)).toEqual([theirs])
  expect((await api.call('GET', `/admin/templates?orgId=${strangerId}`, { orgId })).status).toBe(404)
})

describe('POST render-preview', () => {
  const preview = (code: string, body: object, query = '') =>
    api.call('POST', pathOf(`${code}/render-preview`, query), { body })

  it('renders the stored template of the variant, with the fallback of a message', async () => {
    const code = newCode()
    await put(code, { ...mail, subject: 'For {{name}}' })
    await put(code, chat)
    const answer = await preview(code, { variables: { name: '<b>', more: 1 } }, '?locale=fr-FR')
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        subject: 'For <b>',
        body: '<p>&lt;b&gt;</p>',
        text: '<b>',
        phiValidation: { ok: true, violations: [] },
        missingVariables: [],
        unusedVariables: ['more'],
      },
    ])
    expect((await preview(code, { variables: { name: '<!here>' } }, '?channel=slack')).body).toMatchObject({
      subject: null,
      body: '&lt;!here&gt;',
      text: null,
    })
    expect(refusalOf(await preview(newCode(), { variables: {} }))).toBe('404 not-found')
  })

  it('lists missing variables, and then subject and body are null', async () => {
    const template = { ...mail, bodyTemplate: '{{a.b}}{{#each list}}{{c}}{{/each}}' }
    const missing = async (variables: object) => (await preview('draft', { variables, template })).body
    expect(await missing({ a: {} })).toMatchObject({ subject: null, body: null, missingVariables: ['a.b'] })
    expect(await missing({ a: { b: 1 }, list: [{}] })).toMatchObject({ body: null, missingVariables: ['c'] })
  })

  it('reports PHI on chat, PHI in the subject and unknown variables', async () => {
    const violations = async (template: object) => {
      const answer = await preview('draft', { variables: { name: 'x' }, template })
      const { phiValidation } = answer.body as { phiValidation: { violations: { rule: string; path: string }[] } }
      return phiValidation.violations.map(({ rule, path }) => `${rule} ${path}`)
    }
    expect(await violations({ ...chat, phi: true })).toEqual(['phi-on-chat /channel'])
    expect(await violations({ ...mail, phi: true, subject: '{{#if other}}x{{/if}}' })).toEqual([
      'phi-in-subject /subject',
      'unknown-variable-in-phi /variables/other',
    ])
    expect(await violations({ ...mail, subject: '{{name}}' })).toEqual([])
  })

  it.each([
    [{ bodyTemplate: 'a {{{b}}}' }, {}, '400 validation-failed /template/bodyTemplate unescaped-output 1:3'],
    [{ locale: '??' }, {}, '400 validation-failed /template/locale locale'],
    [
      { bodyTemplate: '{{#each a}}{{@root.b}}{{/each}}' },
      { a: Array(300).fill(0), b: 'x'.repeat(1000) },
      '400 template-render-failed',
    ],
    [{ bodyTemplate: '{{a}}' }, { a: {} }, '400 template-render-failed'],
    [{ subject: '{{a}}' }, { a: 'x\r\nBcc: a@b.example', name: '' }, '400 template-render-failed'],
  ])('%j is refused', async (change, variables, refusal) => {
    const answer = await preview('draft', { variables, template: { ...mail, ...change } })
    expect(refusalOf(answer)).toBe(refusal)
    expect(JSON.stringify(answer.body)).not.toContain('Bcc')
  })
})

it('a message finds its template in four places, the locale first', async () => {
  const code = newCode()
  const { store, orgId } = api.world
  const found = async (locale: string | null, of = orgId) =>
    (await findTemplate(store, { code, channel: 'email', locale, orgId: of }))?.bodyTemplate
  expect(await found('de-DE')).toBeUndefined()
  await put(code, { ...mail, bodyTemplate: 'platform en', orgId: null }, null)
  expect([await found('de-DE'), await found(null), await found('nonsense!')]).toEqual(Array(3).fill('platform en'))
  await put(code, { ...mail, bodyTemplate: 'own en' })
  expect([await found('de-DE'), await found('en-GB')]).toEqual(['own en', 'own en'])
  await put(code, { ...mail, bodyTemplate: 'platform de', locale: 'de-DE', orgId: null }, null)
  expect([await found('de-de'), await found('en-GB')]).toEqual(['platform de', 'own en'])
  await put(code, { ...mail, bodyTemplate: 'own de', locale: 'de-DE' })
  expect([await found('de-DE'), await found('fr-FR')]).toEqual(['own de', 'own en'])
})

describe('the seeded templates', () => {
  it('are there after a start, and a second start at the same time adds nothing', async () => {
    const { store, otherStore, now } = api.world
    await Promise.all([seedTemplates(store, now()), seedTemplates(otherStore, now())])
    await seedTemplates(store, now())
    for (const { code, channel, locale } of seededTemplates) {
      const answer = await api.call('GET', pathOf(code, `?channel=${channel}&locale=${locale}`))
      expect(detailsOf(answer)).toMatchObject({ channel, locale, source: 'seeded', version: 1, orgId: null })
      expect(answer.headers['etag']).toMatch(/^"0\./)
    }
  })

  it('stay seeded when they are changed, with a warning, and the next start restores them as a new version', async () => {
    const { store, now } = api.world
    await seedTemplates(store, now())
    const code = 'users.created'
    const changed = await put(code, { ...mail, category: 'transactional', orgId: null }, null)
    expect(saved(changed)).toMatchObject({ source: 'seeded', version: 2, bodyTemplate: mail.bodyTemplate })
    expect(saved(changed).warnings).toEqual([expect.stringContaining('overwritten on next deploy')])
    await seedTemplates(store, now())
    const restored = await findTemplate(store, { code, channel: 'email', locale: 'en-GB', orgId: null })
    const seed = seededTemplates.find((one) => one.code === code && one.channel === 'email' && one.locale === 'en-GB')
    expect(restored).toMatchObject({ ...seed, source: 'seeded', version: 3 })
  })

  it('do not touch the template of an organisation', async () => {
    const { store, now, orgId } = api.world
    await put('webhook.endpoint.disabled', mail)
    await seedTemplates(store, now())
    const found = await findTemplate(store, {
      code: 'webhook.endpoint.disabled',
      channel: 'email',
      locale: 'en-GB',
      orgId,
    })
    expect(found).toMatchObject({ source: 'custom', bodyTemplate: mail.bodyTemplate })
  })
})
