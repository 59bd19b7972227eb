import { v7 } from 'uuid'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { compileTemplate } from '../../../platform/templates/rendering.ts'
import { loadConfiguration, type Environment } from '../../../platform/configuration/configuration.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { createMailSender } from '../../../processes/adapters/mail-sender.ts'
import { startTlsFront } from '../../support/tls-front.ts'
import type { NotificationSender, OutgoingMail } from '../../../processes/adapters/notification-sender.ts'
import { openReceivers, type TestReceivers } from '../../support/receivers.ts'

interface MailServer {
  readonly env: Environment
  readonly recipient: string
  /** The server refuses it; undefined if it takes every address. */
  readonly unknownRecipient: string | undefined
}

/** A real server, if there is one (docs/real-servers.md). Its certificate comes by NODE_EXTRA_CA_CERTS. */
const { SMTP_TEST_URL = '', SMTP_TEST_RECIPIENT = '', SMTP_TEST_UNKNOWN_RECIPIENT = '' } = process.env
const realServer: MailServer = {
  env: { SMTP_URL: SMTP_TEST_URL, SMTP_FROM: 'The Clinic <no-reply@clinic.test>' },
  recipient: SMTP_TEST_RECIPIENT,
  unknownRecipient: SMTP_TEST_UNKNOWN_RECIPIENT,
}

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

const standIn = (): MailServer => ({ env: receivers.env, recipient: 'a@patient.test', unknownRecipient: undefined })

function senderTo(env: Environment, resolve?: () => Promise<{ address: string; family: number }[]>) {
  const configuration = loadConfiguration(env)
  const egress = createEgress({ configuration, ...(resolve === undefined ? {} : { resolve }) })
  const sender = createMailSender(egress, configuration)
  closing.push(
    () => sender.close(),
    () => egress.close(),
  )
  return sender
}

const mailTo = (to: string, changes: Partial<OutgoingMail> = {}): OutgoingMail => ({
  notificationId: v7(),
  to,
  subject: 'Your result',
  html: '<p>It is ready</p>',
  text: 'It is ready',
  headers: {},
  ...changes,
})

const soon = () => AbortSignal.timeout(10_000)

describe.each([
  { name: 'the embedded mail box', server: standIn },
  ...(SMTP_TEST_URL === '' ? [] : [{ name: 'a real server', server: () => realServer }]),
])('at $name', ({ server }) => {
  test('mails are sent over few connections, each with the Message-ID of its notification', async () => {
    const { env, recipient } = server()
    const sender = senderTo(env)
    const mails = Array.from({ length: 20 }, () => mailTo(recipient))
    const outcomes = await Promise.all(mails.map((mail) => sender.send(mail, soon())))
    expect(outcomes).toEqual(
      mails.map(({ notificationId }) => ({
        kind: 'sent',
        providerMessageId: `<${notificationId}@clinic.test>`,
        response: { status: 250, code: expect.stringMatching(/^2\.\d\.\d$/) },
      })),
    )
  })

  test('long and unusual contents pass', async () => {
    const { env, recipient } = server()
    const subject = `Ärzte 👩🏽‍⚕️ ${'long '.repeat(60)}`
    const html = `<p>.</p>\n.\n..\n<b>${'ü'.repeat(50_000)}</b>`
    const mail = mailTo(recipient, { subject, html, text: `.\r\n.\n${'x'.repeat(100_000)}` })
    expect(await senderTo(env).send(mail, soon())).toMatchObject({ kind: 'sent' })
  })

  test('a wrong password fails permanently and is not reachable, the right one is reachable', async () => {
    const { env } = server()
    const wrong = new URL(env['SMTP_URL'] ?? '')
    wrong.password = 'wrong'
    const refused = senderTo({ ...env, SMTP_URL: wrong.toString() })
    expect(await refused.send(mailTo('a@patient.test'), soon())).toMatchObject({
      kind: 'failed',
      isTransient: false,
      errorCode: 'provider_auth_failed',
      response: { status: 535 },
    })
    expect([await refused.isReachable(soon()), await senderTo(env).isReachable(soon())]).toEqual([false, true])
  })

  test('an unknown recipient fails permanently, and the next mail is sent', async () => {
    const { env, recipient, unknownRecipient } = server()
    const sender = senderTo(env)
    if (unknownRecipient === undefined) await receivers.mailFaults({ stage: 'rcpt', reply: '550 No such user' })
    const unknown = mailTo(unknownRecipient ?? recipient)
    expect(await sender.send(unknown, soon())).toMatchObject({
      kind: 'failed',
      isTransient: false,
      errorCode: 'invalid_recipient',
      response: { status: 550 },
    })
    expect(await sender.send(mailTo(recipient), soon())).toMatchObject({ kind: 'sent' })
  })

  test('a call that has already ended sends nothing', async () => {
    const { env, recipient } = server()
    expect(await senderTo(env).send(mailTo(recipient), AbortSignal.abort())).toMatchObject({ kind: 'failed' })
  })
})

