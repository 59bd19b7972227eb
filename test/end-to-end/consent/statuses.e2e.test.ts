import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { actorContext, textAt } from '../../../app/demo/members.ts'
import { expecting } from '../../support/main-job.ts'
import { operationsOf, pathWith, type DocumentedOperation } from '../../support/operations.ts'
import { clientOf } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'
import { openConsentWorld, refusal, withHeaders, type ConsentWorld, type Terms } from './consent-world.ts'

const unknownId = '0190b0a0-0000-7000-8000-000000000001'

let world: ConsentWorld
let operations: readonly DocumentedOperation[]
let terms: Terms
let patientId: string
let values: Readonly<Record<string, string>>
/** Required values of each operation. */
let needed: Readonly<
  Record<string, { readonly query?: string; readonly body?: Readonly<Record<string, unknown>>; readonly id?: string }>
>

beforeAll(async () => {
  world = await openConsentWorld(await joinSharedPlatform())
  operations = (await operationsOf(world.platform.baseUrl)).filter(({ path }) => path.includes('consent'))
  terms = await world.terms('research')
  patientId = randomUUID()
  const decided = await expecting(201, world.decide(patientId, terms, 'granted'))
  const type = { displayName: 'Other', legalBasis: 'consent', required: false }
  const unused = await expecting(
    201,
    world.admin.call('/v1/admin/consent-types', { body: { ...type, code: 'unused' } }),
  )
  values = { patientId, typeCode: 'research', typeId: terms.typeId, id: terms.typeId }
  needed = {
    listConsents: { query: `org_id=${world.orgId}` },
    checkConsents: { query: 'types=research' },
    getConsentRecords: { query: `patientId=${patientId}&consentTypeCode=research` },
    getConsentDecision: { id: textAt(decided.body, 'id') },
    getConsentReceipt: { id: textAt(decided.body, 'id') },
    deleteConsentType: { id: textAt(unused.body, 'id') },
    createConsentType: { body: { ...type, code: 'created' } },
    updateConsentType: { body: { required: true } },
    publishConsentTextVersion: { body: { locale: 'fr-FR', text: "J'accepte.", effectiveFrom: '2030-01-01T00:00:00Z' } },
    recordConsentDecision: {
      body: { consent_type_id: terms.typeId, text_version_id: terms.textId, decision: 'denied' },
    },
  }
})

afterAll(() => world.platform.stop())

