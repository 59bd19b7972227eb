import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { createTransport, type Transporter } from 'nodemailer'
import { Pool } from 'undici'
import { quantile } from '../harness/compare.ts'
import type { JobDone, MailCallsJob, MailedJob, MailsJob } from './jobs.ts'
import { memberOf, paced, timed } from './work.ts'

const limitMs = 120_000

/** Each mail must be accepted. It has the parts and headers of one of the platform. */
export async function runMailsJob({ smtpUrl, mail, count, inFlight }: MailsJob): Promise<JobDone> {
  const transport = pooled(smtpUrl, inFlight)
  try {
    return await timed(count, inFlight, () => send(transport, mail))
  } finally {
    transport.close()
  }
}

function pooled(url: string, maxConnections: number): Transporter {
  return createTransport({ url, pool: true, maxConnections, maxMessages: Infinity })
}

async function send(transport: Transporter, mail: MailsJob['mail']): Promise<void> {
  const messageId = `<${randomUUID()}@bench.example>`
  const sent: unknown = await transport.sendMail({ from: 'bench@bench.example', ...mail, messageId })
  const accepted = memberOf(sent, 'accepted')
  if (!Array.isArray(accepted) || accepted.length !== 1) throw new Error('the mail server refused a mail')
}

/** Each change must get the right answer, and each user exactly one mail. The rate ends with the last mail. */
export async function runMailedJob({ changes, addresses, mailboxUrl, perSecond }: MailedJob): Promise<JobDone> {
  const { baseUrl, method, paths, headers, bodies, count, status } = changes
  const pool = new Pool(baseUrl, { connections: 64, pipelining: 1 })
  const answeredAt = new Map<unknown, number>()
  const begun = Date.now()
  try {
    await paced(count, perSecond, async (number) => {
      const path = paths[number] ?? ''
      const body = bodies[number % bodies.length] ?? null
      const answer = await pool.request({
        path,
        method,
        body,
        headers: { ...headers, 'content-type': 'application/json' },
      })
      answeredAt.set(addresses[number], Date.now())
      const text = await answer.body.text()
      if (answer.statusCode !== status)
        throw new Error(`a change was answered ${answer.statusCode}: ${text.slice(0, 300)}`)
      return 0
    })
    const arrivals = await mailsIn(mailboxUrl, count)
    if (new Set(arrivals.map(({ to }) => to)).size !== count) throw new Error('a user received two mails')
    const each = arrivals.map(({ to, at }) => at - (answeredAt.get(to) ?? NaN))
    const taken = Math.max(...arrivals.map(({ at }) => at)) - begun
    return { perSecond: (count * 1000) / taken, p50: quantile(each, 0.5), p99: quantile(each, 0.99) }
  } finally {
    await pool.close()
  }
}

/** The mails of the box, as soon as so many are there. */
async function mailsIn(mailboxUrl: string, count: number): Promise<{ readonly to: unknown; readonly at: number }[]> {
  const deadline = performance.now() + limitMs
  for (;;) {
    const list: unknown = await (await fetch(`${mailboxUrl}/email`)).json()
    const mails: readonly unknown[] = Array.isArray(list) ? list : []
    if (mails.length >= count)
      return mails.map((one) => ({ to: memberOf(one, 'to'), at: Date.parse(String(memberOf(one, 'received_at'))) }))
    if (performance.now() > deadline) throw new Error(`${mails.length} of ${count} mails arrived`)
    await pause(50)
  }
}

/** The users service must answer each question, and the mail server accept each mail. */
export async function runMailCallsJob(job: MailCallsJob): Promise<JobDone> {
  const { contact, smtpUrl, mail, perSecond, count } = job
  const pool = new Pool(contact.baseUrl, { connections: 64, pipelining: 1 })
  const transport = pooled(smtpUrl, 64)
  const ask = async (): Promise<void> => {
    const answer = await pool.request({ path: contact.path, method: 'GET', headers: contact.headers })
    await answer.body.dump()
    if (answer.statusCode !== 200) throw new Error(`the users service answered ${answer.statusCode}`)
  }
  try {
    return await paced(count, perSecond, async () => {
      const begun = performance.now()
      await ask()
      await ask()
      await send(transport, mail)
      return performance.now() - begun
    })
  } finally {
    transport.close()
    await pool.close()
  }
}
