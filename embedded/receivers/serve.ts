import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { ChatFault } from '../chat/slack-api.ts'
import type { RunningServer, ServerEnvironment } from '../children/live-as-child.ts'
import { listenOnLoopback, stopListening } from '../children/loopback-server.ts'
import type { MailFault } from '../mailbox/mail-faults.ts'
import { receiveMails } from '../mailbox/smtp-in.ts'
import { FaultQueue } from './fault-queue.ts'
import { KeptRecords } from './kept-records.ts'
import { receiversServer } from './server.ts'

export async function serveReceivers(args: string[], env: ServerEnvironment): Promise<RunningServer> {
  const { values } = parseArgs({
    args,
    options: {
      data: { type: 'string' },
      port: { type: 'string' },
      'smtp-port': { type: 'string' },
      records: { type: 'string', default: '10000' },
    },
  })
  const records = Number(values.records)
  const limits = { records, bytes: records * 3_355 }
  const [smtpPassword, botToken, readSecret, controlSecret] = [
    'RECEIVERS_SMTP_PASSWORD',
    'RECEIVERS_BOT_TOKEN',
    'RECEIVERS_READ_SECRET',
    'RECEIVERS_CONTROL_SECRET',
  ].map((name) => env[name] ?? '')
  if (values.data === undefined || !smtpPassword || !botToken || !readSecret || !controlSecret) {
    throw new Error(
      'message receivers need --data, RECEIVERS_SMTP_PASSWORD, RECEIVERS_BOT_TOKEN, RECEIVERS_READ_SECRET and RECEIVERS_CONTROL_SECRET',
    )
  }
  const dataDir = resolve(values.data)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const mails = new KeptRecords(join(dataDir, 'mails.sqlite'), limits)
  const messages = new KeptRecords(join(dataDir, 'messages.sqlite'), limits)
  const mailFaults = new FaultQueue<MailFault>()
  const chatFaults = new FaultQueue<ChatFault>()
  const account = { user: 'platform', password: smtpPassword }
  const smtp = await receiveMails(mails, mailFaults, { ...account, port: Number(values['smtp-port'] ?? 0) })
  const receivers = { mails, mailFaults, messages, chatFaults, readSecret, controlSecret, botToken }
  const server = receiversServer(receivers, (error) => {
    process.stderr.write(`request failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  })
  const port = await listenOnLoopback(server, 'message receivers', Number(values.port ?? 0))
  const stop = async (): Promise<void> => {
    await Promise.all([smtp.close(), stopListening(server)])
    mails.close()
    messages.close()
  }
  return { port, stop }
}
