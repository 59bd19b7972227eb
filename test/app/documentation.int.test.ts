import { Ajv } from 'ajv'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { servicesOf } from '../../app/services.ts'
import { isInstant } from '../../platform/http/formats.ts'
import { problems } from '../../platform/http/problems.ts'
import { mailAddressPattern } from '../../platform/kit/mail-address.ts'
import {
  adminSecret,
  orgA,
  startApplication,
  thingId,
  type TestApplication,
} from '../platform/http/test-application.ts'
import { unusedParts } from '../support/unused-parts.ts'

interface Shown extends Readonly<Record<string, unknown>> {
  readonly $ref?: string
  readonly enum?: readonly string[]
  readonly oneOf?: readonly Shown[]
  readonly discriminator?: { readonly propertyName: string; readonly mapping: Readonly<Record<string, string>> }
  readonly properties?: Readonly<Record<string, Shown>>
}
type Content = Readonly<Record<string, { readonly schema: Shown }>>
interface Operation {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly description?: string; readonly schema: Shown }[]
  readonly requestBody?: { readonly content?: Content }
  readonly responses: Readonly<Record<string, { readonly headers?: object; readonly content?: Content }>>
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Shown>>
    readonly securitySchemes: {
      readonly token: { readonly flows: { readonly clientCredentials: { readonly scopes: object } } }
    }
  }
}

let t: TestApplication
let text: string
let document: Document
beforeAll(async () => {
  t = await startApplication({ services: servicesOf(unusedParts), env: { ADMIN_API_SECRET: adminSecret } })
  text = (await t.app.inject('/openapi.json')).body
  document = JSON.parse(text)
})
afterAll(() => t.app.close())

/** Whether the component accepts a value, formats aside. */
function accepts(name: string, value: unknown): boolean {
  const ajv = new Ajv({ strict: false, validateFormats: false })
  return ajv.addSchema({ $id: 'document', ...document }).validate(`document#/components/schemas/${name}`, value)
}
const places = (...names: readonly string[]) => names.map((name) => `#/components/schemas/${name}`)
const nameIn = (place: string) => place.slice(place.lastIndexOf('/') + 1)
/** The unions at any depth, without the conditions that `not` contains. */
function unionsOf(part: unknown): Shown[] {
  if (typeof part !== 'object' || part === null) return []
  const { not: _, ...shown } = part as Shown
  return [...(shown.oneOf === undefined ? [] : [shown]), ...Object.values(shown).flatMap(unionsOf)]
}
const schemaOf = (name: string) => document.components.schemas[name] ?? {}
const parameterOf = (path: string, method: string, name: string) =>
  document.paths[path]?.[method]?.parameters?.find((one) => one.name === name)?.schema

