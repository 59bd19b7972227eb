import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startReceivers, type EmbeddedReceivers } from '../../embedded/receivers/start-receivers.ts'

interface ReceivedMail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string | null
  readonly headers: Readonly<Record<string, string>>
}

interface ReceivedMessage {
  readonly channel: string
  readonly text: string
  readonly ts: string
  readonly client_msg_id: string | null
}

export const controlSecret = 'control-secret'
export const botToken = 'xoxb-test'

/** The embedded mail box and chat receiver on a folder of their own. */
export interface TestReceivers extends EmbeddedReceivers {
  /** SMTP_URL and its like for `loadConfiguration`. */
  readonly env: Readonly<Record<string, string>>
  mails(): Promise<readonly ReceivedMail[]>
  messages(): Promise<readonly ReceivedMessage[]>
  mailFaults(...faults: readonly object[]): Promise<void>
  chatFaults(...faults: readonly object[]): Promise<void>
  /** Removes messages and faults. */
  clear(): Promise<void>
  remove(): Promise<void>
}

export async function openReceivers(): Promise<TestReceivers> {
  const dataDir = await mkdtemp(join(tmpdir(), 'receivers-'))
  const secrets = { smtpPassword: 'p@ss/word', botToken, readSecret: 'read-secret', controlSecret }
  const child = await startReceivers({ dataDir, port: 0, smtpPort: 0, ...secrets })
  const control = async (url: string, method: string, body: string | null): Promise<void> => {
    const answer = await fetch(url, { method, body, headers: { 'x-control-secret': controlSecret } })
    if (!answer.ok) throw new Error(await answer.text())
  }
  const list = async <Item>(url: string) => (await (await fetch(url)).json()) as Item[]
  const { mailboxUrl, chatUrl, smtpUrl, slackApiUrl } = child
  return {
    ...child,
    env: {
      SMTP_URL: smtpUrl,
      SMTP_FROM: 'The Clinic <no-reply@clinic.test>',
      SLACK_API_URL: slackApiUrl,
      SLACK_BOT_TOKEN: botToken,
    },
    mails: () => list<ReceivedMail>(`${mailboxUrl}/email`),
    messages: () => list<ReceivedMessage>(`${chatUrl}/messages`),
    mailFaults: (...faults) => control(`${mailboxUrl}/control/faults`, 'POST', JSON.stringify(faults)),
    chatFaults: (...faults) => control(`${chatUrl}/control/faults`, 'POST', JSON.stringify(faults)),
    async clear() {
      await control(`${mailboxUrl}/control`, 'DELETE', null)
      await control(`${chatUrl}/control`, 'DELETE', null)
    },
    async remove() {
      await child.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