const transient = ['failed', true] as const
const permanent = ['failed', false] as const

/** Each stage with each fault, and the number of mails that the server keeps. */
test.each([
  ['greeting', { reply: 421 }, [...transient, 'provider_5xx'], 0],
  ['greeting', { reply: 554 }, [...permanent, 'provider_4xx'], 0],
  ['greeting', { drop: true }, [...transient, 'provider_5xx'], 0],
  ['greeting', { hang: true }, [...transient, 'provider_timeout'], 0],
  ['auth', { reply: 454 }, [...transient, 'provider_5xx'], 0],
  ['auth', { reply: 530 }, [...permanent, 'provider_auth_failed'], 0],
  ['auth', { reply: 535 }, [...permanent, 'provider_auth_failed'], 0],
  ['auth', { drop: true }, [...transient, 'provider_5xx'], 0],
  ['auth', { hang: true }, [...transient, 'provider_timeout'], 0],
  ['mail', { reply: 451 }, [...transient, 'provider_5xx'], 0],
  ['mail', { reply: 530 }, [...permanent, 'provider_auth_failed'], 0],
  ['mail', { reply: 550 }, [...permanent, 'provider_4xx'], 0],
  ['mail', { drop: true }, [...transient, 'provider_5xx'], 0],
  ['mail', { hang: true }, [...transient, 'provider_timeout'], 0],
  ['rcpt', { reply: 450 }, [...transient, 'provider_5xx'], 0],
  ['rcpt', { reply: '452 4.2.2 Mailbox full' }, [...transient, 'provider_5xx'], 0],
  ['rcpt', { reply: 501 }, [...permanent, 'invalid_recipient'], 0],
  ['rcpt', { reply: 550 }, [...permanent, 'invalid_recipient'], 0],
  ['rcpt', { reply: 551 }, [...permanent, 'invalid_recipient'], 0],
  ['rcpt', { reply: 553 }, [...permanent, 'invalid_recipient'], 0],
  ['rcpt', { reply: 554 }, [...permanent, 'provider_4xx'], 0],
  ['rcpt', { drop: true }, [...transient, 'provider_5xx'], 0],
  ['rcpt', { hang: true }, [...transient, 'provider_timeout'], 0],
  ['data', { reply: 451 }, [...transient, 'provider_5xx'], 0],
  ['data', { reply: 554 }, [...permanent, 'provider_4xx'], 0],
  ['data', { drop: true }, [...transient, 'provider_5xx'], 0],
  ['data', { hang: true }, [...transient, 'provider_timeout'], 0],
  ['dot', { reply: 421 }, [...transient, 'provider_5xx'], 0],
  ['dot', { reply: 452 }, [...transient, 'provider_5xx'], 0],
  ['dot', { reply: 550 }, [...permanent, 'provider_4xx'], 0],
  ['dot', { drop: true }, ['unknown', undefined, 'delivery_unknown'], 1],
  ['dot', { hang: true }, ['unknown', undefined, 'delivery_unknown'], 1],
] as const)('at %s, %o is %j', async (stage, fault, [kind, isTransient, errorCode], kept) => {
  await receivers.mailFaults({ stage, ...fault })
  const outcome = await senderTo(receivers.env).send(mailTo('a@patient.test'), AbortSignal.timeout(500))
  expect(outcome).toMatchObject({ kind, errorCode, ...(isTransient === undefined ? {} : { isTransient }) })
  expect(await receivers.mails()).toHaveLength(kept)
})

test('the answer to a slow message is awaited', async () => {
  await receivers.mailFaults({ stage: 'dot', delay_ms: 200 })
  expect(await senderTo(receivers.env).send(mailTo('a@patient.test'), soon())).toMatchObject({ kind: 'sent' })
})

test.each([
  ['no server listens', 'smtp://127.0.0.1:9', undefined],
  ['the name does not resolve', 'smtp://mail.test:25', () => Promise.reject(new Error('ENOTFOUND'))],
  [
    'the name leads to a metadata service',
    'smtp://mail.test:25',
    async () => [{ address: '169.254.169.254', family: 4 }],
  ],
])('if %s, the failure is transient', async (_case, SMTP_URL, resolve) => {
  const sender = senderTo({ ...receivers.env, SMTP_URL }, resolve)
  expect(await sender.send(mailTo('a@patient.test'), soon())).toMatchObject({
    kind: 'failed',
    isTransient: true,
    errorCode: 'provider_5xx',
    response: null,
  })
})

