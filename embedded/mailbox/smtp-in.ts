import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import PostalMime from 'postal-mime'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import { portFreed } from '../children/free-port.ts'
import { isSame } from '../children/remote-control.ts'
import { readAtMost } from '../receivers/bounded-read.ts'
import type { FaultQueue } from '../receivers/fault-queue.ts'
import type { KeptRecords } from '../receivers/kept-records.ts'
import { refusalBy, type MailFault, type Stage } from './mail-faults.ts'

export type StoredMail = {
  /** The recipients of the envelope. */
  to: string
  subject: string
  text: string
  /** Null if the mail has no HTML part. */
  html: string | null
  /** Names in lower case. */
  headers: Record<string, string>
  from: string
  received_at: string
}

export type MailAccount = { user: string; password: string }

export type SmtpIn = { port: number; close: () => Promise<void> }

const mostMailBytes = 4 * 1024 * 1024
const mostConnections = 100
const idleMs = 60_000

/** Receives mails by SMTP on 127.0.0.1, from senders that log in, and misbehaves on request. */
export async function receiveMails(
  mails: KeptRecords,
  faults: FaultQueue<MailFault>,
  { user, password, port }: MailAccount & { port: number },
): Promise<SmtpIn> {
  const sockets = new Map<number, Socket>()

  function faultAt(stage: Stage): MailFault | undefined {
    return faults.take((one) => one.stage === stage)
  }

  /** Calls `go` unless the fault replaces the answer of this stage. */
  async function answer(
    fault: MailFault | undefined,
    { remotePort }: SMTPServerSession,
    go: (refusal?: Error) => void,
  ): Promise<void> {
    if (fault !== undefined && fault.delay_ms > 0) await sleep(fault.delay_ms, undefined, { ref: false })
    if (fault?.drop === true) sockets.get(remotePort)?.resetAndDestroy()
    else if (fault?.hang !== true) go(fault?.reply === undefined ? undefined : refusalBy(fault.reply))
  }

  /** The library sends its 354 when `onData` returns. Corked, it stays here; after an end, it is not sent. */
  function disturbData(fault: MailFault, socket: Socket): void {
    const { delay_ms, drop, hang, reply } = fault
    if (drop === true) socket.resetAndDestroy()
    else if (reply !== undefined) {
      const { responseCode, message } = refusalBy(reply)
      socket.end(`${responseCode} ${message}\r\n`)
    } else {
      socket.cork()
      if (hang !== true) setTimeout(() => socket.uncork(), delay_ms).unref()
    }
  }

  const server = new SMTPServer({
    name: 'mailbox.embedded',
    authMethods: ['PLAIN', 'LOGIN'],
    // Both sides are on loopback.
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    size: mostMailBytes,
    maxClients: mostConnections,
    socketTimeout: idleMs,
    closeTimeout: 500,
    onConnect: (session, done) => void answer(faultAt('greeting'), session, done),
    onAuth({ username, password: given }, session, done) {
      const isKnown = [isSame(username, user), isSame(given ?? '', password)].every(Boolean)
      void answer(faultAt('auth'), session, (refusal) => {
        if (refusal !== undefined || !isKnown) done(refusal ?? refusalBy('535 Unknown user or wrong password'))
        else done(null, { user })
      })
    },
    onMailFrom: (_, session, done) => void answer(faultAt('mail'), session, done),
    onRcptTo: (_, session, done) => void answer(faultAt('rcpt'), session, done),
    onData(stream, session, done) {
      const socket = sockets.get(session.remotePort)
      const dataFault = faultAt('data')
      if (dataFault !== undefined && socket !== undefined) disturbData(dataFault, socket)
      readAtMost(stream, mostMailBytes)
        .then(async (source) => {
          if (source === undefined) return done(refusalBy('552 The mail is too large'))
          const fault = faultAt('dot')
          if (fault?.reply === undefined) mails.add(await toStored(source, session))
          await answer(fault, session, done)
        })
        .catch((error: unknown) => done(error instanceof Error ? error : new Error('the mail cannot be read')))
    },
  })
  server.server.on('connection', (socket: Socket) => {
    const { remotePort } = socket
    if (remotePort === undefined) return
    sockets.set(remotePort, socket)
    socket.on('close', () => sockets.delete(remotePort))
  })
  // Connections that end in the middle of a mail.
  server.on('error', () => undefined)
  if (port !== 0) await portFreed('mail box', port)
  server.listen(port, '127.0.0.1')
  await once(server.server, 'listening')
  const address = server.server.address()
  if (address === null || typeof address === 'string') throw new Error('mail box has no port')
  return { port: address.port, close: () => new Promise((closed) => server.close(() => closed())) }
}

async function toStored(source: Buffer, { envelope }: SMTPServerSession): Promise<StoredMail> {
  const { subject = '', text = '', html = null, headers } = await PostalMime.parse(source)
  return {
    to: envelope.rcptTo.map(({ address }) => address).join(', '),
    subject,
    text,
    html,
    headers: Object.fromEntries(headers.map(({ key, value }) => [key, value])),
    from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
    received_at: new Date().toISOString(),
  }
}
