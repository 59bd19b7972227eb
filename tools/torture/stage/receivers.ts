/** A call of this length is likely to be struck. */
const messageMs = 150
/** More than any run sends. */
const mostMessages = 1_000_000

/** The mail box and the chat receiver: one process, with its ports on loopback and one secret for everything. */
export class Receivers {
  readonly mailboxUrl: string
  readonly chatUrl: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Settings of the platform that name them. */
  readonly settings: Readonly<Record<string, string>>
  readonly #secret: string

  constructor(folder: string, [port, smtpPort]: readonly [number, number], secret: string) {
    const base = `http://127.0.0.1:${port}`
    this.#secret = secret
    this.mailboxUrl = `${base}/mail/${secret}`
    this.chatUrl = `${base}/chat/${secret}`
    const ports = ['--port', String(port), '--smtp-port', String(smtpPort)]
    this.args = ['--data', folder, ...ports, '--records', String(mostMessages), '--exit-with-parent']
    this.env = {
      RECEIVERS_SMTP_PASSWORD: secret,
      RECEIVERS_BOT_TOKEN: secret,
      RECEIVERS_READ_SECRET: secret,
      RECEIVERS_CONTROL_SECRET: secret,
    }
    this.settings = {
      SMTP_URL: `smtp://platform:${secret}@127.0.0.1:${smtpPort}`,
      SMTP_FROM: 'platform@torture.example',
      SLACK_API_URL: `${base}/chat/api/`,
      SLACK_BOT_TOKEN: secret,
    }
  }

  /** Delays each answer after the message is kept, so that kills fall into calls. */
  async slowDown(): Promise<void> {
    const fault = { delay_ms: messageMs, times: mostMessages }
    const headers = { 'x-control-secret': this.#secret }
    for (const [url, faults] of [
      [this.mailboxUrl, [{ ...fault, stage: 'dot' }]],
      [this.chatUrl, [fault]],
    ] as const) {
      const init = { method: 'POST', headers, body: JSON.stringify(faults) }
      if (!(await fetch(`${url}/control/faults`, init)).ok) throw new Error('a receiver refused its faults')
    }
  }
}
