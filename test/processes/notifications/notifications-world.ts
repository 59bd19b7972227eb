import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { noOrganisation, tenantOfFact, type TenantId } from '../../../platform/kit/tenants.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { notificationIdOf } from '../../../processes/notifications/matches.ts'
import { notificationsProcess } from '../../../processes/notifications/notifications.process.ts'
import type { StepOutcome, TodoRow } from '../../../engine/processes/process.ts'
import { notifications, type NotificationState } from '../../../streams/notification/aggregate.ts'
import { notificationSubscriptions } from '../../../streams/notification-subscription/aggregate.ts'
import type { RecipientRule } from '../../../streams/notification-subscription/events.ts'
import { templateOf } from '../../../streams/notification-template/aggregate.ts'
import type { NotificationTemplateEvent } from '../../../streams/notification-template/events.ts'
import type { StreamRevision } from '../../../platform/kit/positions.ts'
import type { RecordedEvent } from '../../../engine/store/events.ts'
import { contextOf, openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { at } from '../../streams/facts.ts'
import { ruleFact } from '../../streams/notification-settings-facts.ts'
import { rowsInMemory } from '../../support/rows-in-memory.ts'
import { todosAfter, whenWorkedOff } from '../../support/given-process.ts'
import { hostedReceivers } from '../../support/hosted-stand-ins.ts'
import { processDependencies, startOutsideServer, type Reply } from '../../support/process-world.ts'

interface Received {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string | null
  readonly headers: Readonly<Record<string, string>>
}

interface ReceivedChat {
  readonly channel: string
  readonly text: string
  readonly client_msg_id: string | null
}

type Contact = {
  readonly userId: string
  readonly email: string | null
  readonly locale: string | null
  readonly status: string
}

/** An event store, a mail box, a chat receiver, and a users service whose answers the test sets. */
export interface NotificationsWorld extends DecisionWorld {
  readonly deps: ProcessDependencies
  /** Another process, with a cache of its own. */
  readonly otherDeps: ProcessDependencies
  /** By user id or clinical patient id. A missing one is a 404. */
  readonly contacts: Map<string, Contact | Reply>
  mails(): Promise<Received[]>
  chats(): Promise<ReceivedChat[]>
  /** Faults of the next calls. */
  failing(box: 'mail' | 'chat', ...faults: readonly object[]): Promise<void>
  /** Empties both boxes, without faults. */
  reset(): Promise<void>
}

export async function openNotificationsWorld(): Promise<NotificationsWorld> {
  const [controlSecret, readSecret, botToken, smtpPassword] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
  const contacts = new Map<string, Contact | Reply>()
  const [world, receivers, services] = await Promise.all([
    openDecisionWorld(),
    hostedReceivers({ smtpPassword, botToken, readSecret, controlSecret }),
    startOutsideServer(({ route }) => {
      if (route.endsWith('/token')) return { status: 200, body: { access_token: 'token', expires_in: 3600 } }
      const contact = contacts.get(route.split('/').at(-2) ?? '')
      if (contact === undefined) return { status: 404 }
      return typeof contact.status === 'number' ? (contact as Reply) : { status: 200, body: contact }
    }),
  ])
  const configuration = loadConfiguration({
    BASE_URL: services.url,
    SMTP_URL: receivers.smtpUrl,
    SMTP_FROM: 'Clinic <clinic@example.org>',
    SLACK_API_URL: receivers.slackApiUrl,
    SLACK_BOT_TOKEN: botToken,
  })
  const egress = createEgress({ configuration })
  const deps = processDependencies({ ...world, configuration }, egress)
  const headers = { 'x-control-secret': controlSecret }
  const call = async (url: string, init?: RequestInit): Promise<Response> => {
    const answer = await fetch(url, init)
    expect(answer.ok, `${url} answered ${answer.status}`).toBe(true)
    return answer
  }
  const boxes = { mail: receivers.mailboxUrl, chat: receivers.chatUrl }
  return {
    ...world,
    configuration,
    deps,
    otherDeps: { ...deps, store: world.otherStore },
    contacts,
    mails: async () => (await (await call(`${boxes.mail}/email`)).json()) as Received[],
    chats: async () => (await (await call(`${boxes.chat}/messages`)).json()) as ReceivedChat[],
    failing: async (box, ...faults) => {
      await call(`${boxes[box]}/control/faults`, { method: 'POST', headers, body: JSON.stringify(faults) })
    },
    reset: async () => {
      for (const box of Object.values(boxes)) await call(`${box}/control`, { method: 'DELETE', headers })
      contacts.clear()
    },
    close: async () => {
      await Promise.all([deps.mails.close(), deps.chats.close()])
      await egress.close()
      await Promise.all([world.close(), receivers.stop(), services.close()])
    },
  }
}

export type Template = Extract<NotificationTemplateEvent, { type: 'NotificationTemplateCreated' }>['data']

/** A template of the organisation, with one variable. */
export async function givenTemplate(
  world: NotificationsWorld,
  changes: Partial<Template> & Pick<Template, 'code'>,
): Promise<Template> {
  const channel = changes.channel ?? 'email'
  const template = {
    orgId: world.orgId,
    channel,
    locale: 'en-GB',
    category: 'clinical' as const,
    phi: false,
    subject: channel === 'email' ? 'Assessment {{assessment_id}}' : null,
    bodyTemplate: 'The assessment {{assessment_id}} has ended.',
    version: 1,
    source: 'custom' as const,
    templateId: randomUUID(),
    createdAt: at(0),
    ...changes,
  }
  const created = [{ type: 'NotificationTemplateCreated' as const, data: template }]
  await world.store.append(templateOf(template), 'no_stream', created, contextOf(world))
  return template
}

export interface GivenRule {
  readonly subscriptionId: string
  readonly owner: TenantId
  readonly stream: string
}

export async function givenRule(
  world: NotificationsWorld,
  templateCode: string,
  recipientRule: RecipientRule,
  { owner = world.orgId, eventType = 'assessment.completed' }: { owner?: TenantId; eventType?: string } = {},
): Promise<GivenRule> {
  const subscriptionId = randomUUID()
  const orgId = owner === noOrganisation ? null : owner
  const rule = { subscriptionId, orgId, templateCode, recipientRule, eventType }
  const target = notificationSubscriptions.of(owner, subscriptionId)
  const context = { ...contextOf(world), orgId: orgId ?? undefined }
  await world.store.append(target, 'no_stream', [ruleFact('NotificationSubscriptionCreated', rule)], context)
  return { subscriptionId, owner, stream: target.stream }
}

export interface PublishedEvent {
  readonly id: string
  readonly stream: string
}

/** An event on a channel, as its relay appends it. */
export async function published(
  { store }: NotificationsWorld,
  stream: string,
  { type, data }: { readonly type: string; readonly data: object },
): Promise<PublishedEvent> {
  const id = randomUUID()
  const metadata = { commandId: randomUUID(), $correlationId: randomUUID(), $causationId: randomUUID() }
  const expected: StreamRevision = (await store.readLast(stream))?.revision ?? 'no_stream'
  await store.appendRaw(stream, expected, [{ id, type, data: { ...data, event_id: id }, metadata }])
  return { id, stream }
}

/** The rules that one event met, and the organisation of their notifications. */
export interface Story {
  readonly rules: readonly GivenRule[]
  readonly event: PublishedEvent
  readonly orgId: TenantId
}

export function notificationIdIn({ event, orgId }: Story, { subscriptionId }: GivenRule): string {
  return notificationIdOf({ subscriptionId, eventId: event.id, organisationId: orgId })
}

async function eventsOf({ otherStore }: NotificationsWorld, story: Story): Promise<RecordedEvent[]> {
  const streams = story.rules.flatMap((rule) => [
    rule.stream,
    notifications.of(story.orgId, notificationIdIn(story, rule)).stream,
  ])
  const events: RecordedEvent[] = []
  for (const stream of streams) for await (const event of otherStore.readStream(stream)) events.push(event)
  for await (const event of otherStore.readStream(story.event.stream))
    if (event.id === story.event.id) events.push(event)
  return events.toSorted((one, other) => Number(one.position.commit - other.position.commit))
}

export async function listOf(world: NotificationsWorld, story: Story) {
  return rowsInMemory(notificationsProcess.list, await eventsOf(world, story))
}

export async function todosOf(world: NotificationsWorld, story: Story): Promise<TodoRow[]> {
  const todos = todosAfter(notificationsProcess, await eventsOf(world, story))
  return todos.toSorted((one, other) => one.dueAt.getTime() - other.dueAt.getTime())
}

export function workedOff(world: NotificationsWorld, todo: TodoRow, deps = world.otherDeps): Promise<StepOutcome> {
  return whenWorkedOff(notificationsProcess, todo, deps, world.now())
}

const mostRounds = 30

/** Works off the list as the processor does, until nothing is left. The time passes meanwhile. */
export async function workOff(world: NotificationsWorld, story: Story, deps = world.otherDeps): Promise<void> {
  for (let round = 1; round <= mostRounds; round++) {
    const [next] = await todosOf(world, story)
    if (next === undefined) return
    waitUntil(world, next.dueAt)
    const outcome = await workedOff(world, next, deps)
    if (outcome.kind === 'wait') waitUntil(world, outcome.until)
    if (outcome.kind === 'retry') world.pass(outcome.after / 1000)
  }
  expect(await todosOf(world, story), 'rows that never end').toEqual([])
}

function waitUntil(world: NotificationsWorld, instant: Date): void {
  const leftMs = instant.getTime() - world.now().getTime()
  if (leftMs > 0) world.pass(leftMs / 1000)
}

/** The state, and the types of all events. */
export async function lifeOf(
  { otherStore }: NotificationsWorld,
  story: Story,
  rule = story.rules[0],
): Promise<{ readonly state: NotificationState; readonly events: RecordedEvent[] }> {
  if (rule === undefined) throw new Error('the story has no rule')
  const target = notifications.of(story.orgId, notificationIdIn(story, rule))
  const events: RecordedEvent[] = []
  for await (const event of otherStore.readStream(target.stream)) events.push(event)
  return { state: (await otherStore.load(target)).state, events }
}

/** An active member of the organisation. */
export function givenContact(world: NotificationsWorld, changes: Partial<Contact> = {}): Contact {
  const userId = changes.userId ?? randomUUID()
  const contact = { userId, email: `${userId}@example.org`, locale: 'en-GB', status: 'active', ...changes }
  world.contacts.set(userId, contact)
  return contact
}

export function newOrganisation(): TenantId {
  return tenantOfFact(randomUUID())
}
