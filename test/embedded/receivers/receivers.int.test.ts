import { connect } from 'node:net'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { KeptRecords } from '../../../embedded/receivers/kept-records.ts'
import { startReceivers } from '../../../embedded/receivers/start-receivers.ts'
import { controlSecret, openReceivers, type TestReceivers } from '../../support/receivers.ts'

let receivers: TestReceivers
beforeAll(async () => {
  receivers = await openReceivers()
})
afterEach(() => receivers.clear())
afterAll(() => receivers.remove())

interface SentMail {
  readonly subject?: string
  readonly html?: string
  readonly text?: string
}

async function deliver({ subject = 'Hello', ...parts }: SentMail, url = receivers.smtpUrl): Promise<void> {
  await createTransport(url).sendMail({ from: 'no-reply@clinic.test', to: 'a@patient.test', subject, ...parts })
}

async function get(url: string): Promise<{ status: number; text: string; headers: Headers }> {
  const answer = await fetch(url, { redirect: 'manual' })
  return { status: answer.status, text: await answer.text(), headers: answer.headers }
}

async function post(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body), headers })
  return { status: answer.status, body: await answer.json() }
}

test('mails need the password', async () => {
  const wrong = receivers.smtpUrl.replace(/:[^:@]+@/, ':wrong@')
  await expect(deliver({ text: 'x' }, wrong)).rejects.toMatchObject({ responseCode: 535 })
  await expect(deliver({ text: 'x' }, wrong.replace(/\/\/.*@/, '//'))).rejects.toMatchObject({ responseCode: 530 })
  expect(await receivers.mails()).toEqual([])
})

test.each(['/email', '/', '//', '/mails/1', '/mails/1/html', '/control/faults'])(
  'without the secret in its address, %s is as if it did not exist',
  async (path) => {
    await deliver({ html: '<p>secret</p>' })
    const { mailboxUrl, chatUrl, port } = receivers
    for (const url of [mailboxUrl.replace('read-secret', 'guess'), chatUrl.replace('read-secret', 'guess')])
      expect(await get(`${url}${path}`)).toMatchObject({ status: 404, text: '{"error":"not found"}' })
    expect((await get(`http://127.0.0.1:${port}${path}`)).status).toBe(404)
  },
)

describe('the remote controls', () => {
  test('need their own secret', async () => {
    for (const url of [receivers.mailboxUrl, receivers.chatUrl]) {
      expect(await post(`${url}/control/faults`, [])).toEqual({ status: 401, body: { error: 'unauthorized' } })
      expect((await post(`${url}/control/faults`, [], { 'x-control-secret': 'wrong' })).status).toBe(401)
    }
  })

  test.each([
    ['mail', {}, 'the body must be array'],
    ['mail', [{ stage: 'rcpt' }], "/0 must have required property 'reply'"],
    ['mail', [{ stage: 'quit', drop: true }], '/0/stage must be equal to one of the allowed values'],
    ['mail', [{ stage: 'rcpt', reply: 250 }], '/0/reply must be >= 400'],
    ['mail', [{ stage: 'rcpt', drop: true, code: 1 }], '/0 must NOT have additional properties: code'],
    ['chat', [{ times: 1 }], "/0 must have required property 'status'"],
    ['chat', [{ status: 99 }], '/0/status must be >= 200'],
  ])('refuse a wrong list for %s: %j', async (box, faults, error) => {
    const url = box === 'mail' ? receivers.mailboxUrl : receivers.chatUrl
    const headers = { 'x-control-secret': controlSecret }
    const refused = await post(`${url}/control/faults`, faults, headers)
    expect(refused).toEqual({ status: 400, body: { error } })
  })

  test('answer with the faults and their defaults; each fault counts as often as it says', async () => {
    const headers = { 'x-control-secret': controlSecret }
    const faults = [{ stage: 'rcpt', reply: 550, times: 2 }]
    expect(await post(`${receivers.mailboxUrl}/control/faults`, faults, headers)).toEqual({
      status: 200,
      body: [{ stage: 'rcpt', reply: 550, times: 2, delay_ms: 0 }],
    })
    await expect(deliver({ text: '1' })).rejects.toMatchObject({ responseCode: 550 })
    await expect(deliver({ text: '2' })).rejects.toMatchObject({ responseCode: 550 })
    await deliver({ text: '3' })
    expect((await receivers.mails()).map(({ text }) => text.trim())).toEqual(['3'])
  })
})

test('a body above the limit is refused, and so is a mail', async () => {
  const url = `${receivers.mailboxUrl}/control/faults`
  expect((await post(url, ['x'.repeat(2_000_000)], { 'x-control-secret': controlSecret })).status).toBe(413)
  await expect(deliver({ text: 'x'.repeat(5_000_000) })).rejects.toMatchObject({ responseCode: 552 })
})

test('a sender that speaks no SMTP, or ends in the middle, does no harm', async () => {
  const { port } = new URL(receivers.smtpUrl)
  for (const text of ['GET / HTTP/1.1\r\n\r\n', '\0\xff\r\n', 'EHLO x\r\nMAIL FROM:<', 'x'.repeat(100_000)]) {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined)
    socket.end(text)
    await new Promise((closed) => socket.on('close', closed).resume())
  }
  await deliver({ text: 'still here' })
  expect(await receivers.mails()).toHaveLength(1)
})

