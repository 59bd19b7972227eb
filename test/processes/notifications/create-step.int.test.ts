import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createPool } from '../../../platform/database/database.ts'
import { noOrganisation, type TenantId } from '../../../platform/kit/tenants.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { discardedOfLastDay } from '../../../processes/notifications/discarded-events.ts'
import { aiReviewChannelStream } from '../../../streams/channels/ai-review.ts'
import { assessmentChannelStream } from '../../../streams/channels/assessment.ts'
import { clinicalChannelStream } from '../../../streams/channels/clinical.ts'
import { usersChannelStream } from '../../../streams/channels/users.ts'
import { foreignEventId, foreignEvents } from '../../../streams/foreign-event/aggregate.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import type { RecipientRule } from '../../../streams/notification-subscription/events.ts'
import { assessmentPublicFact, clinicalPublicFact, reviewPublicFact } from '../../streams/channel-facts.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { ids } from '../../streams/facts.ts'
import { foreignFact } from '../../streams/foreign-facts.ts'
import { notificationFact } from '../../streams/notification-facts.ts'
import { usersPublicFact } from '../../streams/user-facts.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { delivered } from './given-messages.ts'
import {
  givenContact,
  givenRule,
  givenTemplate,
  lifeOf,
  listOf,
  newOrganisation,
  openNotificationsWorld,
  published,
  todosOf,
  workedOff,
  workOff,
  type NotificationsWorld,
  type Story,
} from './notifications-world.ts'

let world: NotificationsWorld
beforeAll(async () => {
  world = await openNotificationsWorld()
  await givenTemplate(world, { code: 'mail', category: 'operational' })
  await givenTemplate(world, { code: 'mail', locale: 'fr-FR', version: 4, phi: true })
  await givenTemplate(world, { code: 'chat', channel: 'slack', orgId: null })
})
beforeEach(() => world.reset())
afterAll(() => world.close())

const chat: RecipientRule = { type: 'slackChannel', channel: 'C0123' }

async function completed(rule: RecipientRule, templateCode = 'mail', data: object = {}): Promise<Story> {
  const given = await givenRule(world, templateCode, rule)
  const fact = assessmentPublicFact('assessment.completed', { org_id: world.orgId })
  const event = await published(world, assessmentChannelStream.name, { ...fact, data: { ...fact.data, ...data } })
  return { rules: [given], event, orgId: world.orgId }
}

async function created(story: Story, deps?: ProcessDependencies) {
  const create = (await todosOf(world, story)).find(({ step }) => step === 'create')
  if (create === undefined) throw new Error('the rule does not match')
  const outcome = await workedOff(world, create, deps)
  return { outcome, ...(await lifeOf(world, story)) }
}

/** An event of another service, as the reader of foreign channels records it. */
async function receivedFrom(channel: string, eventType: string, data: object, orgs = [world.orgId], template = 'chat') {
  const rule = await givenRule(world, template, chat, { eventType })
  const [orgId, only] = [world.orgId, orgs.length === 1 ? world.orgId : null]
  const eventId = randomUUID()
  const recordId = foreignEventId(channel, eventId)
  const { type, data: usual } = foreignFact('ForeignEventReceived', { channel, eventId, eventType, orgId: only })
  const received = { ...usual, foreignEventId: recordId, organisationIds: orgs, phiSubject: recordId }
  const { stream } = foreignEvents.of(recordId)
  const facts = [{ type, data: { ...received, data: JSON.stringify(data) } }]
  await world.store.append(foreignEvents.of(recordId), 'no_stream', facts, contextOf(world))
  const { id = '' } = (await world.store.readLast(stream)) ?? {}
  return { rules: [rule], event: { id, stream }, orgId }
}