interface Change {
  readonly values?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A valid request with the given changes, and with an administrator's actor context if needed. */
async function ask(operation: DocumentedOperation, token: string, change: Change = {}) {
  const { operationId, method, isAdmin } = operation
  const { query, body, id } = needed[operationId] ?? {}
  const path = pathWith(operation, { ...values, ...(id === undefined ? {} : { id }), ...change.values })
  const search = [query, change.query].filter((part) => part !== undefined).join('&')
  const sent = change.body ?? (body === undefined ? undefined : JSON.stringify(body))
  const headers = {
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    ...(isAdmin ? { 'x-actor-context': actorContext(world.orgId, ['consents:admin']) } : {}),
    ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
    ...change.headers,
  }
  return world.watched.send(`${path}${search === '' ? '' : `?${search}`}`, {
    method,
    headers,
    ...(sent === undefined ? {} : { body: sent }),
  })
}

test('every documented status of a consent route occurs, except those of faults, quotas and the HTTP parser', async () => {
  const { client_id, client_secret } = clientOf(world.platform.process, 0)
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret })
  const issued: unknown = await (
    await fetch(`${world.platform.baseUrl}/v1/auth/oauth/token`, { method: 'POST', body: form })
  ).json()
  const token = textAt(issued, 'access_token')
  const foreign = { 'x-actor-context': actorContext(unknownId, ['consents:admin']) }
  const tooLarge = JSON.stringify({ displayName: 'x'.repeat(1024 * 1024) })
  for (const operation of operations) {
    const { operationId, method } = operation
    const answers: (readonly [string, string])[] = [
      ['400', refusal(await ask(operation, token, { query: 'unknown=1' }))],
      ['401', refusal(await ask(operation, ''))],
      ['403', refusal(await ask(operation, token, { headers: foreign }))],
      [
        '404',
        refusal(
          await ask(
            operation,
            token,
            operationId === 'listConsents' ? { values: { patientId: 'nobody' } } : { query: `orgId=${unknownId}` },
          ),
        ),
      ],
    ]
    if (method !== 'GET') {
      answers.push([
        '415',
        refusal(await ask(operation, token, { body: 'x', headers: { 'content-type': 'text/plain' } })),
      ])
      answers.push(['413', refusal(await ask(operation, token, { body: tooLarge }))])
    }
    if ('412' in operation.answers)
      answers.push(['412', refusal(await ask(operation, token, { headers: { 'if-match': '"999"' } }))])
    expect([operationId, ...answers.map(([, answered]) => answered.slice(0, 3))]).toEqual([
      operationId,
      ...answers.map(([status]) => status),
    ])
    const done = await ask(operation, token)
    expect([operationId, done.status < 300]).toEqual([operationId, true])
    const etag = done.headers.get('etag')
    if ('304' in operation.answers && etag !== null)
      expect((await ask(operation, token, { headers: { 'if-none-match': etag } })).status).toBe(304)
  }
  await seeConflicts()
  await erasePatient()
  for (const operation of operations.filter(({ answers }) => '410' in answers))
    expect([operation.operationId, refusal(await ask(operation, token))]).toEqual([
      operation.operationId,
      '410 subject-erased',
    ])

  const seen = new Set(await world.watched.seen())
  const documented = operations.flatMap(({ operationId, answers }) =>
    Object.keys(answers).map((status) => `${operationId} ${status}`),
  )
  const unseen = documented.filter((one) => !seen.has(one) && !/ (408|417|429|431|500|501|503)$/.test(one))
  // Only forty lost races in a row give this status.
  expect(unseen).toEqual(['updateConsentType 409'])
  expect(await world.watched.undocumented()).toEqual([])
})

async function seeConflicts(): Promise<void> {
  const keyed = withHeaders(world.admin, { 'idempotency-key': randomUUID() })
  const decide = (decision: string) =>
    keyed.call(`/v1/patients/${patientId}/consents`, {
      body: { consent_type_id: terms.typeId, text_version_id: terms.textId, decision },
    })
  await expecting(201, decide('granted'))
  const texts = `/v1/admin/consent-types/${terms.typeId}/text-versions`
  const conflicts = [
    await decide('denied'),
    await world.admin.call('/v1/admin/consent-types', { body: needed['createConsentType']?.body }),
    await world.admin.call(texts, { body: needed['publishConsentTextVersion']?.body }),
    await world.admin.call(`/v1/admin/consent-types/${terms.typeId}`, { method: 'DELETE' }),
  ]
  expect(conflicts.map(refusal)).toEqual([
    '409 idempotency-key-reused',
    '409 consent-type-code-in-use',
    '409 text-version-exists',
    '409 consent-type-in-use',
  ])
}

/** By another client: only platform callers grant the scope. */
async function erasePatient(): Promise<void> {
  const { admin_api_secret: secret } = world.platform.process.credentials
  const headers = { 'content-type': 'application/json', 'x-admin-api-secret': secret ?? '' }
  const body = JSON.stringify({ name: 'Eraser', org_id: world.orgId, scopes: ['patients:erase'] })
  const clients = `${world.platform.baseUrl}/v1/auth/clients?org_id=${world.orgId}`
  const made: unknown = await (await fetch(clients, { method: 'POST', headers, body })).json()
  const eraser = await world.platform.connect({
    client_id: textAt(made, 'client_id'),
    client_secret: textAt(made, 'client_secret'),
  })
  const path = `/v1/clinical-api/patients/${patientId}/erase`
  await expecting(202, eraser.call(path, { body: { reason: 'person_request' } }))
}
