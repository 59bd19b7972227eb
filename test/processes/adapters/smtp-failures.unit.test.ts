import { expect, test } from 'vitest'
import { EgressError } from '../../../platform/outbound/egress-error.ts'
import { classifySmtpFailure } from '../../../processes/adapters/smtp-failures.ts'

const replied = (responseCode: number, command: string, response = String(responseCode)) =>
  Object.assign(new Error('refused'), { code: 'EENVELOPE', responseCode, command, response })
const broken = (code: string, originalCode?: string) => Object.assign(new Error('broken'), { code, originalCode })

test.each([
  [450, 'RCPT TO', 'provider_5xx'],
  [421, 'MAIL FROM', 'provider_5xx'],
  [454, 'AUTH PLAIN', 'provider_5xx'],
  [550, 'RCPT TO', 'invalid_recipient'],
  [551, 'RCPT TO', 'invalid_recipient'],
  [553, 'RCPT TO', 'invalid_recipient'],
  [501, 'RCPT TO', 'invalid_recipient'],
  [552, 'RCPT TO', 'provider_4xx'],
  [550, 'MAIL FROM', 'provider_4xx'],
  [550, 'DATA', 'provider_4xx'],
  [503, 'DATA', 'provider_4xx'],
  [530, 'MAIL FROM', 'provider_auth_failed'],
  [530, 'RCPT TO', 'provider_auth_failed'],
  [534, 'AUTH PLAIN', 'provider_auth_failed'],
  [535, 'AUTH LOGIN', 'provider_auth_failed'],
  [538, 'AUTH PLAIN', 'provider_auth_failed'],
  [538, 'MAIL FROM', 'provider_auth_failed'],
  [504, 'AUTH CRAM-MD5', 'provider_auth_failed'],
  [550, 'AUTH PLAIN', 'provider_auth_failed'],
  [432, 'AUTH PLAIN', 'provider_5xx'],
  [554, 'CONN', 'provider_4xx'],
])('%i to %s is %s', (status, command, errorCode) => {
  expect(classifySmtpFailure(replied(status, command), false)).toMatchObject({
    kind: 'failed',
    errorCode,
    isTransient: status < 500,
    response: { status, code: null },
  })
})

test.each([
  ['ETIMEDOUT', 'provider_timeout', true],
  ['EABORT', 'provider_timeout', true],
  ['ESOCKET', 'provider_5xx', true],
  ['ECONNECTION', 'provider_5xx', true],
  ['EDNS', 'provider_5xx', true],
  ['ETLS', 'provider_5xx', true],
  ['EPROTOCOL', 'provider_5xx', true],
  ['EAUTH', 'provider_auth_failed', false],
  ['EMESSAGE', 'provider_4xx', false],
  ['ESTREAM', 'provider_4xx', false],
])('%s without a reply is %s', (code, errorCode, isTransient) => {
  expect(classifySmtpFailure(broken(code), false)).toMatchObject({
    kind: 'failed',
    errorCode,
    isTransient,
    response: null,
  })
})

test.each([
  ['timeout', 'provider_timeout'],
  ['connect', 'provider_5xx'],
  ['dns', 'provider_5xx'],
  ['address_forbidden', 'provider_5xx'],
] as const)('a connection that ends with %s is %s', (code, errorCode) => {
  expect(classifySmtpFailure(new EgressError(code), false)).toMatchObject({ errorCode, isTransient: true })
})

test.each(['ETIMEDOUT', 'EABORT', 'ESOCKET', 'ECONNECTION', 'EPROTOCOL', 'anything'])(
  'after the whole message, %s is unknown',
  (code) => {
    expect(classifySmtpFailure(broken(code), true)).toMatchObject({ kind: 'unknown', errorCode: 'delivery_unknown' })
  },
)

test('after the whole message, only a reply to it is an answer', () => {
  expect(classifySmtpFailure(replied(452, 'DATA'), true)).toMatchObject({ kind: 'failed', isTransient: true })
  expect(classifySmtpFailure(replied(554, 'DATA'), true)).toMatchObject({ kind: 'failed', isTransient: false })
  // The start of a reply, cut off by the end of the connection.
  expect(classifySmtpFailure(replied(554, 'CONN'), true)).toMatchObject({ kind: 'unknown' })
})

test('a failure names the command and the codes, and nothing else of the reply', () => {
  const reply = '550 5.1.1 <a@patient.test>: unknown'
  expect(classifySmtpFailure(replied(550, 'RCPT TO', reply), false)).toEqual({
    kind: 'failed',
    isTransient: false,
    isUnclear: false,
    errorCode: 'invalid_recipient',
    errorDetail: 'RCPT TO was answered 550 5.1.1',
    retryAfterMs: 0,
    response: { status: 550, code: '5.1.1' },
  })
  const refused = broken('ESOCKET', 'ECONNREFUSED')
  expect(classifySmtpFailure(refused, false)).toMatchObject({
    errorDetail: 'the connection to the mail server broke (ECONNREFUSED)',
  })
  expect(classifySmtpFailure(broken('ESOCKET', '<a@patient.test>'), false)).toMatchObject({
    errorDetail: 'the connection to the mail server broke (ESOCKET)',
  })
})