describe('an event of another service', () => {
  test('meets the rules of its organisation, with its members as variables', async () => {
    const story = await receivedFrom('clinic.events', 'recall.due', { recall: 'R-1', org_id: world.orgId })
    const { state } = await created(story)
    expect(state).toMatchObject({ recipientRef: 'C0123', triggerSource: `event:${story.event.id}`, hop: 1 })
    if (!('variables' in state)) throw new Error('no notification')
    expect(JSON.parse(state.variables ?? '')).toMatchObject({ recall: 'R-1', event_type: 'recall.due' })
  })

  test.each([
    ['a patient', { patient_id: ids.patient }, true],
    ['a patient in a form of its own', { patientId: 'P-4711' }, true],
    ['a patient within another member', { visit: { at: 'noon', subjects: [{ patientId: 'P-4711' }] } }, true],
    ['a patient as an object', { Patient: { name: 'Ada' } }, true],
    ['several patients', { visit: { 'patient-ids': ['P-1', 'P-2'] } }, true],
    ['no patient', { patient_id: null, recall: 'R-1', patients_seen: 3, visit: { patient: null } }, false],
  ])('that names %s, by a chat template without PHI', async (_, data, phi) => {
    const { state } = await created(await receivedFrom('clinic.events', 'recall.due', { note: 'Melanoma', ...data }))
    expect(state).toMatchObject({ channel: 'slack', phi })
  })

  test('of several organisations names in each message only the organisation of the message', async () => {
    const other = newOrganisation()
    const named = { org_id: other, organisationId: world.orgId, organisationIds: [other, world.orgId] }
    const { state } = await created(await receivedFrom('clinic.events', 'recall.due', named, [other, world.orgId]))
    if (!('variables' in state)) throw new Error('no notification')
    expect(JSON.parse(state.variables ?? '')).toMatchObject({
      org_id: world.orgId,
      organisationId: world.orgId,
      organisationIds: [world.orgId],
    })
    expect(state.variables).not.toContain(other)
  })

  test('about a patient never goes to a chat, also if its template is found later', async () => {
    const missing = randomUUID()
    const story = await receivedFrom('clinic.events', 'recall.due', { patient_id: ids.patient }, [world.orgId], missing)
    const { state } = await created(story)
    expect(state).toMatchObject({ status: 'failed', category: null, phi: true })
    await givenTemplate(world, { code: missing, channel: 'slack', orgId: null })
    if (!('notificationId' in state)) throw new Error('no notification')
    const { notificationId } = state
    const queued = notificationFact('NotificationQueued', { notificationId, reason: 'retry_requested' })
    await world.store.append(notifications.of(world.orgId, notificationId), 1n, [queued], contextOf(world))
    const { last } = await delivered(world, story)
    expect(last?.data).toMatchObject({ errorCode: 'phi_policy_violation' })
    expect(await world.chats()).toEqual([])
  })

  test.each([
    ['in upper case', { patient_id: ids.patient.toUpperCase() }],
    ['beside a number of the clinic', { patient_id: 'MRN-12', patientId: ids.patient }],
  ])('about a patient %s is encrypted with the key of the patient', async (_, data) => {
    const { state } = await created(await receivedFrom('clinic.events', 'recall.due', data))
    expect(state).toMatchObject({ phiSubject: ids.patient, phiKeyOwner: 'organisation' })
  })

  test('of another organisation, or of another type, meets none', async () => {
    const foreign = await receivedFrom('clinic.events', 'recall.due', { recall: 'R-1' }, [newOrganisation()])
    expect(await todosOf(world, foreign)).toEqual([])
  })

  test('that was caused by two notifications makes no third one', async () => {
    const { events } = await created(await receivedFrom('clinic.events', 'recall.due', { recall: 'R-1', hop: 2 }))
    expect(events).toMatchObject([{ type: 'NotificationDiscarded', data: { reason: 'hop' } }])
  })
})

