import PostalMime from 'postal-mime'
import { v7 } from 'uuid'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { createMailSender } from '../../../processes/adapters/mail-sender.ts'
import { startOutsideServer, type Asked, type Reply } from '../../support/process-world.ts'

const closing: (() => Promise<void>)[] = []
beforeEach(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret-of-ses')
})
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const close of closing.splice(0)) await close()
})

/** The sender with an API of SES on loopback. */
async function senderTo(answer: (asked: Asked) => Reply | 'cut' | Promise<Reply | 'cut'>) {
  const server = await startOutsideServer(answer)
  const configuration = loadConfiguration({
    MAIL_TRANSPORT: 'ses',
    SES_REGION: 'eu-west-1',
    SES_ENDPOINT: server.url,
    SMTP_FROM: 'The Clinic <no-reply@clinic.test>',
  })
  const egress = createEgress({ configuration })
  const sender = createMailSender(egress, configuration)
  closing.push(
    () => sender.close(),
    () => egress.close(),
    () => server.close(),
  )
  return { sender, asked: server.asked }
}

const mail = {
  notificationId: v7(),
  to: 'a@patient.test',
  subject: 'Your result',
  html: '<p>It is ready</p>',
  text: 'It is ready',
  headers: {},
}
const soon = () => AbortSignal.timeout(10_000)
const failure = (status: number, name: string): Reply => ({
  status,
  headers: { 'x-amzn-errortype': name },
  body: { message: 'a@patient.test is refused' },
})

test('a mail is one signed call, and its answer contains the message id', async () => {
  const { sender, asked } = await senderTo(() => ({ status: 200, body: { MessageId: '0102-ses' } }))
  expect(await sender.send(mail, soon())).toEqual({
    kind: 'sent',
    providerMessageId: '0102-ses',
    response: { status: 200, code: null },
  })
  expect(sender.providerName).toBe('ses')
  expect(asked).toEqual(['POST /v2/email/outbound-emails'])
})

test('SES gets one recipient, the mail with both parts and its headers, and the id of the notification', async () => {
  const bodies: string[] = []
  const tokens: string[] = []
  const { sender } = await senderTo(({ body, token }) => {
    bodies.push(body)
    tokens.push(token)
    return { status: 200, body: { MessageId: '0102-ses' } }
  })
  const link = `<https://clinic.test/v1/notifications/unsubscribe?token=${'x'.repeat(600)}>`
  const headers = { 'List-Unsubscribe': link, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
  const unusual = { subject: 'Ärzte 👩🏽‍⚕️', html: '<p>Für Sie</p>', text: 'Für Sie', headers }
  await sender.send({ ...mail, ...unusual }, soon())

  expect(tokens).toEqual([expect.stringMatching(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/ses\//)])
  expect(bodies).toHaveLength(1)
  const { Content, ...call } = JSON.parse(bodies[0] ?? '')
  expect(call).toEqual({
    FromEmailAddress: 'The Clinic <no-reply@clinic.test>',
    Destination: { ToAddresses: ['a@patient.test'] },
    EmailTags: [{ Name: 'notification', Value: mail.notificationId }],
  })
  const raw = Buffer.from(Content.Raw.Data, 'base64')
  const { subject, html, text, from, to, headers: received, ...others } = await PostalMime.parse(raw)
  expect({ subject, html: html?.trim(), text: text?.trim() }).toEqual({
    subject: unusual.subject,
    html: unusual.html,
    text: unusual.text,
  })
  expect([from, to]).toEqual([
    { name: 'The Clinic', address: 'no-reply@clinic.test' },
    [{ name: '', address: 'a@patient.test' }],
  ])
  expect([others.cc, others.bcc, others.attachments]).toEqual([undefined, undefined, []])
  expect(Object.fromEntries(received.map(({ key, value }) => [key, value]))).toEqual({
    from: 'The Clinic <no-reply@clinic.test>',
    to: 'a@patient.test',
    subject: expect.any(String),
    'message-id': `<${mail.notificationId}@clinic.test>`,
    date: expect.any(String),
    'mime-version': '1.0',
    'content-type': expect.stringMatching(/^multipart\/alternative;/),
    'auto-submitted': 'auto-generated',
    'list-unsubscribe': link,
    'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
  })
})

test('no line of a mail has more than 998 octets, and its head has printable ASCII only', async () => {
  const bodies: string[] = []
  const { sender } = await senderTo(({ body }) => {
    bodies.push(body)
    return { status: 200, body: { MessageId: '0102-ses' } }
  })
  const long = 'x'.repeat(998)
  const headers = { 'List-Unsubscribe': `<https://clinic.test/${'x'.repeat(950)}>` }
  const texts = { html: `<p>${'ü'.repeat(20_000)}</p>`, text: 'x'.repeat(20_000), headers }
  for (const subject of [
    long,
    `=?utf-8?Q?${long.slice(12)}?=`,
    '字'.repeat(998),
    `a ${long.slice(2)}`,
    '😀'.repeat(499),
  ])
    await sender.send({ ...mail, ...texts, subject }, soon())

  expect(bodies).toHaveLength(5)
  for (const body of bodies) {
    const raw = Buffer.from(JSON.parse(body).Content.Raw.Data, 'base64').toString('latin1')
    expect(Math.max(...raw.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998)
    expect(raw.slice(0, raw.indexOf('\r\n\r\n'))).toMatch(/^[\x20-\x7e\r\n]+$/)
    expect(raw.match(/^subject:/gim)).toHaveLength(1)
  }
})

test.each([
  [400, 'MessageRejected', 'provider_4xx', false],
  [400, 'MailFromDomainNotVerifiedException', 'provider_4xx', false],
  [400, 'LimitExceededException', 'provider_429', true],
  [429, 'TooManyRequestsException', 'provider_429', true],
  [403, 'SignatureDoesNotMatch', 'provider_auth_failed', false],
  [403, 'AccessDeniedException', 'provider_auth_failed', false],
  [500, 'InternalServiceErrorException', 'provider_5xx', true],
  [503, 'ServiceUnavailable', 'provider_5xx', true],
])('%i %s is %s', async (status, name, errorCode, isTransient) => {
  const { sender, asked } = await senderTo(() => failure(status, name))
  const outcome = await sender.send(mail, soon())
  expect(outcome).toMatchObject({ kind: 'failed', errorCode, isTransient, response: { status, code: name } })
  expect(JSON.stringify(outcome)).not.toMatch(/patient/)
  expect(asked).toHaveLength(1)
})

test('without an answer the delivery is unknown', async () => {
  const { sender } = await senderTo(() => 'cut')
  expect(await sender.send(mail, soon())).toMatchObject({ kind: 'unknown', errorCode: 'delivery_unknown' })
  const silent = await senderTo(() => new Promise(() => undefined))
  expect(await silent.sender.send(mail, AbortSignal.timeout(300))).toMatchObject({ kind: 'unknown' })
})

test('credentials that the SDK does not find fail permanently, and nothing is sent', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', undefined)
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', undefined)
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
  const { sender, asked } = await senderTo(() => ({ status: 200 }))
  expect(await sender.send(mail, soon())).toMatchObject({ kind: 'failed', errorCode: 'provider_auth_failed' })
  expect(asked).toEqual([])
})

test('any answer shows that SES is reachable', async () => {
  const { sender } = await senderTo(() => ({ status: 404 }))
  expect(await sender.isReachable(soon())).toBe(true)
  const away = await senderTo(() => 'cut')
  expect(await away.sender.isReachable(soon())).toBe(false)
})
