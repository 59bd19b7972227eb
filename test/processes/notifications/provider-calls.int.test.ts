import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { notificationsProcess } from '../../../processes/notifications/notifications.process.ts'
import { workOff as runOff } from '../../support/process-world.ts'
import { chatting, delivered, mailing } from './given-messages.ts'
import { lifeOf, openNotificationsWorld, todosOf, workedOff, type NotificationsWorld } from './notifications-world.ts'

let world: NotificationsWorld
beforeAll(async () => {
  world = await openNotificationsWorld()
})
beforeEach(() => world.reset())
afterAll(() => world.close())

describe('rules 7 and 8', () => {
  test('a failure of the provider for now is tried again on the schedule, and the mail is sent once', async () => {
    const { story } = await mailing(world)
    await world.failing('mail', { stage: 'rcpt', reply: 451, times: 2 })
    const began = world.now().getTime()
    const { state, types } = await delivered(world, story)
    expect(state).toMatchObject({ status: 'sent', attempts: 3 })
    expect(types.filter((type) => type === 'NotificationRetryScheduled')).toHaveLength(2)
    expect(world.now().getTime() - began).toBe(6_000)
    expect(await world.mails()).toHaveLength(1)
  })

  test('five failures for now end the notification', async () => {
    const { story } = await mailing(world)
    await world.failing('mail', { stage: 'mail', reply: 451, times: 9 })
    const { state, last } = await delivered(world, story)
    expect(state).toMatchObject({ status: 'failed', attempts: 5 })
    expect(last?.data).toMatchObject({ errorCode: 'provider_5xx', finalAttempt: true })
  })

  test('a refused recipient ends the notification at once', async () => {
    const { story } = await mailing(world)
    await world.failing('mail', { stage: 'rcpt', reply: 550 })
    const { state, last } = await delivered(world, story)
    expect(state).toMatchObject({ status: 'failed', attempts: 1 })
    expect(last?.data).toMatchObject({ errorCode: 'invalid_recipient', finalAttempt: false })
  })

  test('a lost answer after the message is unknown', async () => {
    const story = await chatting(world)
    await world.failing('chat', { drop: true })
    const { state, last } = await delivered(world, story)
    expect(state).toMatchObject({ status: 'failed', attempts: 1 })
    expect(last?.data).toMatchObject({ errorCode: 'delivery_unknown' })
    expect(await world.chats()).toHaveLength(1)
  })

  test('the provider is left alone for as long as it asks', async () => {
    const story = await chatting(world)
    await world.failing('chat', { status: 429, error: 'ratelimited', retry_after: 30 })
    const began = world.now().getTime()
    expect((await delivered(world, story)).state).toMatchObject({ status: 'sent', attempts: 2 })
    expect(world.now().getTime() - began).toBe(30_000)
  })

  test('a stop of the worker during the call loses no outcome', async () => {
    const story = await chatting(world)
    const [row] = await todosOf(world, story)
    if (row === undefined) throw new Error('nothing is due')
    const stopping = new AbortController()
    const { chats } = world.otherDeps
    const send: typeof chats.send = async (message, signal) => {
      const outcome = await chats.send(message, signal)
      stopping.abort(new Error('stop'))
      return outcome
    }
    const deps = { ...world.otherDeps, chats: { ...chats, send } }
    await runOff({ now: world.now, deps }, notificationsProcess, row, { signal: stopping.signal })
    expect((await lifeOf(world, story)).state).toMatchObject({ status: 'sent', attempts: 1 })
  })

  test('nothing is planned while the circuit of the provider is open', async () => {
    const story = await chatting(world)
    const [row] = await todosOf(world, story)
    if (row === undefined) throw new Error('nothing is due')
    const deps = { ...world.otherDeps, chats: { ...world.otherDeps.chats, openForMs: () => 700 } }
    expect(await workedOff(world, row, deps)).toMatchObject({ kind: 'retry', after: 700, reason: 'circuit_open' })
    expect((await lifeOf(world, story)).state).toMatchObject({ status: 'pending', attempts: 0 })
  })

  test('what an attempt asked has no address in it', async () => {
    const { story } = await mailing(world, { phi: true })
    const { attempts } = await delivered(world, story)
    expect(attempts).toMatchObject([
      { request: { channel: 'email', recipientType: 'user', locale: 'en-GB', templateVersion: 1 } },
    ])
  })
})
