import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { assessmentChannelStream } from '../../../streams/channels/assessment.ts'
import type { NotificationCategory } from '../../../streams/types.ts'
import { interrupted } from '../../engine/commands/decision-world.ts'
import { assessmentPublicFact } from '../../streams/channel-facts.ts'
import { KilledError } from '../users/mortal-process.ts'
import {
  givenRule,
  givenTemplate,
  lifeOf,
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
})
beforeEach(() => world.reset())
afterAll(() => world.close())

/** A rule that writes into a chat channel, and one event that it matches. */
async function given(category: NotificationCategory): Promise<Story> {
  const code = `crash-${category}-${world.now().getTime()}-${Math.trunc(performance.now())}`
  await givenTemplate(world, { code, channel: 'slack', category })
  const rule = await givenRule(world, code, { type: 'slackChannel', channel: 'C0123' })
  const fact = assessmentPublicFact('assessment.completed', { org_id: world.orgId })
  return { rules: [rule], event: await published(world, assessmentChannelStream.name, fact), orgId: world.orgId }
}

function killedAt(point: string): ProcessDependencies {
  return {
    ...world.deps,
    failpoint: (name) => {
      if (name === point) throw new KilledError()
    },
  }
}

/** The provider gets the message, or not, and the process dies before it has the answer. */
function killedInCall({ isHandedOver }: { readonly isHandedOver: boolean }): ProcessDependencies {
  const { chats } = world.deps
  const send: typeof chats.send = async (message, signal) => {
    if (isHandedOver) await chats.send(message, signal)
    throw new KilledError()
  }
  return { ...world.deps, chats: { ...chats, send } }
}

/** The process dies in one step, and another one works off the rest. */
async function dieOnce(story: Story, step: 'create' | 'deliver', deps: ProcessDependencies): Promise<void> {
  for (;;) {
    const [todo] = await todosOf(world, story)
    if (todo === undefined) throw new Error(`no row of ${step}`)
    if (todo.step !== step) {
      await workedOff(world, todo)
      continue
    }
    await expect(workedOff(world, todo, deps)).rejects.toBeInstanceOf(KilledError)
    return workOff(world, story)
  }
}

const harmless = [
  { point: 'before the notification is created', step: 'create', deps: () => killedAt('notification-prepared') },
  { point: 'after the notification is created', step: 'create', deps: () => killedAt('notification-created') },
  { point: 'before the attempt', step: 'deliver', deps: () => killedAt('notification-planned') },
  { point: 'after the record', step: 'deliver', deps: () => killedAt('notification-recorded') },
] as const

test.each(harmless)('killed $point, the message is sent once', async ({ step, deps }) => {
  const story = await given('clinical')
  await dieOnce(story, step, deps())
  const { state, events } = await lifeOf(world, story)
  expect(state).toMatchObject({ status: 'sent', attempts: 1 })
  expect(events.map(({ type }) => type)).toEqual([
    'NotificationCreated',
    'NotificationQueued',
    'NotificationAttemptStarted',
    'NotificationSent',
  ])
  expect(await world.chats()).toHaveLength(1)
})

const inTheCall = [
  { point: 'after the attempt', sent: 0, deps: () => killedAt('notification-attempted') },
  { point: 'in the call, before the hand-over', sent: 0, deps: () => killedInCall({ isHandedOver: false }) },
  { point: 'in the call, after the hand-over', sent: 1, deps: () => killedInCall({ isHandedOver: true }) },
  { point: 'after the call, before the record', sent: 1, deps: () => killedAt('notification-sent') },
]

test.each(inTheCall)('killed $point, the delivery is unknown and nothing is sent again', async ({ sent, deps }) => {
  const story = await given('clinical')
  await dieOnce(story, 'deliver', deps())
  const { state, events } = await lifeOf(world, story)
  expect(state).toMatchObject({ status: 'failed', attempts: 1 })
  expect(events.at(-1)).toMatchObject({
    type: 'NotificationFailed',
    data: { errorCode: 'delivery_unknown', finalAttempt: false, ended: { attempt: 1 } },
  })
  expect(await world.chats()).toHaveLength(sent)
})