it.each(['/openapi.json', '/docs/json', '/docs/yaml'])('%s is serialised once', async (url) => {
  const first = await t.app.inject(url)
  expect(first.statusCode).toBe(200)
  if (url.endsWith('json')) expect(first.json()).toEqual(document)
  const cpuOf = async (run: () => unknown) => {
    const before = process.cpuUsage()
    for (let round = 0; round < 20; round += 1) await run()
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  const serialising = await cpuOf(() => JSON.stringify(document))
  const answering = await cpuOf(() => t.app.inject({ method: 'HEAD', url }))
  expect(answering).toBeLessThan(serialising)
})

it('another method of a path is answered with 405 and the methods of the path', async () => {
  for (const [path, operations] of Object.entries(document.paths)) {
    const known = Object.keys(operations).map((method) => method.toUpperCase())
    for (const method of (['PUT', 'PATCH', 'DELETE', 'GET', 'POST'] as const).filter((one) => !known.includes(one))) {
      const answer = await t.app.inject({ method, url: path.replaceAll(/\{\w+\}/g, thingId) })
      expect([method, path, answer.statusCode, answer.json().code]).toEqual([method, path, 405, 'method-not-allowed'])
      const allowed = String(answer.headers['allow']).split(', ')
      expect([path, ...allowed.filter((one) => one !== 'HEAD')]).toEqual([path, ...known.toSorted()])
    }
  }
})

describe('the document', () => {
  it('contains the bounds of headers', () => {
    const key = parameterOf('/v1/clinical-api/patients', 'post', 'idempotency-key')
    expect(key).toMatchObject({ pattern: '^[!#-~]{1,255}$' })
    const position = parameterOf('/v1/clinical-api/patients/{id}', 'get', 'x-min-commit-position')
    expect(position).toMatchObject({ pattern: '^[0-9]{1,20}/[0-9]{1,20}$' })
  })

  it.each([
    ['1850-01-01T00:00:00Z', true],
    ['9998-12-31T23:59:59.999999999+00:00', true],
    ['1849-12-31T23:59:59Z', false],
    ['9999-01-01T00:00:00Z', false],
    ['2026-06-30T23:59:60Z', false],
    ['2026-06-30T23:59:59-23:59', true],
  ])('shows the rule of instants: %s', (instant, isAccepted) => {
    const pattern = schemaOf('RecordConsentBody').properties?.['recorded_at']?.['pattern']
    expect([isInstant(instant), new RegExp(String(pattern)).test(instant)]).toEqual([isAccepted, isAccepted])
  })

  it('describes the kinds of steps as components with a mapping', () => {
    for (const [name, ending] of [
      ['WorkflowStep', ''],
      ['WorkflowStepBody', 'Body'],
    ]) {
      const { oneOf = [], discriminator, ...others } = schemaOf(name ?? '')
      const mapping = {
        'collect-questions': '#/components/schemas/CollectQuestionsStep',
        'collect-images': '#/components/schemas/CollectImagesStep',
        decision: `#/components/schemas/DecisionStep${ending}`,
        output: `#/components/schemas/OutputStep${ending}`,
      }
      expect(discriminator).toEqual({ propertyName: 'kind', mapping })
      expect(oneOf.map(({ $ref }) => $ref)).toEqual(Object.values(mapping))
      for (const part of ['type', 'properties', 'required']) expect(others).not.toHaveProperty(part)
    }
    expect(schemaOf('WorkflowCondition')).not.toHaveProperty('discriminator')
    expect(schemaOf('WorkflowCondition')).not.toHaveProperty('properties')
    const variants = ['Comparison', 'In', 'Presence', 'Combined', 'Not'].map((name) => `${name}Condition`)
    expect(schemaOf('WorkflowCondition').oneOf).toEqual(
      variants.map((name) => ({ $ref: `#/components/schemas/${name}` })),
    )
    for (const name of variants) expect(schemaOf(name)['type']).toBe('object')
  })

  it('describes the two outputs of a step as variants', () => {
    const output = schemaOf('AdvanceWorkflowInstanceBody').properties?.['output']
    expect(output?.oneOf?.map(({ $ref }) => $ref)).toEqual(places('AnswersOutput', 'ImagesOutput'))
    for (const [given, isAccepted] of [
      [{ answers: { age: 61, changed: true, since: '2026-01-01' } }, true],
      [{ image_ids: [thingId] }, true],
      [{ image_ids: [thingId, thingId] }, false],
      [{}, false],
      [{ answers: {}, image_ids: [] }, false],
      [{ answers: { age: null } }, false],
    ] as const)
      expect(accepts('AdvanceWorkflowInstanceBody', { step_id: 'a', output: given })).toBe(isAccepted)
  })

  it('describes rules of recipients and suppressions as variants, and one source of keys', () => {
    expect(schemaOf('UserRecipientRule')['required']).toEqual(['type', 'path'])
    expect(schemaOf('ChannelRecipientRule')['required']).toEqual(['type', 'channel'])
    expect(schemaOf('MailSuppression').properties?.['address']).toMatchObject({ pattern: mailAddressPattern })
    for (const name of ['RegisterClientBody', 'ChangeClientBody'])
      expect(schemaOf(name)['not']).toEqual({ required: ['jwks', 'jwks_uri'] })
  })

  it('has only components as variants, and a mapping where a member selects one', () => {
    const unions = unionsOf(document)
    expect(unions.length).toBeGreaterThan(5)
    for (const { oneOf = [], description: _, discriminator, ...beside } of unions) {
      expect(beside).toEqual({})
      const references = oneOf.map(({ $ref }) => String($ref))
      for (const reference of references) expect(document.components.schemas).toHaveProperty([nameIn(reference)])
      if (discriminator === undefined) continue
      const { propertyName, mapping } = discriminator
      const selected = references.flatMap((reference) =>
        (schemaOf(nameIn(reference)).properties?.[propertyName]?.enum ?? []).map((value) => [value, reference]),
      )
      expect(mapping).toEqual(Object.fromEntries(selected))
    }
    expect(schemaOf('RecipientRule').discriminator?.mapping).toEqual({
      user: '#/components/schemas/UserRecipientRule',
      patient: '#/components/schemas/UserRecipientRule',
      slackChannel: '#/components/schemas/ChannelRecipientRule',
    })
  })

  it('lists the codes of a problem, and allows more members in a form', () => {
    expect(schemaOf('Problem').properties?.['code']?.enum).toEqual(Object.keys(problems))
    const forms = Object.values(document.paths).flatMap((path) =>
      Object.values(path).flatMap(
        ({ requestBody }) => requestBody?.content?.['application/x-www-form-urlencoded'] ?? [],
      ),
    )
    expect(forms).toHaveLength(3)
    for (const { schema } of forms)
      expect(schemaOf(nameIn(String(schema.$ref)))).not.toHaveProperty('additionalProperties')
  })

  it('describes a page and a stream of the feed', () => {
    const { content } = document.paths['/v1/events/{channel}']?.['get']?.responses['200'] ?? {}
    expect(content).toMatchObject({
      'application/json': { schema: { $ref: '#/components/schemas/EventPage' } },
      'text/event-stream': { schema: { type: 'string' } },
    })
  })

  it('limits media types and locales', () => {
    const { mime_type: mimeType } = schemaOf('DeclareImageBody').properties ?? {}
    const { locale } = schemaOf('PublishTextVersionBody').properties ?? {}
    const matches = (schema: Shown | undefined, value: string) => new RegExp(String(schema?.['pattern'])).test(value)
    expect(['image/png', 'IMAGE/jpeg', 'image/gif'].map((type) => matches(mimeType, type))).toEqual([true, true, false])
    expect(['en', 'de-CH', 'zh-Hant-TW', 'e', 'en-x'].map((tag) => matches(locale, tag))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ])
  })

  it.each([
    ['DeclareImageBody', 'mime_type', 'image/jpg', 'image/jpeg'],
    ['RegisterPatientBody', 'dob', '1849-12-31', '1850-01-01'],
    ['RegisterClientBody', 'jwks_uri', 'keys.example.org', 'https://keys.example.org:8443/jwks?a=b'],
    ['RegisterClientBody', 'jwks_uri', 'https://[5]/', 'https://[1:2:3::8]/'],
    ['RegisterClientBody', 'jwks_uri', 'https://a.example:65536/', 'https://a.example:65535/'],
    ['SubscribeWebhookBody', 'url', 'https://1.2.3.256', 'https://1.2.3.255'],
    ['SubscribeWebhookBody', 'url', 'https://a.example/#b', 'HTTP://[2001:db8::1]/hook'],
    ['SubscribeWebhookBody', 'url', 'https://a.example:0/', 'https://a.example:9/'],
  ])('limits %s %s', (body, member, refused, accepted) => {
    const pattern = new RegExp(String(schemaOf(body).properties?.[member]?.['pattern']))
    expect([refused, accepted].map((value) => pattern.test(value))).toEqual([false, true])
  })

  const user = { email: 'a@example.org', displayName: 'A' }
  const image = { capture_type: 'other', mime_type: 'image/png' }
  const assessment = { patient_id: thingId, finding: { finding_type: 'rash' } }
  const step = { step_id: 'a', title: 'A' }
  const asking = (question: object) => {
    const config = { questions: [{ id: 'q', text: 'Q', required: true, ...question }] }
    return { ...step, kind: 'collect-questions', config, next: [{ step_id: 'b' }] }
  }
  const collecting = (types: readonly string[]) => {
    const config = { min: 1, max: 1, capture_types: types }
    return { ...step, kind: 'collect-images', config, next: [{ step_id: 'b' }] }
  }
  const output = (config: object, others: object = {}) => ({
    ...step,
    kind: 'output',
    config: { values: {}, ...config },
    ...others,
  })
  const notice = { templateCode: 'news', variables: {} }
  const template = { category: 'clinical', phi: false, bodyTemplate: 'x', subject: 'S' }
  const coded = { code: 'x', term: 'X' }
  const decided = (lesion: object) => ({ lesions: [{ lesion_number: 1, ...lesion }], recommendation: 'no_action' })
  const rsa = { kid: 'a', kty: 'RSA', n: 'x'.repeat(342), e: 'AQAB' }
  const ec = { kid: 'a', kty: 'EC', crv: 'P-384', x: 'x'.repeat(64), y: 'y'.repeat(64) }
  const client = (key: object) => ({ name: 'C', scopes: [], jwks: { keys: [key] } })
  const registered = (...scopes: readonly object[]) => ({
    service_id: 'a',
    scopes: scopes.map((scope) => ({ ...scope, description: 'D' })),
  })
  const ofToken = { grant_type: 'client_credentials', client_assertion: 'x' }
  it.each<readonly [string, object, object]>([
    [
      'CreateUserBody',
      { ...user, userType: 'patient', patientAccount: {} },
      { ...user, userType: 'admin', patientAccount: {} },
    ],
    [
      'CreateUserBody',
      { ...user, userType: 'clinician', practitionerProfile: {} },
      { ...user, userType: 'patient', practitionerProfile: {} },
    ],
    ['ChangeUserBody', { patientAccount: {} }, { patientAccount: {}, practitionerProfile: {} }],
    [
      'CreateAssessmentBody',
      { ...assessment, images: [{ ...image, data: 'AAA=' }] },
      { ...assessment, images: [{ ...image, data: 'AAA' }] },
    ],
    [
      'CreateAssessmentBody',
      { ...assessment, images: [image, image] },
      { ...assessment, images: [image, { ...image, data: 'AAAA' }] },
    ],
    ['WorkflowStepBody', asking({ type: 'text' }), asking({ type: 'text', options: ['x'] })],
    ['WorkflowStepBody', asking({ type: 'choice', options: ['x', 'y'] }), asking({ type: 'choice' })],
    ['WorkflowStepBody', asking({ type: 'choice', options: ['x'] }), asking({ type: 'choice', options: ['x', 'x'] })],
    ['WorkflowStepBody', collecting(['other', 'macroscopic']), collecting(['other', 'other'])],
    ['WorkflowStepBody', output({ values: { a: 'a.image_ids' } }), output({ values: { A: 'a.image_ids' } })],
    ['WorkflowStepBody', output({ effect: 'assessment', finding_type: 'rash' }), output({ finding_type: 'rash' })],
    ['WorkflowStepBody', output({}, { next: [] }), output({}, { next: [{ step_id: 'a' }] })],
    [
      'SendNotificationBody',
      { ...notice, recipient: { type: 'user', ref: thingId } },
      { ...notice, recipient: { type: 'email', ref: 'x' } },
    ],
    ['PutTemplateBody', template, { ...template, channel: 'slack' }],
    ['PutTemplateBody', { ...template, channel: 'slack', subject: null }, { ...template, subject: 'a\nb' }],
    ['SetHumanReviewPolicyBody', { rules: [{ always: true }] }, { rules: [{ opinions: 2 }] }],
    ['DecideHumanReviewTaskBody', decided({ outcome: 'confirm' }), decided({ outcome: 'confirm', icd10: coded })],
    [
      'DecideHumanReviewTaskBody',
      decided({ outcome: 'correct', icd10: coded, category: 'c' }),
      decided({ outcome: 'correct', icd10: coded }),
    ],
    ['RegisterClientBody', client(rsa), client({ kid: 'a', kty: 'RSA', n: rsa.n })],
    ['RegisterClientBody', client(ec), client({ ...ec, crv: 'P-256' })],
    ['RegisterClientBody', client({ ...rsa, use: 'sig' }), client({ ...rsa, d: 'AQAB' })],
    [
      'RegisterScopesBody',
      registered({ scope: 'a:b' }, { scope: 'a:c' }),
      registered({ scope: 'a:b' }, { scope: 'a:b' }),
    ],
    ['TokenBody', { ...ofToken, client_assertion_type: 'x' }, ofToken],
    [
      'TokenBody',
      { grant_type: 'client_credentials', client_secret: 'x' },
      { ...ofToken, client_assertion_type: 'x', client_secret: 'x' },
    ],
  ])('%s takes %j, not %j', (body, accepted, refused) => {
    expect([accepts(body, accepted), accepts(body, refused)]).toEqual([true, false])
  })

  it('limits the code of a new template, and demands a type of consent', () => {
    const code = parameterOf('/v1/notifications/admin/templates/{code}', 'put', 'code')
    expect(code).toMatchObject({ pattern: '^[a-z0-9][a-z0-9._-]{0,99}$' })
    const types = parameterOf('/v1/patients/{patientId}/consents/check', 'get', 'types')
    expect(types).toMatchObject({ pattern: '[^\\s,]' })
  })

  it('demands a next step of all steps but outputs', () => {
    for (const [name, least] of [
      ['CollectQuestionsStep', 1],
      ['CollectImagesStep', 1],
      ['DecisionStepBody', 1],
      ['OutputStepBody', undefined],
    ] as const)
      expect(schemaOf(name).properties?.['next']?.['minItems'], name).toBe(least)
  })

  it('names members of which one is needed, and the only grant', () => {
    const one = (names: readonly string[]) => names.map((name) => ({ required: [name] }))
    expect(schemaOf('DeclareImageBody')['not']).toEqual({ not: { anyOf: one(['case_id', 'patient_id']) } })
    expect(schemaOf('CreateAssessmentBody')['not']).toEqual({ not: { oneOf: one(['patient', 'patient_id']) } })
    expect(schemaOf('TokenBody').properties?.['grant_type']).toMatchObject({ enum: ['client_credentials'] })
  })

  it('contains health and metrics of the host and of every service, each with its own operation', () => {
    // Its health is that of all processes, for operators.
    const services = servicesOf(unusedParts).filter(({ prefix }) => prefix !== 'operations')
    expect(document.paths['/v1/operations/health']?.['get']).toMatchObject({ operationId: 'readOperationsHealth' })
    for (const prefix of ['', ...services.map((service) => `/v1/${service.prefix}`)])
      for (const path of ['health', 'health/live', 'health/ready', 'metrics'])
        expect(document.paths[`${prefix}/${path}`]?.['get'], `${prefix}/${path}`).toBeDefined()
    const all = Object.values(document.paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    )
    expect(new Set(all).size).toBe(all.length)
  })

  it('contains the position of an unsubscription', () => {
    const operation = document.paths['/v1/notifications/unsubscribe']?.['post']
    expect(operation?.responses['200']?.headers).toHaveProperty('X-Commit-Position')
  })

  it('names the organisation where a token without one needs it, and only there', async () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, operation]) => {
        const described = operation.parameters?.find(({ name }) => name === 'org_id')?.description
        return described === undefined ? [] : [{ path, method, operation, described }]
      }),
    )
    const all = Object.keys(document.components.securitySchemes.token.flows.clientCredentials.scopes)
    const token = await t.token({ orgId: null, scopes: all })
    const secret = { 'x-admin-api-secret': adminSecret }
    let asked = 0
    for (const { path, method, operation, described } of operations) {
      expect(described, `${method} ${path}`).toMatch(/^The organisation\. (Needed|Always|With)/)
      // Validation of a body comes before the organisation.
      if (operation.requestBody !== undefined || method === 'put' || method === 'delete') continue
      const url = path.replaceAll(/\{\w+\}/g, thingId)
      const codeFor = async (headers: Readonly<Record<string, string>>): Promise<unknown> =>
        (await t.app.inject({ method: method === 'post' ? 'POST' : 'GET', url, headers })).json().code
      const ofToken = await codeFor(token)
      const code = ofToken === 'actor-context-missing' ? await codeFor(secret) : ofToken
      // A required parameter, or a route for actors alone.
      if (code === 'validation-failed' || code === 'token-missing') continue
      asked += 1
      const isNeeded = /^The organisation\. (Needed|Always)/.test(described)
      expect(code === 'org-required', `${method} ${path} ${String(code)}`).toBe(isNeeded)
    }
    expect(asked).toBeGreaterThan(50)
  })

  it('names the scopes that open an operation, and no others open it', async () => {
    const all = Object.keys(document.components.securitySchemes.token.flows.clientCredentials.scopes)
    let closed = 0
    for (const [path, methods] of Object.entries(document.paths))
      for (const method of ['get', 'post', 'put', 'patch', 'delete'] as const) {
        const security = methods[method]?.security ?? []
        const alone = security.flatMap(({ token, ...more }) =>
          token === undefined || Object.keys(more).length > 0 ? [] : [token],
        )
        const isRefused = async (orgId: string | null, scopes: readonly string[]): Promise<boolean> => {
          const headers = await t.token({ orgId, scopes })
          const url = path.replaceAll(/\{\w+\}/g, thingId)
          const answer = await t.app.inject({ method, url, headers })
          return /"code":"(insufficient-scope|actor-context-missing)"/.test(answer.body)
        }
        for (const scopes of alone)
          expect(await isRefused(null, scopes), `${method} ${path} with ${scopes.join(' ')}`).toBe(false)
        if (security.length === 0 || alone.some((scopes) => scopes.length === 0)) continue
        // A write scope includes its read scope.
        const listed = new Set(alone.flat().flatMap((scope) => [scope, scope.replace(/:read$/, ':write')]))
        const others = all.filter((scope) => !listed.has(scope))
        for (const orgId of [orgA, null])
          expect(await isRefused(orgId, others), `${method} ${path} without its scope`).toBe(true)
        closed += 1
      }
    expect(closed).toBeGreaterThan(100)
  })

  it('contains no keyword of its own', () => {
    expect(text).not.toContain('"documented"')
  })
})
