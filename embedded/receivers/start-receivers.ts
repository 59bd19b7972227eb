import { freePort } from '../children/free-port.ts'
import type { ChildServer } from 'embedded-eventstore/child-server'
import { startStandIn, type StandIn } from '../stand-ins/start-stand-ins.ts'

export type ReceiversOptions = {
  dataDir: string
  /** A port of 127.0.0.1. 0 takes a free one. */
  port: number
  /** The same. */
  smtpPort: number
  smtpPassword: string
  botToken: string
  /** Part of `mailboxUrl` and `chatUrl`. */
  readSecret: string
  /** The header `X-Control-Secret` of requests to the remote controls. */
  controlSecret: string
  onLog?: (line: string) => void
}

type Addresses = {
  /** For SMTP_URL. Contains the password. */
  smtpUrl: string
  /** The page of the mail box; the list of mails is below it at `/email`. */
  mailboxUrl: string
  /** For SLACK_API_URL. */
  slackApiUrl: string
  /** The list of chat messages is below it at `/messages`. */
  chatUrl: string
}

export type EmbeddedReceivers = ChildServer & Addresses

/** The mail box and the chat receiver. `smtpPort` must not be 0. */
export function receivers(options: ReceiversOptions): StandIn<Addresses> {
  return {
    name: 'message receivers',
    command: [
      'receivers',
      '--data',
      options.dataDir,
      '--port',
      String(options.port),
      '--smtp-port',
      String(options.smtpPort),
    ],
    env: {
      RECEIVERS_SMTP_PASSWORD: options.smtpPassword,
      RECEIVERS_BOT_TOKEN: options.botToken,
      RECEIVERS_READ_SECRET: options.readSecret,
      RECEIVERS_CONTROL_SECRET: options.controlSecret,
    },
    port: options.port,
    at: (port) => {
      const base = `http://127.0.0.1:${port}`
      return {
        smtpUrl: `smtp://platform:${encodeURIComponent(options.smtpPassword)}@127.0.0.1:${options.smtpPort}`,
        mailboxUrl: `${base}/mail/${options.readSecret}`,
        slackApiUrl: `${base}/chat/api/`,
        chatUrl: `${base}/chat/${options.readSecret}`,
      }
    },
  }
}

/** Starts them in their own process. Throws with its last log lines when it does not start. */
export async function startReceivers(options: ReceiversOptions): Promise<EmbeddedReceivers> {
  const smtpPort = options.smtpPort === 0 ? await freePort() : options.smtpPort
  return startStandIn(receivers({ ...options, smtpPort }), options)
}
