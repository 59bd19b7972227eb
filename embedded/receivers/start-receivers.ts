import { fileURLToPath } from 'node:url'
import { freePort } from '../children/free-port.ts'
import { startChild, type ChildServer } from 'embedded-eventstore/child-server'

export type ReceiversOptions = {
  dataDir: string
  /** Ports of 127.0.0.1. 0 takes a free one. */
  port: number
  smtpPort: number
  smtpPassword: string
  botToken: string
  /** Part of `mailboxUrl` and `chatUrl`. */
  readSecret: string
  /** The header `X-Control-Secret` of requests to the remote controls. */
  controlSecret: string
  onLog?: (line: string) => void
}

export type EmbeddedReceivers = ChildServer & {
  /** For SMTP_URL. Contains the password. */
  smtpUrl: string
  /** The page of the mail box; the list of mails is below it at `/email`. */
  mailboxUrl: string
  /** For SLACK_API_URL. */
  slackApiUrl: string
  /** The list of chat messages is below it at `/messages`. */
  chatUrl: string
}

const SERVER = fileURLToPath(new URL('./main.ts', import.meta.url))

/** Starts the mail box and the chat receiver in one process. Throws with its last log lines when it does not start. */
export async function startReceivers(options: ReceiversOptions): Promise<EmbeddedReceivers> {
  const smtpPort = options.smtpPort === 0 ? await freePort() : options.smtpPort
  const child = await startChild({
    name: 'message receivers',
    script: SERVER,
    args: ['--data', options.dataDir, '--port', String(options.port), '--smtp-port', String(smtpPort)],
    env: {
      RECEIVERS_SMTP_PASSWORD: options.smtpPassword,
      RECEIVERS_BOT_TOKEN: options.botToken,
      RECEIVERS_READ_SECRET: options.readSecret,
      RECEIVERS_CONTROL_SECRET: options.controlSecret,
    },
    ...(options.onLog === undefined ? {} : { onLog: options.onLog }),
  })
  const base = `http://127.0.0.1:${child.port}`
  return {
    smtpUrl: `smtp://platform:${encodeURIComponent(options.smtpPassword)}@127.0.0.1:${smtpPort}`,
    mailboxUrl: `${base}/mail/${options.readSecret}`,
    slackApiUrl: `${base}/chat/api/`,
    chatUrl: `${base}/chat/${options.readSecret}`,
    ...child,
  }
}
