import { v7 } from 'uuid'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { loadConfiguration, type Environment } from '../../../platform/configuration/configuration.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { createChatSender } from '../../../processes/adapters/chat-sender.ts'
import { startOutsideServer, type Reply } from '../../support/process-world.ts'
import { openReceivers, type TestReceivers } from '../../support/receivers.ts'

let receivers: TestReceivers
const closing: (() => Promise<void>)[] = []
beforeAll(async () => {
  receivers = await openReceivers()
})
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  await receivers.clear()
})
afterAll(() => receivers.remove())

function senderTo(env: Environment) {
  const configuration = loadConfiguration(env)
  const egress = createEgress({ configuration })
  closing.push(() => egress.close())
  return createChatSender(egress, configuration, () => new Date('2026-03-01T10:00:00.000Z'))
}

async function senderToServer(answer: () => Reply | 'cut') {
  const server = await startOutsideServer(answer)
  closing.push(() => server.close())
  const sender = senderTo({ SLACK_API_URL: `${server.url}/api/`, SLACK_BOT_TOKEN: 'xoxb-secret' })
  return { sender, asked: server.asked }
}

const message = (changes: object = {}) => ({
  notificationId: v7(),
  channel: '#alerts',
  text: 'It is ready',
  ...changes,
})
const soon = () => AbortSignal.timeout(10_000)

test('a message is posted once, with the notification as its id, and its timestamp is the message id', async () => {
  const { notificationId, ...sent } = message({ text: 'Tom &amp; &lt;!channel&gt; ü 👩🏽‍⚕️' })
  const outcome = await senderTo(receivers.env).send({ notificationId, ...sent }, soon())
  const [received, ...others] = await receivers.messages()
  expect(others).toEqual([])
  expect(received).toEqual({
    ...sent,
    ts: expect.stringMatching(/^\d+\.\d{6}$/) as string,
    client_msg_id: notificationId,
  })
  expect(outcome).toEqual({ kind: 'sent', providerMessageId: received?.ts, response: { status: 200, code: null } })
})

test.each([
  ['channel_not_found', 'invalid_recipient', false],
  ['is_archived', 'invalid_recipient', false],
  ['not_in_channel', 'invalid_recipient', false],
  ['invalid_auth', 'provider_auth_failed', false],
  ['account_inactive', 'provider_auth_failed', false],
  ['token_revoked', 'provider_auth_failed', false],
  ['not_authed', 'provider_auth_failed', false],
  ['token_expired', 'provider_auth_failed', false],
  ['missing_scope', 'provider_auth_failed', false],
  ['org_login_required', 'provider_auth_failed', false],
  ['no_permission', 'provider_auth_failed', false],
  ['ekm_access_denied', 'provider_auth_failed', false],
  ['team_access_not_granted', 'provider_auth_failed', false],
  ['ratelimited', 'provider_429', true],
  ['rate_limited', 'provider_429', true],
  ['internal_error', 'provider_5xx', true],
  ['fatal_error', 'provider_5xx', true],
  ['service_unavailable', 'provider_5xx', true],
  ['request_timeout', 'provider_5xx', true],
  ['team_added_to_org', 'provider_5xx', true],
  ['msg_too_long', 'provider_4xx', false],
  ['restricted_action_read_only_channel', 'provider_4xx', false],
])('%s is %s', async (code, errorCode, isTransient) => {
  await receivers.chatFaults({ error: code })
  expect(await senderTo(receivers.env).send(message(), soon())).toEqual({
    kind: 'failed',
    isTransient,
    isUnclear: false,
    errorCode,
    errorDetail: `Slack answered ${code}`,
    retryAfterMs: 0,
    response: { status: 200, code },
  })
  expect(await receivers.messages()).toEqual([])
})

test.each(['a_code_of_tomorrow', 'constructor'])('%s, which Slack does not document, is unclear', async (code) => {
  await receivers.chatFaults({ error: code })
  const expected = { kind: 'failed', errorCode: 'provider_4xx', isTransient: false, isUnclear: true }
  expect(await senderTo(receivers.env).send(message(), soon())).toMatchObject(expected)
})

test.each([
  [429, 'provider_429', true],
  [500, 'provider_5xx', true],
  [503, 'provider_5xx', true],
  [401, 'provider_auth_failed', false],
  [404, 'provider_4xx', false],
])('status %i is %s', async (status, errorCode, isTransient) => {
  await receivers.chatFaults({ status })
  const expected = { kind: 'failed', isTransient, errorCode, response: { status, code: null } }
  expect(await senderTo(receivers.env).send(message(), soon())).toMatchObject(expected)
})

