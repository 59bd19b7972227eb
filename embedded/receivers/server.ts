import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerChatCall, parseChatFaults, type ChatFault } from '../chat/slack-api.ts'
import { closeGently } from '../../platform/kit/early-answers.ts'
import { InvalidControl, isSame } from '../children/remote-control.ts'
import { pathOf } from '../children/request-path.ts'
import { parseMailFaults, type MailFault } from '../mailbox/mail-faults.ts'
import { framedHtml, listedMails, listPage, mailPage, style } from '../mailbox/mail-page.ts'
import type { StoredMail } from '../mailbox/smtp-in.ts'
import { readAtMost } from './bounded-read.ts'
import type { FaultQueue } from './fault-queue.ts'
import type { KeptRecord, KeptRecords } from './kept-records.ts'

export type Receivers = {
  mails: KeptRecords
  mailFaults: FaultQueue<MailFault>
  messages: KeptRecords
  chatFaults: FaultQueue<ChatFault>
  /** Part of every address that shows messages: other users of the machine cannot guess it. */
  readSecret: string
  controlSecret: string
  botToken: string
}

type Reply = { status: number; body?: string; type?: string; headers?: Record<string, string> }

const mostBodyBytes = 1024 * 1024

/** Nothing may be loaded, run or sent. A link of a page must not reveal the address, because it contains the secret. */
const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
}
const frameHeaders = {
  ...pageHeaders,
  'content-security-policy':
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
}

/** The lists and pages of the received messages, Slack's Web API below `/chat/api/`, and the remote controls. */
export function receiversServer(receivers: Receivers, onFailure: (error: unknown) => void): Server {
  return createServer((request, response) => {
    answer(receivers, request, response).catch((error: unknown) => {
      if (response.destroyed || request.errored !== null) return
      const isCallers = error instanceof InvalidControl
      if (!isCallers) onFailure(error)
      send(response, json(isCallers ? 400 : 500, { error: isCallers ? error.message : 'internal error' }))
    })
  })
}

async function answer(receivers: Receivers, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const pathname = pathOf(request)
  const bytes = await readAtMost(request, mostBodyBytes)
  if (bytes === undefined) return send(response, json(413, { error: 'the body is too large' }))
  const body = bytes.toString('utf8')
  if (pathname.startsWith('/chat/api/')) {
    await answerSlack(receivers, request, response, { method: pathname.slice('/chat/api/'.length), body })
    return
  }
  const [, box, secret, rest = ''] = /^\/(mail|chat)\/([^/]+)(\/.*)?$/.exec(pathname) ?? []
  if (pathname === '/style.css') return send(response, { status: 200, body: style, type: 'text/css' })
  if (box === undefined || !isSame(secret, receivers.readSecret)) return send(response, notFound)
  const route = `${request.method} ${rest}`
  if (rest === '/control' || rest.startsWith('/control/')) {
    const given = request.headers['x-control-secret']
    const isAllowed = typeof given === 'string' && isSame(given, receivers.controlSecret)
    return send(response, isAllowed ? control(receivers, box, route, body) : json(401, { error: 'unauthorized' }))
  }
  return send(response, box === 'mail' ? mailBox(receivers, `/mail/${secret}`, route) : chat(receivers, route))
}

function control(
  { mails, mailFaults, messages, chatFaults }: Receivers,
  box: string,
  route: string,
  body: string,
): Reply {
  const [records, faults] = box === 'mail' ? [mails, mailFaults] : [messages, chatFaults]
  if (route === 'DELETE /control') {
    records.clear()
    faults.clear()
    return { status: 204 }
  }
  if (route !== 'POST /control/faults') return notFound
  if (box === 'mail') {
    const added = parseMailFaults(body)
    mailFaults.add(added)
    return json(200, added)
  }
  const added = parseChatFaults(body)
  chatFaults.add(added)
  return json(200, added)
}

function chat({ messages }: Receivers, route: string): Reply {
  return route === 'GET /messages' ? { status: 200, body: messages.listJson() } : notFound
}

function mailBox({ mails }: Receivers, base: string, route: string): Reply {
  if (route === 'GET /email') return { status: 200, body: mails.listJson(withPage) }
  if (route === 'GET ') return { status: 302, headers: { location: `${base}/` } }
  if (route === 'GET /') {
    const newest = mails.newest(listedMails).map(({ id, json: stored }) => ({ id, mail: mailOf(stored) }))
    return html(listPage(base, newest))
  }
  const [, id = '', part] = /^GET \/mails\/(\d{1,15})(\/html)?$/.exec(route) ?? []
  const found = id === '' ? undefined : mails.find(Number(id))
  if (found === undefined) return notFound
  const mail = mailOf(found.json)
  if (part === undefined) return html(mailPage(base, found.id, mail))
  return mail.html === null ? notFound : { ...html(framedHtml(mail.html)), headers: frameHeaders }
}

/** The stored text has at least one member. A parse of all mails would cost more. */
function withPage({ id, json: stored }: KeptRecord): string {
  return `{"page":"/mails/${id}",${stored.slice(1)}`
}

function mailOf(stored: string): StoredMail {
  return JSON.parse(stored) as StoredMail
}

async function answerSlack(
  { messages, chatFaults, botToken }: Receivers,
  request: IncomingMessage,
  response: ServerResponse,
  { method, body }: { method: string; body: string },
): Promise<void> {
  const token = (request.headers.authorization ?? '').replace(/^Bearer /i, '')
  const contentType = request.headers['content-type'] ?? ''
  const call = { method, token, contentType, body, now: Date.now() }
  const given = request.method === 'POST' ? answerChatCall(messages, chatFaults, botToken, call) : undefined
  if (given === undefined) return send(response, json(404, { ok: false, error: 'unknown_method' }))
  if (given.delayMs > 0) await sleep(given.delayMs, undefined, { ref: false })
  if (given.body === null) request.socket.resetAndDestroy()
  else send(response, { ...json(given.status, given.body), headers: given.headers ?? {} })
}

const notFound: Reply = json(404, { error: 'not found' })

function json(status: number, value: object): Reply {
  return { status, body: JSON.stringify(value) }
}

function html(body: string): Reply {
  return { status: 200, body, type: 'text/html; charset=utf-8', headers: pageHeaders }
}

function send(response: ServerResponse, { status, body = '', type = 'application/json', headers = {} }: Reply): void {
  closeGently(response)
  response.writeHead(status, {
    ...(body === '' ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  })
  response.end(body)
}
