import { randomUUID } from 'node:crypto'
import { sample } from 'fast-check'
import { SeededRandom } from 'embedded-eventstore/seeded-random'
import { v5 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { momentOf } from '../../../app/as-of/moments.ts'
import { eventsUpTo } from '../../../app/as-of/past-events.ts'
import type { Moment } from '../../../contracts/audit/as-of.ts'
import { categoryOf } from '../../../engine/store/catalogue.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import type { DomainEvent, Fold } from '../../../engine/store/events.ts'
import type { EventFilter } from '../../../engine/store/subscription-options.ts'
import { formatPosition, startOfLog, type Position } from '../../../platform/kit/positions.ts'
import { noOrganisation, tenantOfFact, type TenantId } from '../../../platform/kit/tenants.ts'
import { histories, storyOf } from '../../../tools/equality/histories.ts'
import type { StoryAppend } from '../../../tools/equality/story.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import { notificationSubscriptions } from '../../../streams/notification-subscription/aggregate.ts'
import { patientErasures } from '../../../streams/patient-erasure/aggregate.ts'
import { suppressions } from '../../../streams/suppression/aggregate.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { caseFact, patientFact } from '../../streams/facts.ts'
import { notificationFact } from '../../streams/notification-facts.ts'
import { ruleFact, suppressionFact } from '../../streams/notification-settings-facts.ts'
import { erasureFact } from '../../streams/patient-erasure-facts.ts'
import { userFact } from '../../streams/user-facts.ts'
import { openPastWorld, type PastWorld } from './past-world.ts'

let past: PastWorld

beforeAll(async () => {
  past = await openPastWorld()
})
afterAll(() => past.close())

/** Some histories have ids in upper case. Commands write them in lower case. */
function inLowerCase(append: StoryAppend): StoryAppend {
  const uuid = /[\dA-F]{8}(?:-[\dA-F]{4}){3}-[\dA-F]{12}/g
  return JSON.parse(JSON.stringify(append).replaceAll(uuid, (id) => id.toLowerCase()))
}

/** Appends like commands. Public events are in no answer of the past. */
async function append({ stream, orgId, commandId, correlationId, events }: StoryAppend): Promise<void> {
  const { store } = past.world
  const fold: Fold<number, DomainEvent> = {
    category: categoryOf(stream),
    initialState: 0,
    evolve: (count) => count + 1,
  }
  const { revision } = await store.load({ fold, stream })
  await store.append({ fold, stream }, revision, events, { commandId, correlationId, clientId: 'test', orgId })
}

type Members = Readonly<Record<string, unknown>>

/** Paths by their templates, made from the members of an event. Without one of the members there is no path. */
const templates: readonly (readonly [template: string, ...members: string[]])[] = [
  ['/v1/admin/consent-types/{id}', 'consentTypeId'],
  ['/v1/admin/roles/{id}', 'roleId'],
  ['/v1/admin/users/{id}', 'userId'],
  ['/v1/ai-reviews/{id}', 'aiReviewId'],
  ['/v1/auth/clients/{id}', 'clientId'],
  ['/v1/clinical-api/assessments/{id}', 'assessmentId'],
  ['/v1/clinical-api/cases/{id}', 'caseId'],
  ['/v1/clinical-api/cases/{id}/diagnoses', 'caseId'],
  ['/v1/clinical-api/cases/{id}/findings', 'caseId'],
  ['/v1/clinical-api/images/{id}', 'imageId'],
  ['/v1/clinical-api/patients/{id}', 'patientId'],
  ['/v1/clinical-api/patients/{id}/erasure', 'patientId'],
  ['/v1/clinical-api/patients/{id}/legal-hold', 'patientId'],
  ['/v1/clinical-api/webhook-subscriptions/{id}', 'subscriptionId'],
  ['/v1/clinical-api/webhook-subscriptions/{id}/deliveries/{deliveryId}', 'subscriptionId', 'deliveryId'],
  ['/v1/human-review/tasks/{id}', 'taskId'],
  ['/v1/notifications/{id}', 'notificationId'],
  ['/v1/notifications/admin/subscriptions/{id}', 'subscriptionId'],
  ['/v1/notifications/admin/suppressions/{id}', 'suppressionId'],
  ['/v1/notifications/admin/templates/{code}', 'templateCode'],
  ['/v1/notifications/preferences/{userId}', 'userId'],
  ['/v1/orchestrator/workflow-definitions/{id}', 'workflowDefinitionId'],
  ['/v1/orchestrator/workflow-instances/{id}', 'workflowInstanceId'],
  ['/v1/patients/{patientId}/consents', 'patientId'],
  ['/v1/patients/{patientId}/consents/{id}', 'patientId', 'consentId'],
  ['/v1/patients/{patientId}/consents/{typeCode}/status', 'patientId', 'consentTypeCode'],
  ['/v1/patients/{patientId}/consents/check', 'patientId', 'consentTypeCode'],
  ['/v1/patients/{patientId}/consents/history', 'patientId'],
  ['/v1/clinical-api/cases?patient_id={id}', 'patientId'],
  ['/v1/clinical-api/images?patient_id={id}', 'patientId'],
]

interface Question {
  readonly template: string
  readonly orgId: TenantId
  readonly path: string
}

function questionsOf({ orgId, events }: StoryAppend): Question[] {
  return events.flatMap(({ type, data }) =>
    templates.flatMap(([template, ...names]) => {
      const members: Members = { ...Object(data), ...(type.startsWith('NotificationTemplate') ? codeOf(data) : {}) }
      const values = names.map((name) => members[name]).filter((value) => typeof value === 'string')
      if (values.length < names.length) return []
      const left = values.map(encodeURIComponent).values()
      const path = template.replaceAll(/\{\w+\}/g, () => left.next().value ?? '')
      const types = template.endsWith('/check') ? `&types=${values[1] ?? ''}` : ''
      return [{ template, orgId, path: `${path}${path.includes('?') ? '&' : '?'}org_id=${orgId}${types}` }]
    }),
  )
}

function codeOf(data: unknown): Members {
  return { templateCode: Reflect.get(Object(data), 'code') }
}

/** The members of an answer of today that no answer of the past has. */
function asPast(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body), (name, value: unknown) =>
    name === 'next_poll_after_ms' ? undefined : value === 'https://images.example/signed' ? null : value,
  )
}

