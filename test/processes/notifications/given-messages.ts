import { randomUUID } from 'node:crypto'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { assessmentChannelStream } from '../../../streams/channels/assessment.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { assessmentPublicFact } from '../../streams/channel-facts.ts'
import { ids } from '../../streams/facts.ts'
import { notificationFact } from '../../streams/notification-facts.ts'
import {
  givenContact,
  givenRule,
  givenTemplate,
  lifeOf,
  notificationIdIn,
  published,
  todosOf,
  workedOff,
  workOff,
  type NotificationsWorld,
  type Story,
  type Template,
} from './notifications-world.ts'

export interface Mailing {
  readonly story: Story
  readonly userId: string
  readonly email: string
  readonly template: Template
}

/** A mail to a user, created and due. */
export async function mailing(
  world: NotificationsWorld,
  changes: Partial<Template> = {},
  patientId: string = ids.patient,
): Promise<Mailing> {
  const template = await givenTemplate(world, { code: randomUUID(), ...changes })
  const { userId, email } = givenContact(world)
  const rule = await givenRule(world, template.code, { type: 'user', path: 'case_id' })
  return {
    story: await dueAfter(world, rule, { case_id: userId, patient_id: patientId }),
    userId,
    email: email ?? '',
    template,
  }
}

export async function chatting(
  world: NotificationsWorld,
  changes: Partial<Template> = {},
  channel = 'C0123',
): Promise<Story & { template: Template }> {
  const template = await givenTemplate(world, { code: randomUUID(), channel: 'slack', ...changes })
  return {
    ...(await dueAfter(world, await givenRule(world, template.code, { type: 'slackChannel', channel }))),
    template,
  }
}

export async function dueAfter(
  world: NotificationsWorld,
  rule: Story['rules'][number],
  data: { case_id?: string; patient_id?: string } = {},
): Promise<Story> {
  const fact = assessmentPublicFact('assessment.completed', { org_id: world.orgId, ...data })
  const story = { rules: [rule], event: await published(world, assessmentChannelStream.name, fact), orgId: world.orgId }
  const [create] = await todosOf(world, story)
  if (create === undefined) throw new Error('the rule does not match')
  await workedOff(world, create)
  return story
}

/** A message that a client sends to an address or a channel, due. */
export async function addressed(
  world: NotificationsWorld,
  recipientRef: string,
  changes: Partial<Template>,
  { phi = false } = {},
): Promise<Story> {
  const { code, channel, category } = await givenTemplate(world, {
    code: randomUUID(),
    subject: null,
    bodyTemplate: 'News.',
    ...changes,
  })
  const rule = { subscriptionId: randomUUID(), owner: world.orgId, stream: `notification-subscription-${randomUUID()}` }
  const event = { id: randomUUID(), stream: assessmentChannelStream.name }
  const story = { rules: [rule], event, orgId: world.orgId }
  const notificationId = notificationIdIn(story, rule)
  const recipientType = channel === 'slack' ? ('slackChannel' as const) : ('email' as const)
  const created = notificationFact('NotificationCreated', {
    notificationId,
    organisationId: world.orgId,
    templateCode: code,
    channel,
    category,
    phi,
    recipientType,
    recipientRef,
    variables: '{}',
    phiSubject: notificationId,
    trigger: null,
    hop: 0,
  })
  const target = notifications.of(world.orgId, notificationId)
  await world.store.append(target, 'no_stream', [created], contextOf(world))
  return story
}

export async function delivered(world: NotificationsWorld, story: Story, deps?: ProcessDependencies) {
  await workOff(world, story, deps)
  const { state, events } = await lifeOf(world, story)
  const attempts = events.filter(({ type }) => type === 'NotificationAttemptStarted').map(({ data }) => data)
  return { state, attempts, types: events.map(({ type }) => type), last: events.at(-1) }
}