test('a password leaves the machine by TLS only', async () => {
  // The mail box offers no STARTTLS.
  const url = receivers.smtpUrl.replace('127.0.0.1', 'mail.test')
  const sender = senderTo({ ...receivers.env, SMTP_URL: url }, async () => [{ address: '127.0.0.1', family: 4 }])
  expect(await sender.send(mailTo('a@patient.test'), soon())).toMatchObject({ kind: 'failed' })
  expect(await receivers.mails()).toEqual([])
})

test('several silent or closed connections open the circuit, which sends nothing', async () => {
  const sender = senderTo(receivers.env)
  await receivers.mailFaults({ stage: 'greeting', drop: true, times: 5 })
  for (let attempt = 0; attempt < 5; attempt++) await sender.send(mailTo('a@patient.test'), soon())
  expect(sender.openForMs()).toBeGreaterThan(0)
  expect(await sender.send(mailTo('a@patient.test'), soon())).toEqual({
    kind: 'not-sent',
    afterMs: expect.any(Number) as number,
  })
  expect(await receivers.mails()).toEqual([])
})

test('refusals of the server open no circuit', async () => {
  const sender = senderTo(receivers.env)
  await receivers.mailFaults({ stage: 'rcpt', reply: 451, times: 6 })
  for (let attempt = 0; attempt < 6; attempt++) await sender.send(mailTo('a@patient.test'), soon())
  expect(sender.openForMs()).toBe(0)
})