/** Members that name the request. */
function withoutRequest({ status, body }: { readonly status: number; readonly body: unknown }) {
  const { instance: _, request_id: __, correlation_id: ___, ...members }: Members = Object(body)
  return { status, body: members }
}

it('has the paths of this test', () => {
  expect(templates.map(([template]) => template).toSorted()).toEqual(past.asOf.paths.toSorted())
})

it(
  'are those that every route gave at the time, over random histories of all services',
  { timeout: 300_000 },
  async () => {
    const seed = Math.floor(Math.random() * 2 ** 31)
    const random = new SeededRandom(seed)
    // The length of one history is random, and of six together still too short now and then.
    const moves = sample(histories(150), { numRuns: 30, seed }).flat().slice(0, 450)
    const story = storyOf(moves, v5(`story ${seed}`, namespace), { hasCodec: true })
    const appends = story.appends.filter(isOfOrganisation).map(inLowerCase)
    const questions = new Map<string, Question>()
    const recorded: (Question & { readonly moment: Moment; readonly answer: unknown })[] = []
    const size = Math.ceil(appends.length / 5)
    for (let begin = 0; begin < appends.length; begin += size) {
      let ofNewest: readonly Question[] = []
      for (const each of appends.slice(begin, begin + size)) {
        await append(each)
        ofNewest = questionsOf(each)
        for (const question of ofNewest) questions.set(question.path, question)
      }
      // Only these answers differ if the event of the moment itself is missing.
      const newest = new Set(ofNewest.map(({ path }) => path))
      const moment = await past.asOf.momentOf(await past.caughtUp())
      if (moment === undefined) throw new Error('no moment of the newest position')
      for (const question of questions.values()) {
        if (random.below(questions.size) >= 40 && !newest.has(question.path)) continue
        const { status, body } = await past.today(question.orgId, question.path, moment.at)
        recorded.push({ ...question, moment, answer: withoutRequest({ status, body: asPast(body) }) })
      }
    }
    expect(recorded.length).toBeGreaterThan(100)
    const compare = async (when: string, asking: typeof recorded) => {
      for (const { orgId, path, moment, answer } of asking) {
        const found = withoutRequest(await past.asOf.answer(orgId, moment, path))
        const asked = { when, seed, path, position: moment.position }
        expect({ ...asked, found }).toEqual({ ...asked, found: answer })
      }
    }
    await compare('with the read models of the time', recorded)
    await past.upgraded()
    // A rebuild concerns whole tables, so one answer of each route and moment is enough.
    const ofEach = new Map(recorded.map((one) => [`${one.template} at ${formatPosition(one.moment.position)}`, one]))
    await compare('after a rebuild by newer versions of all projectors', [...ofEach.values()])
  },
)

