import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { execute } from '../../../engine/commands/execute.ts'
import { answeringRefusals } from '../../../engine/commands/refusals.ts'
import { retryNotification } from '../../../commands/notifications/requeue-notification.ts'
import { suppressionIdOf } from '../../../commands/notifications/suppressions.ts'
import { openUnsubscribeToken } from '../../../commands/notifications/unsubscribe-links.ts'
import { addressKey, reserveForUser } from '../../../commands/users/user-reservations.ts'
import { noOrganisation, type TenantId } from '../../../platform/kit/tenants.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import { notificationPreferences } from '../../../streams/notification-preferences/aggregate.ts'
import { templateOf } from '../../../streams/notification-template/aggregate.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { suppressions } from '../../../streams/suppression/aggregate.ts'
import type { NotificationCategory } from '../../../streams/types.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { at, ids } from '../../streams/facts.ts'
import { preferencesFact, suppressionFact } from '../../streams/notification-settings-facts.ts'
import { userFact } from '../../streams/user-facts.ts'
import { addressed, chatting, delivered, dueAfter, mailing } from './given-messages.ts'
import {
  givenContact,
  givenRule,
  newOrganisation,
  notificationIdIn,
  openNotificationsWorld,
  todosOf,
  workedOff,
  workOff,
  type NotificationsWorld,
  type Template,
} from './notifications-world.ts'

let world: NotificationsWorld
beforeAll(async () => {
  world = await openNotificationsWorld()
})
beforeEach(() => world.reset())
afterAll(() => world.close())

const answering = answeringRefusals({ 'notification-not-failed': { code: 'conflict' } })

async function optOut(userId: string, category: NotificationCategory): Promise<void> {
  const entries = [{ category, channel: 'email' as const, optedOut: true }]
  const fact = preferencesFact('NotificationPreferencesSet', { userId, organisationId: world.orgId, entries })
  await world.store.append(notificationPreferences.of(userId), 'no_stream', [fact], contextOf(world))
}

async function suppress(address: string, channel: 'email' | 'slack', owner: TenantId): Promise<void> {
  const orgId = owner === noOrganisation ? null : owner
  const suppressionId = suppressionIdOf(world, { channel, address, orgId })
  const fact = suppressionFact('SuppressionAdded', { suppressionId, orgId, channel, address })
  await world.store.append(suppressions.of(owner, suppressionId), 'no_stream', [fact], contextOf(world))
}

test('a mail goes to the address of this moment, with what the template says', async () => {
  const { story, userId } = await mailing(world)
  givenContact(world, { userId, email: 'new@example.org' })
  const { state, attempts } = await delivered(world, story)
  expect(state).toMatchObject({ status: 'sent', attempts: 1 })
  expect(attempts).toMatchObject([{ providerName: 'smtp', resolvedAddress: 'new@example.org', templateVersion: 1 }])
  const [mail] = await world.mails()
  const subject = `Assessment ${ids.assessment}`
  expect(mail).toMatchObject({ to: 'new@example.org', subject })
  expect(mail?.text).toContain(`The assessment ${ids.assessment} has ended.`)
  expect(mail?.headers).not.toHaveProperty('list-unsubscribe')
  expect(mail?.headers['message-id']).toMatch(/@example\.org>$/)
})

test('an operational mail has one-click unsubscription, and the address of it as a variable', async () => {
  const bodyTemplate = '<a href="{{unsubscribeUrl}}">No more mails</a>'
  const { story } = await mailing(world, { category: 'operational', bodyTemplate })
  await delivered(world, story)
  const [mail] = await world.mails()
  expect(mail?.headers['list-unsubscribe']).toMatch(/^<http.*\/v1\/notifications\/unsubscribe\?token=.+>$/)
  expect(mail?.headers['list-unsubscribe-post']).toBe('List-Unsubscribe=One-Click')
  expect(mail?.html).toContain('/v1/notifications/unsubscribe?token')
})

test.each(['before', 'during'])(
  'a message about a patient whose erasure begins %s its plan ends without being sent',
  async (when) => {
    const patientId = randomUUID()
    const { story } = await mailing(world, {}, patientId)
    const close = () => world.vault.closeSubject(world.orgId, patientId)
    const closesAt = when === 'during' ? 'notification-planned' : undefined
    if (closesAt === undefined) close()
    const failpoint = (name: string) => void (name === closesAt && close())
    const { state, attempts, last } = await delivered(world, story, { ...world.otherDeps, failpoint })
    expect(state).toMatchObject({ status: 'failed', attempts: 0 })
    expect(attempts).toEqual([])
    expect(last?.data).toMatchObject({ errorCode: 'template_render_failed', errorDetail: 'the variables were erased' })
    expect(await world.mails()).toEqual([])
  },
)