test('a mail has one recipient, its headers, and both parts', async () => {
  const link = `<https://clinic.test/v1/notifications/unsubscribe?token=${'x'.repeat(600)}>`
  const headers = { 'List-Unsubscribe': link, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
  const mail = mailTo('a@patient.test', { subject: 'Ärzte 👩🏽‍⚕️', html: '<p>Für Sie</p>', text: 'Für Sie', headers })
  await senderTo(receivers.env).send(mail, soon())
  const [received, ...others] = await receivers.mails()
  expect(others).toEqual([])
  expect(received).toMatchObject({ to: 'a@patient.test', subject: 'Ärzte 👩🏽‍⚕️' })
  expect([received?.html?.trim(), received?.text.trim()]).toEqual(['<p>Für Sie</p>', 'Für Sie'])
  expect(received?.headers).toMatchObject({
    from: 'The Clinic <no-reply@clinic.test>',
    to: 'a@patient.test',
    'message-id': `<${mail.notificationId}@clinic.test>`,
    'auto-submitted': 'auto-generated',
    'list-unsubscribe': link,
    'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
  })
  expect(Object.keys(received?.headers ?? {})).not.toContain('x-mailer')
})

/** `=?utf-8?Q?…?=`, which a reader decodes, with a line feed and a header in it. */
const encoded = '=?utf-8?Q?Hello=0D=0ABcc:_b@patient.test?='

test.each([
  ['an encoded word', encoded],
  ['an encoded word in base64', '=?UTF-8?B?SGVsbG8NCkJjYzogYg==?='],
  ['an encoded word between others', `Your result ${encoded} is ready`],
  ['an encoded word behind a letter', `x${encoded}`],
  ['an encoded word with a blank', '=?utf-8?Q?a b?='],
  ['an encoded word beside another script', `${encoded} Ärzte`],
  ['an encoded word in an unknown character set', '=?x-none?Q?a?='],
  ['the beginning of an encoded word', 'is 1 =? 2'],
  ['two encoded words', `${encoded} ${encoded}`],
  ['a word of 998 characters', 'x'.repeat(998)],
  ['a word of 998 characters that looks encoded', `=?utf-8?Q?${'x'.repeat(986)}?=`],
  ['998 characters of another script', '字'.repeat(998)],
  ['many words', 'word '.repeat(199).trim()],
  ['blanks', `  a   b ${' '.repeat(200)} c  `],
  ['quotation marks', 'A "quoted" <subject>, (with) \\ marks; a@b.example'],
])('a subject with %s arrives as it was given', async (_case, subject) => {
  await senderTo(receivers.env).send(mailTo('a@patient.test', { subject }), soon())
  expect((await receivers.mails()).map((mail) => mail.subject)).toEqual([subject])
})

test('an encoded word that several variables form arrives as a text', async () => {
  const template = { channel: 'email', subject: '{{a}}{{b}} {{c}}?=', bodyTemplate: 'x' } as const
  const { render } = await compileTemplate(template)
  const { subject } = await render({ a: '=', b: '?utf-8?Q?Hello=0D=0ABcc:', c: '=20b@patient.test' })
  await senderTo(receivers.env).send(mailTo('a@patient.test', { subject: subject ?? '' }), soon())
  const received = await receivers.mails()
  expect(received.map((mail) => mail.subject)).toEqual(['=?utf-8?Q?Hello=0D=0ABcc: =20b@patient.test?='])
  expect(Object.keys(received[0]?.headers ?? {})).not.toContain('bcc')
})

test.each([
  ['two recipients', { to: 'a@patient.test, b@patient.test' }, 'invalid_recipient'],
  ['a display name', { to: 'Somebody <a@patient.test>' }, 'invalid_recipient'],
  ['a display name that looks like an address', { to: '"b@patient.test" <a@patient.test>' }, 'invalid_recipient'],
  ['a group', { to: 'team:a@patient.test,b@patient.test;' }, 'invalid_recipient'],
  ['a command after the address', { to: 'a@patient.test>\r\nRCPT TO:<b@patient.test' }, 'invalid_recipient'],
  ['a route', { to: 'a%patient.test@relay.test' }, 'invalid_recipient'],
  ['a header in the subject', { subject: 'Hello\r\nBcc: b@patient.test' }, 'provider_4xx'],
  ['a line separator in the subject', { subject: 'Hello\u2028Bcc: b@patient.test' }, 'provider_4xx'],
  ['a null in the subject', { subject: 'Hello\0' }, 'provider_4xx'],
  ['a second recipient by a header', { headers: { Bcc: 'b@patient.test' } }, 'provider_4xx'],
  ['another sender by a header', { headers: { From: 'b@patient.test' } }, 'provider_4xx'],
  [
    'a header above the length of a line',
    { headers: { 'List-Unsubscribe': `<https://x/${'x'.repeat(998)}>` } },
    'provider_4xx',
  ],
  ['a header in a header', { headers: { 'List-Unsubscribe': '<https://x>\r\nBcc: b@patient.test' } }, 'provider_4xx'],
  ['a header in the name of one', { headers: { 'X-A: b\r\nBcc': 'b@patient.test' } }, 'provider_4xx'],
])('%s is refused before a connection is opened', async (_case, changes, errorCode) => {
  await receivers.mailFaults({ stage: 'greeting', hang: true })
  const outcome = await senderTo(receivers.env).send(mailTo('a@patient.test', changes), AbortSignal.timeout(2_000))
  expect(outcome).toMatchObject({ kind: 'failed', isTransient: false, errorCode, response: null })
  expect(JSON.stringify(outcome)).not.toMatch(/patient/)
})

test.each([
  ['a file', { html: { path: '/etc/hostname' }, text: { path: '/etc/hostname' } }],
  ['an address', { html: { href: 'http://127.0.0.1:9/' } }],
])('%s as content is never read', async (_case, content) => {
  const mail = Object.assign(mailTo('a@patient.test'), content)
  expect(await senderTo(receivers.env).send(mail, soon())).toMatchObject({ kind: 'failed', isTransient: false })
  expect(await receivers.mails()).toEqual([])
})

test('what the server says about a recipient is in no outcome', async () => {
  await receivers.mailFaults({ stage: 'rcpt', reply: '550 <a@patient.test> is unknown here' })
  const outcome = await senderTo(receivers.env).send(mailTo('a@patient.test'), soon())
  expect(JSON.stringify(outcome)).not.toMatch(/patient|unknown here/)
})

test('without a mail server mails fail with the reason', async () => {
  const sender: NotificationSender<OutgoingMail> = senderTo({})
  expect(await sender.send(mailTo('a@patient.test'), soon())).toMatchObject({
    errorCode: 'provider_auth_failed',
    errorDetail: 'no provider is configured (SMTP_URL and SMTP_FROM)',
  })
})

test('an untrusted certificate of the mail server is named with its variable and what to set', async () => {
  const front = await startTlsFront('http://127.0.0.1:1')
  const lines: unknown[] = []
  const log = (fields: unknown): void => void lines.push(fields)
  const configuration = loadConfiguration({
    SMTP_URL: front.url.replace('https:', 'smtps:').replace(/\/$/, ''),
    SMTP_FROM: 'clinic@clinic.test',
  })
  const egress = createEgress({ configuration, logger: { debug: log, info: log, warn: log, error: log } })
  const sender = createMailSender(egress, configuration)
  try {
    expect(await sender.isReachable(new AbortController().signal)).toBe(false)
    expect(lines).toEqual([
      {
        component: 'egress',
        reason: expect.stringMatching(/^the certificate of the server of SMTP_URL is not trusted/),
      },
    ])
  } finally {
    await sender.close()
    await egress.close()
    await front.close()
  }
})