describe('the recipient', () => {
  test('of a chat rule is its channel, and the variables are the payload', async () => {
    const story = await completed(chat, 'chat')
    const { state, events } = await created(story)
    expect(state).toMatchObject({
      status: 'pending',
      channel: 'slack',
      recipientType: 'slackChannel',
      recipientRef: 'C0123',
      templateVersion: 1,
      triggerSource: `event:${story.event.id}`,
      hop: 1,
      phiSubject: ids.patient,
    })
    if (!('variables' in state)) throw new Error('no notification')
    expect(JSON.parse(state.variables ?? '')).toMatchObject({ patient_id: ids.patient, status: 'completed' })
    expect(events.map(({ type }) => type)).toEqual(['NotificationCreated'])
    expect((await todosOf(world, story)).map(({ step }) => step)).toEqual(['deliver'])
  })

  test('of a user rule is at its path, in the locale of the user', async () => {
    const { userId } = givenContact(world, { locale: 'fr-FR' })
    const { state } = await created(await completed({ type: 'user', path: 'case_id' }, 'mail', { case_id: userId }))
    expect(state).toMatchObject({
      recipientType: 'user',
      recipientRef: userId,
      locale: 'fr-FR',
      templateVersion: 4,
      phi: true,
    })
  })

  test('of a patient rule is the user of the clinical patient', async () => {
    const { userId } = givenContact(world)
    const contact = world.contacts.get(userId)
    if (contact !== undefined) world.contacts.set(ids.patient, contact)
    const { state } = await created(await completed({ type: 'patient', path: 'patient_id' }))
    expect(state).toMatchObject({ recipientRef: userId, phiSubject: ids.patient, phiKeyOwner: 'organisation' })
  })

  test('has its id in lower case, so that the preferences of the user count', async () => {
    const userId = randomUUID()
    const given = { case_id: userId.toUpperCase() }
    const { state } = await created(await completed({ type: 'user', path: 'case_id' }, 'mail', given))
    expect(state).toMatchObject({ recipientRef: userId, phiSubject: ids.patient })
  })

  const unresolvable: readonly RecipientRule[] = [
    { type: 'user', path: 'clinician_id' },
    { type: 'user', path: 'status' },
    { type: 'user', path: 'constructor.name' },
    { type: 'user', path: 'case_id.0' },
    { type: 'user', path: 'a.b.c.d.e.f.g.h.i' },
    { type: 'patient', path: 'patient_id' },
  ]
  test.each(unresolvable)('of a $type rule at $path that finds nobody fails the notification', async (rule) => {
    const { state, events } = await created(await completed(rule))
    expect(state).toMatchObject({ status: 'failed', recipientRef: null })
    expect(events.at(-1)?.data).toMatchObject({
      errorCode: 'recipient_unresolvable',
      errorDetail: 'path' in rule ? rule.path : '',
      ended: null,
    })
  })

  test('waits while the users service is away', async () => {
    const userId = randomUUID()
    world.contacts.set(userId, { status: 500 })
    const { outcome, state } = await created(
      await completed({ type: 'user', path: 'case_id' }, 'mail', { case_id: userId }),
    )
    expect(outcome).toMatchObject({ kind: 'retry', reason: 'user_lookup_unavailable', pauseMs: expect.any(Number) })
    expect(state).toEqual({ status: 'absent' })
  })

  test('whose record cannot be read waits alone, and longer than the others', async () => {
    const userId = randomUUID()
    world.contacts.set(userId, { status: 500, body: { code: 'record-unreadable' } })
    const { outcome } = await created(await completed({ type: 'user', path: 'case_id' }, 'mail', { case_id: userId }))
    expect(outcome).toEqual({ kind: 'retry', reason: 'user_lookup_unavailable', after: 60_000 })
  })
})

test('the event of an erasure is sent, although the patient whom it names has no key any more', async () => {
  const { type, data } = clinicalPublicFact('clinical.patient.erased', {
    org_id: world.orgId,
    patient_id: randomUUID(),
  })
  await givenTemplate(world, { code: type, channel: 'slack', bodyTemplate: 'Erased: {{patient_id}}' })
  const rule = await givenRule(world, type, chat, { eventType: type })
  world.vault.closeSubject(world.orgId, data.patient_id)
  await world.vault.destroySubject(world.orgId, data.patient_id)
  const event = await published(world, clinicalChannelStream.name, { type, data })
  await workOff(world, { rules: [rule], event, orgId: world.orgId })
  expect(await world.chats()).toMatchObject([{ channel: 'C0123', text: `Erased: ${data.patient_id}` }])
})

test('a template that does not exist fails the notification', async () => {
  const { events } = await created(await completed(chat, 'missing'))
  expect(events.at(-1)?.data).toMatchObject({ errorCode: 'template_not_found' })
})

test('addresses of images are no variables', async () => {
  const rule = await givenRule(world, 'chat', chat, { eventType: 'ai_review.requested' })
  const fact = reviewPublicFact('ai_review.requested', { orgId: world.orgId })
  const event = await published(world, aiReviewChannelStream.name, fact)
  const { state } = await created({ rules: [rule], event, orgId: world.orgId })
  if (!('variables' in state)) throw new Error('no notification')
  expect(state.variables).toContain('"caseId"')
  expect(state.variables).not.toContain('images')
})

describe('no notification is made', () => {
  test('of an event that notifications of notifications caused', async () => {
    const story = await completed(chat, 'chat', { hop: 2 })
    const { state, events } = await created(story)
    expect(state).toEqual({ status: 'discarded' })
    expect(events.at(-1)?.data).toMatchObject({ reason: 'hop', trigger: { eventId: story.event.id } })
    expect(await listOf(world, story)).toMatchObject({ todo: [], discarded_events: [{ reason: 'hop' }] })
  })

  test('of an event that was recorded too long ago', async () => {
    const story = await completed(chat, 'chat')
    const later = {
      ...world.otherDeps,
      configuration: { ...world.configuration, notificationEventMaxAgeSeconds: -1e9 },
    }
    const { state, events } = await created(story, later)
    expect(state).toEqual({ status: 'discarded' })
    expect(events.at(-1)?.data).toMatchObject({ reason: 'event_too_old' })
  })
})