/** The template has another category than when the message was created. */
async function recategorised(template: Template, category: NotificationCategory): Promise<void> {
  const { templateId, source, phi, subject, bodyTemplate, version } = template
  const data = { templateId, source, phi, subject, bodyTemplate, version, category, changedAt: at(9) }
  const changed = { type: 'NotificationTemplateChanged' as const, data }
  await world.store.append(templateOf(template), 0n, [changed], contextOf(world))
}

test.each(['clinical', 'operational'] as const)(
  'a mail that is marketing now, and was %s, has a link that stops marketing',
  async (category) => {
    const { story, userId, template } = await mailing(world, { category })
    await recategorised(template, 'marketing')
    await delivered(world, story)
    const [mail] = await world.mails()
    const [, token = ''] = /token=([^>]+)>/.exec(mail?.headers['list-unsubscribe'] ?? '') ?? []
    expect(await openUnsubscribeToken(world, token)).toMatchObject({ userId, category: 'marketing' })
  },
)

describe('rule 3', () => {
  test('suppresses a mail to a user who has opted out, without asking for the address', async () => {
    const { story, userId } = await mailing(world, { category: 'operational' })
    await optOut(userId, 'operational')
    const { state, attempts, last } = await delivered(world, story)
    expect(state).toMatchObject({ status: 'suppressed', attempts: 1 })
    expect(attempts).toMatchObject([{ providerName: 'preferences', resolvedAddress: null }])
    expect(last?.data).toMatchObject({ reason: 'preference_opt_out' })
    expect(await world.mails()).toEqual([])
  })

  test('lets transactional mails pass', async () => {
    const { story, userId } = await mailing(world, { category: 'transactional' })
    await optOut(userId, 'transactional')
    expect((await delivered(world, story)).state).toMatchObject({ status: 'sent' })
  })

  test('counts the category that the template has now, too', async () => {
    const { story, userId, template } = await mailing(world, { category: 'transactional' })
    await recategorised(template, 'marketing')
    await optOut(userId, 'marketing')
    expect((await delivered(world, story)).last?.data).toMatchObject({ reason: 'preference_opt_out' })
  })
})

describe('rule 3 for a plain address', () => {
  const ofMarketing = { category: 'marketing' } as const

  test('suppresses marketing if the member with this address has opted out', async () => {
    const email = await givenAddress(await optedOut('marketing'))
    const { last } = await delivered(world, await addressed(world, email.toUpperCase(), ofMarketing))
    expect(last?.data).toMatchObject({ reason: 'preference_opt_out' })
    expect(await world.mails()).toEqual([])
  })

  test('lets every other category pass', async () => {
    const email = await givenAddress(await optedOut('operational'))
    for (const category of ['operational', 'clinical', 'transactional'] as const)
      expect((await delivered(world, await addressed(world, email, { category }))).state).toMatchObject({
        status: 'sent',
      })
  })

  test('lets marketing pass to members who did not opt out, and to strangers', async () => {
    const strangers = [
      `${randomUUID()}@example.org`,
      await givenAddress(await optedOut('marketing'), newOrganisation()),
    ]
    for (const email of [await givenAddress(randomUUID()), ...strangers])
      expect((await delivered(world, await addressed(world, email, ofMarketing))).state).toMatchObject({
        status: 'sent',
      })
  })

  async function optedOut(category: NotificationCategory): Promise<string> {
    const userId = randomUUID()
    await optOut(userId, category)
    return userId
  }

  /** The address of a user who is a member of the organisation. */
  async function givenAddress(userId: string, organisationId = world.orgId): Promise<string> {
    const email = `${userId}@example.org`
    const facts = [
      userFact('UserCreated', { userId, email, externalId: userId }),
      userFact('UserMembershipAdded', { userId, organisationId }),
    ]
    await world.store.append(users.of(userId), 'no_stream', facts, contextOf(world))
    const reserved = await reserveForUser(
      world,
      { userId, key: addressKey(email), fingerprint: null },
      contextOf(world),
    )
    expect(reserved.kind === 'reserved' && (await reserved.confirm())).toBe(true)
    return email
  }
})

test('a message about a patient never goes to a chat, whatever its template says', async () => {
  const story = await addressed(world, 'C0123', { channel: 'slack' }, { phi: true })
  expect((await delivered(world, story)).last?.data).toMatchObject({ errorCode: 'phi_policy_violation' })
  expect(await world.chats()).toEqual([])
})

test('a code that Slack does not document is tried again twice', async () => {
  const refusals = (count: number) => Array.from({ length: count }, () => ({ error: 'a_code_of_tomorrow' }))
  await world.failing('chat', ...refusals(2))
  expect((await delivered(world, await chatting(world))).state).toMatchObject({ status: 'sent', attempts: 3 })
  await world.failing('chat', ...refusals(3))
  const { state, last } = await delivered(world, await chatting(world))
  expect(state).toMatchObject({ status: 'failed', attempts: 3 })
  expect(last?.data).toMatchObject({ errorCode: 'provider_4xx', finalAttempt: false })
})