const namespace = '7f3c0a52-2d0e-4b0f-9d3c-5c0c53a1f0aa'

/** Public events are in no answer of the past. Nobody asks for the platform's own records by an organisation. */
function isOfOrganisation({ stream, orgId, events }: StoryAppend): boolean {
  return !stream.endsWith('.events') && events.length > 0 && orgId !== noOrganisation
}

describe('the route', () => {
  const orgId = randomUUID()
  const [patientId, caseId] = [randomUUID(), randomUUID()] as const
  const path = `/v1/clinical-api/cases/${caseId}`
  const positions: Position[] = []

  beforeAll(async () => {
    for (const event of [
      caseFact('CaseOpened', { caseId, patientId, organisationId: tenantOfFact(orgId) }),
      caseFact('CaseClosed', { caseId, patientId }),
    ]) {
      await append({ ...storyAppend(), stream: `case-${orgId}-${caseId}`, events: [event] })
      positions.push(await past.caughtUp())
    }
  })

  const storyAppend = () => ({ orgId: tenantOfFact(orgId), commandId: randomUUID(), correlationId: randomUUID() })
  const [opened, closed] = [
    () => formatPosition(positions[0] ?? startOfLog),
    () => formatPosition(positions[1] ?? startOfLog),
  ]

  async function ask(query: object, scopes = ['audit:read', 'audit:read-phi'], org: string | null = orgId) {
    const search = new URLSearchParams(Object.entries(query)).toString()
    const headers = await past.t.token({ orgId: org, scopes })
    const answer = await past.t.app.inject({ url: `/v1/audit/as-of?${search}`, headers })
    return { status: answer.statusCode, body: answer.json() }
  }

  it('answers at a position and at an instant', async () => {
    const first = await ask({ at: opened(), path })
    expect(first).toMatchObject({
      status: 200,
      body: { position: opened(), status: 200, body: { id: caseId, status: 'open' } },
    })
    const second = await ask({ at: closed(), path })
    expect(second).toMatchObject({ body: { position: closed(), body: { status: 'closed' } } })
    const byInstant = await ask({ at: second.body.at, path })
    expect(byInstant.body).toEqual(second.body)
    const before = await ask({ at: '2020-01-01T00:00:00Z', path })
    expect(before.body).toMatchObject({
      at: '2020-01-01T00:00:00.000Z',
      position: '0/0',
      status: 404,
      body: { code: 'not-found' },
    })
  })

  it('has no moment while the event store ends the read of its log early', async () => {
    const { pool, world } = past
    const ofStore = (store: Pick<EventStore, 'readTimes'>) => ({
      pool,
      now: () => new Date(),
      store: { ...store, head: (filter: EventFilter) => world.store.head(filter) },
    })
    const ended = ofStore({ readTimes: async function* () {} })
    const whole = ofStore({ readTimes: (after) => world.store.readTimes(after) })
    for (const at of [new Date(), positions[1] ?? startOfLog]) {
      await expect(momentOf(ended, at)).rejects.toMatchObject({ code: 'event-store-unavailable' })
      expect(await momentOf(whole, at)).toBeDefined()
    }
  })

  it('refuses the future, other paths and other callers', async () => {
    const codeOf = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).body.code
    expect(await codeOf({ at: '2199-01-01T00:00:00Z', path })).toBe('moment-in-future')
    expect(await codeOf({ at: '999999999999/999999999999', path })).toBe('moment-in-future')
    expect((await ask({ at: 'yesterday', path })).body.errors).toEqual([expect.objectContaining({ pointer: '/at' })])
    for (const other of [
      '/v1/clinical-api/cases',
      '/nowhere',
      '/v1/audit/timeline',
      '/v1/clinical-api/patients',
      '/health',
      // It is for platform clients, and the caller belongs to an organisation.
      `/v1/users/${randomUUID()}/contact`,
    ])
      expect([other, await codeOf({ at: closed(), path: other })]).toEqual([other, 'path-not-supported'])
    expect(await codeOf({ at: closed(), path }, ['audit:read'])).toBe('insufficient-scope')
    expect(await codeOf({ at: closed(), path }, undefined, null)).toBe('org-required')
    expect((await ask({ at: closed(), path }, undefined, randomUUID())).body).toMatchObject({ status: 404 })
    expect((await ask({ at: closed(), path: '/v1/clinical-api/patients/none' })).body).toMatchObject({ status: 404 })
    expect((await ask({ at: closed(), path: `${path}?org_id=${randomUUID()}` })).body).toMatchObject({ status: 404 })
  })

  it('shows the rules and the suppressions of the platform to each organisation, as today', async () => {
    const [subscriptionId, suppressionId] = [randomUUID(), randomUUID()]
    const rule = ruleFact('NotificationSubscriptionCreated', { subscriptionId, orgId: null })
    const suppression = suppressionFact('SuppressionAdded', { suppressionId, orgId: null })
    const ofPlatform = { ...storyAppend(), orgId: noOrganisation }
    const streams = [
      notificationSubscriptions.of(noOrganisation, subscriptionId),
      suppressions.of(noOrganisation, suppressionId),
    ]
    for (const [index, event] of [rule, suppression].entries())
      await append({ ...ofPlatform, commandId: randomUUID(), stream: streams[index]?.stream ?? '', events: [event] })
    const at = formatPosition(await past.caughtUp())
    const admin = '/v1/notifications/admin'
    for (const path of [`${admin}/subscriptions/${subscriptionId}`, `${admin}/suppressions/${suppressionId}`]) {
      const { status, body } = await past.today(orgId, path, new Date())
      expect([status, body]).toMatchObject([200, { orgId: null }])
      expect((await ask({ at, path })).body).toMatchObject({ status: 200, body })
    }
  })

  it('shows nothing of an erased person, of no moment', async () => {
    const stream = `patient-${orgId}-${patientId}`
    await append({
      ...storyAppend(),
      stream,
      events: [patientFact('PatientRegistered', { patientId, organisationId: tenantOfFact(orgId) })],
    })
    const at = formatPosition(await past.caughtUp())
    const patient = { at, path: `/v1/clinical-api/patients/${patientId}` }
    expect((await ask(patient)).body).toMatchObject({ status: 200, body: { given_name: 'Canary' } })
    const recorded = past.accesses.filter(
      ({ operation, patientIds }) => operation === 'readAsOf' && patientIds.includes(patientId),
    )
    expect(recorded.at(-1)).toMatchObject({ orgId, patientIds: [patientId], categories: ['as_of'] })
    await past.world.vault.destroySubject(orgId, patientId)
    expect(await ask(patient)).toMatchObject({ status: 410, body: { code: 'subject-erased' } })
  })

  it('shows a legal hold and an erasure as they were', async () => {
    const patientId = randomUUID()
    const of = { patientId, organisationId: tenantOfFact(orgId) }
    const stream = patientErasures.of(tenantOfFact(orgId), patientId).stream
    const moments: string[] = []
    for (const event of [
      erasureFact('LegalHoldPlaced', of),
      erasureFact('LegalHoldReleased', { patientId }),
      erasureFact('PatientErasureRequested', of),
      erasureFact('PatientErasureCancelled', { patientId }),
    ]) {
      await append({ ...storyAppend(), stream, events: [event] })
      moments.push(formatPosition(await past.caughtUp()))
    }
    const asked = async (name: string) => {
      const path = `/v1/clinical-api/patients/${patientId}/${name}`
      return Promise.all(moments.map(async (at) => (await ask({ at, path })).body))
    }
    const none = { status: 404 }
    const held = { status: 200, body: { reason: 'lawsuit', until: null } }
    expect(await asked('legal-hold')).toMatchObject([held, none, none, none])
    const erasure = (status: string) => ({ status: 200, body: { patient_id: patientId, status } })
    expect(await asked('erasure')).toMatchObject([none, none, erasure('awaiting_approval'), erasure('cancelled')])
    expect(past.accesses.at(-1)).toMatchObject({ operation: 'readAsOf', patientIds: [patientId] })
    await past.world.vault.destroySubject(orgId, patientId)
    expect((await asked('legal-hold'))[0]).toMatchObject({ code: 'subject-erased' })
    await append({ ...storyAppend(), stream, events: [erasureFact('PatientErasureStarted', of)] })
    moments.push(formatPosition(await past.caughtUp()))
    const [before] = await asked('erasure')
    expect(before).toMatchObject({ code: 'subject-erased' })
    expect((await asked('erasure')).at(-1)).toMatchObject({ status: 200, body: { patient_id: patientId } })
  })

  it('shows a notification to a user who was erased, of moments after that only', async () => {
    const [notificationId, userId, patient] = [randomUUID(), randomUUID(), randomUUID()]
    const named = { organisationId: tenantOfFact(orgId), recipientRef: userId, phiSubject: patient }
    const appendTo = (stream: string, event: DomainEvent) => append({ ...storyAppend(), stream, events: [event] })
    const ofUser = users.of(userId).stream
    await appendTo(ofUser, userFact('UserCreated', { userId }))
    await appendTo(
      notifications.of(tenantOfFact(orgId), notificationId).stream,
      notificationFact('NotificationCreated', { ...named, notificationId }),
    )
    const before = formatPosition(await past.caughtUp())
    await appendTo(ofUser, userFact('UserErasureStarted', { userId }))
    const after = formatPosition(await past.caughtUp())
    await past.world.vault.destroySubject(noOrganisation, userId)
    const path = `/v1/notifications/${notificationId}`
    const { status, body } = await past.today(orgId, path, new Date())
    expect([status, body]).toMatchObject([200, { id: notificationId, resolvedAddress: null }])
    expect((await ask({ at: after, path })).body).toMatchObject({ status: 200, body })
    expect(await ask({ at: before, path })).toMatchObject({ status: 410, body: { code: 'user-erased' } })
    const own = { at: after, path: `/v1/notifications/preferences/${userId}` }
    expect(await ask(own)).toMatchObject({ status: 410, body: { code: 'user-erased' } })
  })

  it.each([
    ['/v1/clinical-api/images/', 'images'],
    ['/v1/clinical-api/webhook-subscriptions/none/deliveries/', 'webhook_deliveries'],
  ])('has no answer to %s while the read model lags that names its streams', async (begin, projector) => {
    const asked = { at: closed(), path: `${begin.replace('none', randomUUID())}${randomUUID()}` }
    past.lagging.add(projector)
    expect(await ask(asked)).toMatchObject({ status: 503, body: { code: 'read-model-behind' } })
    past.lagging.clear()
    expect(await ask(asked)).toMatchObject({ status: 200, body: { status: 404 } })
  })

  it('reads a bounded number of events, of all streams together', async () => {
    const streams = [{ stream: `case-${orgId}-${caseId}` }, { stream: `case-${orgId}-${caseId}` }]
    const read = (most: number) => eventsUpTo(past.world.store, streams, positions[1] ?? startOfLog, most)
    expect((await read(4)).map(({ revision }) => revision)).toEqual([0n, 0n, 1n, 1n])
    await expect(read(3)).rejects.toMatchObject({ code: 'history-too-large' })
  })

  it('refuses callers beyond those that may wait', async () => {
    const answers = await Promise.all(Array.from({ length: 70 }, () => ask({ at: closed(), path })))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(54)
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused.length).toBeGreaterThan(0)
    for (const { body } of refused) expect(body.code).toBe('quota-exceeded')
  })

  it('answers more callers than it has connections', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask({ at: closed(), path })))
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    const { rows } = await past.pool.query(
      `select 1 from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()`,
    )
    expect(rows).toEqual([])
  })
})
