import { randomUUID } from 'node:crypto'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient, RawApi } from '../../support/raw-api.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import { expecting } from '../../support/main-job.ts'
import { waitFor, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'
import { withHeaders } from '../consent/consent-world.ts'

// Sections 3.3 and 4.6 of the specification: from an event or a request to a mail box or a chat channel.

const admin = '/v1/notifications/admin'

let platform: PlatformInUse
let watched: WatchedPlatform
let api: ApiClient
let users: RawApi
let orgId: string

beforeAll(async () => {
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  const { credentials } = platform.process
  orgId = credentials.org_id
  api = watched.watch(await platform.connect())
  users = withHeaders(api, { 'x-admin-api-secret': credentials.admin_api_secret ?? '' })
  const role = { organisationId: orgId, name: 'Reader', permissions: [], isDefault: true }
  await expecting(201, users.call('/v1/admin/roles', { body: role }))
})
afterAll(() => platform.stop())

interface Mail {
  readonly to: string
  readonly subject: string
  readonly headers: Readonly<Record<string, string>>
}

async function mailsTo(address: string): Promise<Mail[]> {
  const mails = (await (await fetch(`${platform.process.credentials.mailbox_url}/email`)).json()) as Mail[]
  return mails.filter(({ to }) => to === address)
}

async function chatsIn(channel: string): Promise<string[]> {
  const answer = await fetch(`${platform.process.credentials.chat_url}/messages`)
  const messages = (await answer.json()) as { channel: string; text: string }[]
  return messages.filter((message) => message.channel === channel).map(({ text }) => text)
}

async function failingChat(...faults: readonly object[]): Promise<void> {
  const { chat_url, control_secret } = platform.process.credentials
  const headers = { 'x-control-secret': control_secret ?? '' }
  const init = { method: 'POST', headers, body: JSON.stringify(faults) }
  expect((await fetch(`${chat_url}/control/faults`, init)).status).toBe(200)
}

async function template(changes: object): Promise<string> {
  const code = `note-${randomUUID()}`
  const body = { category: 'operational', phi: false, bodyTemplate: 'Hello {{name}}', ...changes }
  await expecting(201, api.call(`${admin}/templates/${code}`, { method: 'PUT', body }))
  return code
}

async function member(): Promise<{ readonly userId: string; readonly email: string }> {
  const email = `${randomUUID()}@example.org`
  const body = { email, displayName: 'Jane', userType: 'clinician', organisationId: orgId }
  return { email, userId: textAt((await expecting(201, users.call('/v1/admin/users', { body }))).body, 'id') }
}

async function sent(templateCode: string, type: string, ref: string): Promise<string> {
  const body = { templateCode, recipient: { type, ref }, variables: { name: 'Ada <!channel>' } }
  const answer = await expecting(202, api.call('/v1/notifications', { body }))
  expect(at(answer.body, 'status')).toBe('pending')
  return textAt(answer.body, 'id')
}

/** The notification after its end. */
async function ended(id: string): Promise<unknown> {
  return waitFor(`the end of notification ${id}`, async () => {
    const { body } = await expecting(200, api.call(`/v1/notifications/${id}`))
    return ['sent', 'failed', 'suppressed'].includes(textAt(body, 'status')) ? body : undefined
  })
}

test('an event on a channel becomes a mail to the user that it names', async () => {
  const rule = { eventType: 'users.created', recipientRule: { type: 'user', path: 'userId' } }
  await expecting(201, api.call(`${admin}/subscriptions`, { body: { ...rule, templateCode: 'users.created' } }))
  const { email, userId } = await member()
  await expect.poll(() => mailsTo(email), { timeout: 30_000 }).toHaveLength(1)
  const list = `/v1/notifications?recipientRef=${userId}`
  const { body } = await expecting(200, api.call(list))
  expect(at(body, 'data')).toMatchObject([{ templateCode: 'users.created', channel: 'email', attempts: 1, orgId }])
  expect(textAt(body, 'data', 0, 'triggerSource')).toMatch(/^event:/)
  expect(JSON.stringify(body)).not.toContain(email)
})

test('a request becomes a chat message, after a fault of the provider once', async () => {
  const code = await template({ channel: 'slack' })
  await failingChat({ status: 500 })
  const id = await sent(code, 'slackChannel', 'C0ADHOC')
  expect(await ended(id)).toMatchObject({
    status: 'sent',
    attempts: 2,
    deliveryAttempts: [
      { attemptNumber: 1, providerName: 'slack', success: false, errorCode: 'provider_5xx' },
      { attemptNumber: 2, providerName: 'slack', success: true, errorCode: null },
    ],
  })
  expect(await chatsIn('C0ADHOC')).toEqual(['Hello Ada &lt;!channel&gt;'])
})

test('a failed notification is reported to a chat channel once, and not about itself', async () => {
  const code = await template({ channel: 'slack', bodyTemplate: '{{errorCode}} of {{templateCode}}' })
  const recipientRule = { type: 'slackChannel', channel: 'C0ALARMS' }
  for (const eventType of ['notification.failed', 'notification.sent'])
    await expecting(201, api.call(`${admin}/subscriptions`, { body: { eventType, templateCode: code, recipientRule } }))
  const secret = await template({ channel: 'slack', phi: true })
  expect(await ended(await sent(secret, 'slackChannel', 'C0SECRET'))).toMatchObject({
    status: 'failed',
    errorCode: 'phi_policy_violation',
    attempts: 1,
  })
  await expect.poll(() => chatsIn('C0ALARMS'), { timeout: 30_000 }).toContain(`phi_policy_violation of ${secret}`)
  expect(await chatsIn('C0SECRET')).toEqual([])
})

test('an emergency access is published, and reported to a chat channel without the patient', async () => {
  const recipientRule = { type: 'slackChannel', channel: 'C0EMERGENCIES' }
  const rule = { eventType: 'audit.emergency_access', templateCode: 'emergency_access', recipientRule }
  await expecting(201, api.call(`${admin}/subscriptions`, { body: rule }))
  const patient = { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29' }
  const { body } = await expecting(201, api.call('/v1/clinical-api/patients', { body: patient }))
  const patientId = textAt(body, 'id')
  for (const purpose of ['TREAT', 'ETREAT', 'ETREAT'])
    await expecting(
      200,
      api.call(`/v1/clinical-api/patients/${patientId}`, { headers: { 'x-purpose-of-use': purpose } }),
    )
  await expect.poll(() => chatsIn('C0EMERGENCIES'), { timeout: 30_000 }).toHaveLength(1)
  const [message = ''] = await chatsIn('C0EMERGENCIES')
  const { body: feed } = await expecting(200, api.call('/v1/events/audit'))
  const published = Object.values(Object(at(feed, 'data'))) as readonly unknown[]
  expect(published.filter((event) => JSON.stringify(event).includes(patientId))).toMatchObject([
    { event_type: 'audit.emergency_access', org_id: orgId, patient_ids: [patientId], operation: 'getPatient' },
  ])
  expect(message).toContain(`Emergency access ${textAt(published.at(-1), 'access_id')}`)
  expect(message).not.toContain(patientId)
})

test("an event of another service fires a rule once, speaks for no domain of the platform, and brings no patient's data to a chat", async () => {
  const code = await template({ channel: 'slack', bodyTemplate: '{{recall}}' })
  const rule = { templateCode: code, recipientRule: { type: 'slackChannel', channel: 'C0RECALLS' } }
  for (const eventType of ['recall.due', 'consent.granted'])
    await expecting(201, api.call(`${admin}/subscriptions`, { body: { ...rule, eventType } }))
  const clinic = EventStoreDBClient.connectionString(platform.process.credentials.eventstore_url ?? '')
  const due = (data: object, id = randomUUID()) =>
    jsonEvent({ id, type: 'recall.due', data: { recall: 'R-1', orgId, ...data } })
  const [once, other] = [randomUUID(), randomUUID()]
  const forged = jsonEvent({ type: 'consent.granted', data: { recall: 'forged', orgId } })
  const ofPatient = due({ recall: 'Melanoma', visit: { patient: { name: 'Ada' } } }, other)
  const elsewhere = due({ recall: 'elsewhere', orgId: randomUUID() })
  await clinic.appendToStream('clinic.events', [forged, due({}, once), ofPatient, elsewhere])
  await clinic.appendToStream('clinic.events', due({ recall: 'again' }, once), { expectedRevision: 3n })
  await clinic.appendToStream('clinic.events', due({ recall: 'R-2' }))
  await clinic.dispose()
  // Events of a channel are recorded in order, so the last one is behind the others.
  await expect.poll(() => chatsIn('C0RECALLS'), { timeout: 30_000 }).toContain('R-2')
  const failed = await waitFor('the failure of the message about a patient', async () => {
    const { body } = await expecting(200, api.call('/v1/notifications?recipientRef=C0RECALLS&status=failed'))
    return at(body, 'data', 0) === undefined ? undefined : at(body, 'data')
  })
  expect(failed).toMatchObject([{ errorCode: 'phi_policy_violation', attempts: 1 }])
  // Messages are sent side by side, so the first one may come last.
  await expect.poll(async () => (await chatsIn('C0RECALLS')).toSorted(), { timeout: 20_000 }).toEqual(['R-1', 'R-2'])
})

test('a suppressed address gets nothing', async () => {
  const code = await template({ subject: 'Note' })
  const address = `${randomUUID()}@example.org`
  const body = { channel: 'email', address: address.toUpperCase(), reason: 'asked for it' }
  await expecting(201, api.call(`${admin}/suppressions`, { body }))
  expect(await ended(await sent(code, 'email', address))).toMatchObject({ status: 'suppressed', attempts: 1 })
  expect(await mailsTo(address)).toEqual([])
})

test('a user stops a category by the link of a mail, and still gets transactional ones', async () => {
  const { email, userId } = await member()
  const code = await template({ subject: 'Note' })
  expect(await ended(await sent(code, 'user', userId))).toMatchObject({ status: 'sent' })
  const mail = (await mailsTo(email)).find(({ subject }) => subject === 'Note')
  const link = /^<(.+)>$/.exec(mail?.headers['list-unsubscribe'] ?? '')?.[1] ?? ''
  const form = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' })
  expect((await fetch(link, { method: 'POST', body: form })).status).toBe(200)
  expect(await ended(await sent(code, 'user', userId))).toMatchObject({ status: 'suppressed' })
  const needed = await template({ subject: 'Needed', category: 'transactional' })
  expect(await ended(await sent(needed, 'user', userId))).toMatchObject({ status: 'sent' })
  const subjects = (await mailsTo(email)).map(({ subject }) => subject)
  expect(subjects.filter((subject) => subject === 'Note' || subject === 'Needed')).toHaveLength(2)
})

test('all answers were documented', async () => {
  expect(await watched.undocumented()).toEqual([])
})