describe('rule 4', () => {
  test('fails for a user who is no active member of the organisation', async () => {
    const { story, userId } = await mailing(world)
    givenContact(world, { userId, status: 'suspended' })
    const { state, attempts, last } = await delivered(world, story)
    expect(state).toMatchObject({ status: 'failed', attempts: 1 })
    expect(attempts).toMatchObject([{ providerName: 'user-management' }])
    expect(last?.data).toMatchObject({ errorCode: 'recipient_not_found', finalAttempt: false })
  })

  test('tries five times while the users service answers 500', async () => {
    const { story, userId } = await mailing(world)
    world.contacts.set(userId, { status: 500 })
    const { state, attempts, last } = await delivered(world, story)
    expect(state).toMatchObject({ status: 'failed', attempts: 5 })
    expect(attempts).toMatchObject(Array.from({ length: 5 }, () => ({ providerName: 'user-management' })))
    expect(last?.data).toMatchObject({ errorCode: 'user_lookup_unavailable', finalAttempt: true })
  })
})

test.each([
  ['internal-error', 'unreachable'],
  ['record-unreadable', undefined],
])('a lookup that ends with %s leaves the way to mail boxes %s', async (code, health) => {
  const { story, userId } = await mailing(world)
  world.contacts.set(userId, { status: 500, body: { code } })
  const deliver = (await todosOf(world, story)).find(({ step }) => step === 'deliver')
  if (deliver === undefined) throw new Error('no message is due')
  const outcome = await workedOff(world, deliver)
  expect('health' in outcome ? outcome.health : undefined).toBe(health)
})

test('a retry of a failed notification makes another attempt, and not without a recipient', async () => {
  const story = await chatting(world, { phi: true })
  const unresolvable = await dueAfter(
    world,
    await givenRule(world, story.template.code, { type: 'user', path: 'status.of' }),
  )
  for (const failed of [story, unresolvable]) {
    await workOff(world, failed)
    const [rule] = failed.rules
    if (rule === undefined) throw new Error('the story has no rule')
    const target = notifications.of(failed.orgId, notificationIdIn(failed, rule))
    const retry = { request: null, now: world.now() }
    await execute(world.store, target, (state) => answering(retryNotification(retry, state)), contextOf(world))
  }
  expect((await delivered(world, story)).state).toMatchObject({ status: 'failed', attempts: 2 })
  expect((await delivered(world, unresolvable)).last?.data).toMatchObject({
    errorCode: 'recipient_unresolvable',
    ended: {},
  })
})

describe('rule 5', () => {
  test.each(['organisation', 'platform'])('suppresses an address that the %s suppresses', async (owner) => {
    const { story, email } = await mailing(world, { category: 'transactional' })
    await suppress(email.toUpperCase(), 'email', owner === 'platform' ? noOrganisation : world.orgId)
    const { state, attempts, last } = await delivered(world, story)
    expect(state).toMatchObject({ status: 'suppressed' })
    expect(attempts).toMatchObject([{ providerName: 'suppressions', resolvedAddress: email }])
    expect(last?.data).toMatchObject({ reason: 'suppression_list' })
    expect(await world.mails()).toEqual([])
  })

  test('suppresses a chat channel', async () => {
    await suppress('C0SILENT', 'slack', world.orgId)
    for (const channel of ['C0SILENT', '#c0silent'])
      expect((await delivered(world, await chatting(world, {}, channel))).last?.data).toMatchObject({
        reason: 'suppression_list',
      })
  })
})

describe('rule 6', () => {
  test('refuses a template with PHI on chat, and does not try again', async () => {
    const { state, last } = await delivered(world, await chatting(world, { phi: true }))
    expect(state).toMatchObject({ status: 'failed', attempts: 1 })
    expect(last?.data).toMatchObject({ errorCode: 'phi_policy_violation', finalAttempt: false })
    expect(await world.chats()).toEqual([])
  })

  test('fails if a variable is missing, and names it', async () => {
    const { last } = await delivered(world, await chatting(world, { bodyTemplate: 'Of {{clinician_name}}' }))
    expect(last?.data).toMatchObject({ errorCode: 'template_render_failed', finalAttempt: false })
    expect(JSON.stringify(last?.data)).toContain('clinician_name')
  })

  test('fails without the data of an erased patient', async () => {
    const patientId = randomUUID()
    const { story } = await mailing(world, { phi: true }, patientId)
    await world.vault.destroySubject(world.orgId, patientId)
    world.otherStore.forgetStates()
    const { last } = await delivered(world, story)
    expect(last?.data).toMatchObject({ errorCode: 'recipient_not_found', finalAttempt: false })
    expect(await world.mails()).toEqual([])
  })
})