describe('an event', () => {
  const stories = async (organisationIds: readonly TenantId[], owner: TenantId): Promise<Story[]> => {
    const rule = await givenRule(world, 'chat', chat, { owner, eventType: 'users.updated' })
    const fact = usersPublicFact('users.updated')
    const { orgId: _, ...data } = { ...fact.data, organisationIds }
    const event = await published(world, usersChannelStream.name, { ...fact, data })
    const all = organisationIds.length === 0 ? [noOrganisation] : organisationIds
    return all.map((orgId) => ({ rules: [rule], event, orgId }))
  }

  test('of several organisations makes one notification of a platform rule for each', async () => {
    const [one, other] = await stories([world.orgId, newOrganisation()], noOrganisation)
    if (one === undefined || other === undefined) throw new Error('two organisations')
    const rows = await todosOf(world, one)
    expect(new Set(rows.map(({ orgId }) => orgId))).toEqual(new Set([one.orgId, other.orgId]))
    for (const row of rows) await workedOff(world, row)
    const states = [(await lifeOf(world, one)).state, (await lifeOf(world, other)).state]
    const made = { status: 'pending', notificationId: expect.any(String) }
    expect(states).toEqual([one, other].map(({ orgId }) => expect.objectContaining({ ...made, organisationId: orgId })))
    // It is the id of the message at the provider.
    expect(new Set(states.map((state) => 'notificationId' in state && state.notificationId)).size).toBe(2)
  })

  test('of several organisations names in each message only the organisation of the message', async () => {
    for (const story of await stories([world.orgId, newOrganisation()], noOrganisation)) {
      const row = (await todosOf(world, story)).find(({ orgId }) => orgId === story.orgId)
      if (row === undefined) throw new Error('the rule does not match')
      await workedOff(world, row)
      const { state } = await lifeOf(world, story)
      if (!('variables' in state)) throw new Error('no notification')
      expect(JSON.parse(state.variables ?? '')).toMatchObject({ organisationIds: [story.orgId] })
    }
  })

  test('about a user that was created in an organisation meets a mail rule of the platform once', async () => {
    const { userId } = givenContact(world)
    const rule = { type: 'user', path: 'userId' } as const
    const given = await givenRule(world, 'mail', rule, { owner: noOrganisation, eventType: 'users.created' })
    const organisations = { orgId: world.orgId, organisationIds: [world.orgId] }
    const { type, data } = usersPublicFact('users.created')
    const event = await published(world, usersChannelStream.name, { type, data: { ...data, ...organisations, userId } })
    const story = { rules: [given], event, orgId: world.orgId }
    expect(await todosOf(world, story)).toHaveLength(1)
    expect((await created(story)).state).toMatchObject({ status: 'pending', recipientRef: userId })
  })

  test('without an organisation meets chat rules of the platform', async () => {
    const [story] = await stories([], noOrganisation)
    if (story === undefined) throw new Error('one story')
    expect((await created(story)).state).toMatchObject({ status: 'pending', organisationId: noOrganisation })
  })
})

test('the health report counts the events of the last day that made no notification', async () => {
  const database = await freshDatabase()
  const pool = createPool({ url: database.url, max: 1 })
  try {
    await pool.query('create schema notifications_todo')
    await pool.query('create table notifications_todo.discarded_events (reason text, discarded_at timestamptz)')
    const insert = `insert into notifications_todo.discarded_events values ($1, now() - $2::interval)`
    await pool.query(insert, ['hop', '25 hours'])
    expect(await discardedOfLastDay(pool)).toBe(null)
    for (const reason of ['hop', 'event_too_old', 'hop']) await pool.query(insert, [reason, '1 hour'])
    expect(await discardedOfLastDay(pool)).toBe('events without a notification: event_too_old (1), hop (2)')
  } finally {
    await pool.end()
    await database.drop()
  }
})

test('no notification is made of an event that an operator has hidden, although later ones are shown', async () => {
  const channel = aiReviewChannelStream.name
  const rule = await givenRule(world, 'chat', chat, { eventType: 'ai_review.requested' })
  const fact = reviewPublicFact('ai_review.requested', { orgId: world.orgId })
  const story = { rules: [rule], event: await published(world, channel, fact), orgId: world.orgId }
  const [create] = await todosOf(world, story)
  if (create === undefined) throw new Error('the rule does not match')
  await published(world, channel, fact)
  await world.store.writeMetadata(channel, { $tb: Number((await world.store.readLast(channel))?.revision) })
  await workedOff(world, create)
  const { state, events } = await lifeOf(world, story)
  expect(state).toEqual({ status: 'discarded' })
  expect(events.at(-1)?.data).toMatchObject({ reason: 'event_too_old' })
})
