import { randomUUID } from 'node:crypto'
import { createTransport } from 'nodemailer'
import type { JobDone, MailsJob } from './jobs.ts'
import { timed } from './work.ts'

/** Each mail must be accepted. It has the parts and headers of one of the platform. */
export async function runMailsJob({ smtpUrl, mail, count, inFlight }: MailsJob): Promise<JobDone> {
  const transport = createTransport({ url: smtpUrl, pool: true, maxConnections: inFlight, maxMessages: Infinity })
  try {
    return await timed(count, inFlight, async () => {
      const messageId = `<${randomUUID()}@bench.example>`
      const { accepted } = await transport.sendMail({ from: 'bench@bench.example', ...mail, messageId })
      if (accepted.length !== 1) throw new Error('the mail server refused a mail')
    })
  } finally {
    transport.close()
  }
}