describe('the page', () => {
  const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)>"'&`

  test('shows an empty box and refers from its address without a slash', async () => {
    expect((await get(`${receivers.mailboxUrl}/`)).text).toContain('No mails yet')
    const moved = await get(receivers.mailboxUrl)
    expect([moved.status, moved.headers.get('location')]).toEqual([302, '/mail/read-secret/'])
  })

  test('escapes all that comes from a mail and forbids scripts', async () => {
    await deliver({ subject: hostile, text: hostile, html: `<h1>Hello</h1>${hostile}` })
    const list = await get(`${receivers.mailboxUrl}/`)
    const [link = ''] = /\/mail\/read-secret\/mails\/\d+/.exec(list.text) ?? []
    const page = await get(`http://127.0.0.1:${receivers.port}${link}`)
    for (const { status, text, headers } of [list, page]) {
      expect(status).toBe(200)
      expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt;&quot;&#39;&amp;')
      expect(text).not.toMatch(/<script|<img/)
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'self'; frame-src 'self'/)
      expect(headers.get('referrer-policy')).toBe('no-referrer')
    }
  })

  test('shows the HTML part in a frame without scripts, requests, forms and origin', async () => {
    await deliver({ html: `<h1>Hello</h1>${hostile}` })
    const list = await get(`${receivers.mailboxUrl}/`)
    const [link = ''] = /\/mail\/read-secret\/mails\/\d+/.exec(list.text) ?? []
    const frame = await get(`http://127.0.0.1:${receivers.port}${link}/html`)
    expect(frame.text).toContain(`<h1>Hello</h1>${hostile}`)
    const policy = frame.headers.get('content-security-policy') ?? ''
    expect(policy).toMatch(/^sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none';/)
    expect(policy).not.toMatch(/allow-scripts|allow-same-origin|script-src|https?:/)
    expect(frame.headers.get('referrer-policy')).toBe('no-referrer')
  })

  test('of a mail without HTML part has no frame', async () => {
    await deliver({ text: 'plain' })
    const list = await get(`${receivers.mailboxUrl}/`)
    const [link = ''] = /\/mail\/read-secret\/mails\/\d+/.exec(list.text) ?? []
    const url = `http://127.0.0.1:${receivers.port}${link}`
    expect((await get(url)).text).not.toContain('<iframe')
    expect((await get(`${url}/html`)).status).toBe(404)
    const page = link.slice('/mail/read-secret'.length)
    expect((await receivers.mails())[0]).toMatchObject({ to: 'a@patient.test', subject: 'Hello', html: null, page })
  })
})

describe('chat', () => {
  test('accepts JSON too, and refuses as Slack does', async () => {
    const call = (method: string, body: unknown, token = 'xoxb-test') =>
      post(`${receivers.slackApiUrl}${method}`, body, {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
      })
    expect(await call('api.test', {})).toEqual({ status: 200, body: { ok: true } })
    expect((await call('auth.test', {}, 'wrong')).body).toEqual({ ok: false, error: 'invalid_auth' })
    expect((await call('chat.postMessage', { channel: '', text: 'x' })).body).toMatchObject({
      error: 'channel_not_found',
    })
    expect((await call('chat.postMessage', { channel: 'C1' })).body).toMatchObject({ error: 'no_text' })
    const long = { channel: 'C1', text: 'x'.repeat(40_001) }
    expect((await call('chat.postMessage', long)).body).toMatchObject({ error: 'msg_too_long' })
    expect((await call('chat.delete', {})).status).toBe(404)
    expect((await call('chat.postMessage', { channel: 'C1', text: 'ü' })).body).toMatchObject({
      ok: true,
      channel: 'C1',
    })
    expect(await receivers.messages()).toMatchObject([{ channel: 'C1', text: 'ü' }])
  })
})

test('messages outlive a killed process, faults do not', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'receivers-'))
  const secrets = { smtpPassword: 'p', botToken: 'b', readSecret: 'r', controlSecret: 'c' }
  const first = await startReceivers({ dataDir, port: 0, smtpPort: 0, ...secrets })
  await deliver({ text: 'kept' }, first.smtpUrl)
  first.kill()
  await first.exited
  const second = await startReceivers({ dataDir, port: 0, smtpPort: 0, ...secrets })
  expect(await (await fetch(`${second.mailboxUrl}/email`)).json()).toMatchObject([{ text: 'kept\n' }])
  await second.stop()
  await rm(dataDir, { recursive: true })
})

test('the newest messages are kept, by number and by size', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'records-'))
  const open = (limits: { records: number; bytes: number }) => new KeptRecords(join(dataDir, 'r.sqlite'), limits)
  const few = open({ records: 3, bytes: 1_000_000 })
  for (const n of [1, 2, 3, 4, 5]) few.add({ n })
  expect(few.listJson()).toBe('[{"n":3},{"n":4},{"n":5}]')
  expect(few.newest(2).map(({ json }) => json)).toEqual(['{"n":5}', '{"n":4}'])
  few.close()
  const small = open({ records: 3, bytes: 20 })
  small.add({ n: 6 })
  expect(small.listJson()).toBe('[{"n":5},{"n":6}]')
  small.add({ text: 'longer than the limit, and alone' })
  expect(small.listJson()).toBe('[{"text":"longer than the limit, and alone"}]')
  small.close()
  const foreign = open({ records: 3, bytes: 22 })
  for (const t of ['éé', 'öö']) foreign.add({ t })
  expect(foreign.listJson()).toBe('[{"t":"öö"}]')
  foreign.close()
  await rm(dataDir, { recursive: true })
})