test('Retry-After of a rate limit counts, with either form of the answer', async () => {
  await receivers.chatFaults({ status: 429, retry_after: 7 }, { error: 'ratelimited', retry_after: 9 })
  const sender = senderTo(receivers.env)
  expect(await sender.send(message(), soon())).toMatchObject({ errorCode: 'provider_429', retryAfterMs: 7_000 })
  expect(await sender.send(message(), soon())).toMatchObject({ errorCode: 'provider_429', retryAfterMs: 9_000 })
})

test.each([
  ['dropped', { drop: true }],
  ['late', { delay_ms: 5_000 }],
])('a message whose answer is %s may have been posted', async (_case, fault) => {
  await receivers.chatFaults(fault)
  const outcome = await senderTo(receivers.env).send(message(), AbortSignal.timeout(500))
  expect(outcome).toMatchObject({ kind: 'unknown', errorCode: 'delivery_unknown' })
  expect(await receivers.messages()).toHaveLength(1)
})

test('a slow answer is awaited', async () => {
  await receivers.chatFaults({ delay_ms: 200 })
  expect(await senderTo(receivers.env).send(message(), soon())).toMatchObject({ kind: 'sent' })
})

test.each<[string, Reply]>([
  ['a page of a proxy', { status: 200, text: '<html>sign in</html>' }],
  ['a text', { status: 200, body: 'ok' }],
  ['null', { status: 200, text: 'null' }],
  ['no ok', { status: 200, body: {} }],
  ['an answer above the limit', { status: 200, body: { ok: true, ts: '1.000000', more: 'x'.repeat(300_000) } }],
])('%s leaves the delivery unknown', async (_case, reply) => {
  const { sender } = await senderToServer(() => reply)
  expect(await sender.send(message(), soon())).toMatchObject({ kind: 'unknown' })
})

test('a redirect is not followed', async () => {
  const { sender, asked } = await senderToServer(() => ({ status: 307, headers: { location: '/elsewhere' } }))
  expect(await sender.send(message(), soon())).toMatchObject({ errorCode: 'provider_4xx', response: { status: 307 } })
  expect(asked).toHaveLength(1)
})

test('a server that is away is transient, and then opens the circuit', async () => {
  const sender = senderTo({ SLACK_API_URL: 'http://127.0.0.1:9/api/', SLACK_BOT_TOKEN: 'x' })
  for (let attempt = 0; attempt < 5; attempt++) {
    const expected = { kind: 'failed', isTransient: true, errorCode: 'provider_5xx', response: null }
    expect(await sender.send(message(), soon())).toMatchObject(expected)
  }
  expect(sender.openForMs()).toBeGreaterThan(0)
  expect(await sender.send(message(), soon())).toMatchObject({ kind: 'not-sent' })
})

test('one attempt is one call, whatever it ends with', async () => {
  const { sender, asked } = await senderToServer(() => ({ status: 500 }))
  await sender.send(message(), soon())
  expect(asked).toHaveLength(1)
})

test.each(['', 'a\nb', '#alerts\0', 'x'.repeat(256)])('the channel %j is refused without a call', async (channel) => {
  const { sender, asked } = await senderToServer(() => ({ status: 200 }))
  expect(await sender.send(message({ channel }), soon())).toMatchObject({ errorCode: 'invalid_recipient' })
  expect(asked).toEqual([])
})

test('Slack is reachable if it accepts the token; no message is posted', async () => {
  const reachable = async (env: Environment) => senderTo(env).isReachable(soon())
  expect(await reachable(receivers.env)).toBe(true)
  expect(await reachable({ ...receivers.env, SLACK_BOT_TOKEN: 'xoxb-wrong' })).toBe(false)
  expect(await reachable({ ...receivers.env, SLACK_API_URL: 'http://127.0.0.1:9/api/' })).toBe(false)
  expect(await receivers.messages()).toEqual([])
})

test('without Slack messages fail with the reason', async () => {
  expect(await senderTo({}).send(message(), soon())).toMatchObject({
    errorCode: 'provider_auth_failed',
    errorDetail: 'no provider is configured (SLACK_API_URL and SLACK_BOT_TOKEN)',
  })
})