test.each(inTheCall)('killed $point, a transactional message is sent with the same id', async ({ sent, deps }) => {
  const story = await given('transactional')
  await dieOnce(story, 'deliver', deps())
  const { state, events } = await lifeOf(world, story)
  expect(state).toMatchObject({ status: 'sent', attempts: 2 })
  expect(events.map(({ type }) => type)).toContain('NotificationRetryScheduled')
  const chats = await world.chats()
  expect(chats).toHaveLength(sent + 1)
  expect(new Set(chats.map((chat) => chat.client_msg_id)).size).toBe(1)
})

test('another worker waits until the lease of an open attempt has ended', async () => {
  const story = await given('transactional')
  const [create] = await todosOf(world, story)
  if (create === undefined) throw new Error('the rule does not match')
  await workedOff(world, create)
  const [deliver] = await todosOf(world, story)
  if (deliver === undefined) throw new Error('no delivery is due')
  const deps = killedAt('notification-attempted')
  await expect(workedOff(world, deliver, deps)).rejects.toBeInstanceOf(KilledError)
  const until = new Date(world.now().getTime() + 20_000)
  expect(await workedOff(world, deliver)).toEqual({ kind: 'wait', until })
  expect(await world.chats()).toEqual([])
})

test('a message is sent if its worker stood still until another one had ended the attempt', async () => {
  const story = await given('clinical')
  const [create] = await todosOf(world, story)
  if (create === undefined) throw new Error('the rule does not match')
  await workedOff(world, create)
  const [deliver] = await todosOf(world, story)
  if (deliver === undefined) throw new Error('no delivery is due')
  const { chats } = world.deps
  const send: typeof chats.send = async (message, signal) => {
    const outcome = await chats.send(message, signal)
    await workOff(world, story)
    return outcome
  }
  await workedOff(world, deliver, { ...world.deps, chats: { ...chats, send } })
  const { state, events } = await lifeOf(world, story)
  expect(state).toMatchObject({ status: 'sent', attempts: 1 })
  expect(events.map(({ type }) => type).slice(-2)).toEqual(['NotificationFailed', 'NotificationSent'])
  expect(await world.chats()).toHaveLength(1)
})

test('rows that run again create nothing twice, and send nothing after the end', async () => {
  const story = await given('clinical')
  const [create] = await todosOf(world, story)
  if (create === undefined) throw new Error('the rule does not match')
  await Promise.all([workedOff(world, create), workedOff(world, create, world.deps)])
  const [deliver] = await todosOf(world, story)
  if (deliver === undefined) throw new Error('no delivery is due')
  await Promise.all([workedOff(world, deliver), workedOff(world, deliver, world.deps)])
  await workOff(world, story)
  await workedOff(world, create)
  await workedOff(world, deliver, world.deps)
  const { events } = await lifeOf(world, story)
  expect(events.filter(({ type }) => type === 'NotificationCreated' || type === 'NotificationSent')).toHaveLength(2)
  expect(await world.chats()).toHaveLength(1)
})

test('a worker that another one overtakes before its attempt makes no call', async () => {
  const story = await given('clinical')
  const [create] = await todosOf(world, story)
  if (create === undefined) throw new Error('the rule does not match')
  await workedOff(world, create)
  const [deliver] = await todosOf(world, story)
  if (deliver === undefined) throw new Error('no delivery is due')
  const store = interrupted(world.store, 'notification', async () => void (await workedOff(world, deliver)))
  expect(await workedOff(world, deliver, { ...world.deps, store })).toEqual({ kind: 'done' })
  const { events } = await lifeOf(world, story)
  expect(events.filter(({ type }) => type === 'NotificationAttemptStarted')).toHaveLength(1)
  expect(await world.chats()).toHaveLength(1)
})
