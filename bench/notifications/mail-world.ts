import { createApiClient, at } from '../../app/demo/api-client.ts'
import { expectStatus } from '../../app/demo/steps.ts'
import { lastingSettings } from '../../embedded/children/lasting-ports.ts'
import { createPool } from '../../platform/database/database.ts'
import { bearerOf } from '../commands/assessments.ts'
import type { Scope } from '../harness/scope.ts'
import type { HttpJob } from '../load/jobs.ts'
import { startBenchPlatform } from '../load/platform.ts'
import { until } from '../webhooks/filling.ts'

/** Number of mails under way on either side of a comparison. */
export const inFlight = 24
/** Three quarters of the workers may serve one channel. */
const workers = String((inFlight * 4) / 3)
const limitMs = 120_000

export const mail = { to: 'jane@example.org', subject: 'Ward 7', html: '<p>News of ward 7</p>', text: 'News of ward 7' }

export interface MailWorld {
  readonly smtpUrl: string
  /** A notification by mail for each request. */
  readonly requests: HttpJob
  /** Empties the mail box. */
  readonly empty: () => Promise<void>
  /**
   * Waits for so many mails, each with its own Message-ID. Returns the time at which the last one arrived, in
   * milliseconds since 1970.
   */
  readonly arrived: (count: number) => Promise<number>
  /** Waits until so many notifications are recorded as sent since the last call, each once. */
  readonly recorded: (count: number) => Promise<void>
}

/** The platform with its API and read models in one process and its processor in another, and the mail box. */
export async function startMailWorld({ folder, started, atEnd }: Scope): Promise<MailWorld> {
  const env = { NOTIFICATION_WORKERS: workers }
  const platform = await started(startBenchPlatform({ folder, roles: ['api', 'projector'], env }))
  await platform.run(['processor'])
  const { ports, secrets } = await lastingSettings(folder, { ports: ['smtp'], secrets: ['smtp'] })
  const pool = createPool({ url: platform.databaseUrl, max: 2, statementTimeoutMs: limitMs })
  atEnd(() => pool.end())
  const api = createApiClient(platform.baseUrl, bearerOf(platform))
  const body = {
    category: 'operational',
    phi: false,
    subject: 'Ward {{ward}}',
    bodyTemplate: '<p>News of ward {{ward}}</p>',
  }
  await expectStatus(201, api.call('/v1/notifications/admin/templates/ward-news', { method: 'PUT', body }))
  const recipient = { type: 'email', ref: mail.to }
  const { mailbox_url: mailboxUrl, control_secret: controlSecret } = platform.credentials
  const headers = { 'x-control-secret': controlSecret ?? '' }
  const sentNow = async (): Promise<number> => {
    const { rows } = await pool.query<{ count: number }>(
      "select count(*)::integer as count from notifications.notifications where status = 'sent' and attempts = 1",
    )
    return rows[0]?.count ?? NaN
  }
  let before = 0
  return {
    smtpUrl: `smtp://platform:${secrets.smtp}@127.0.0.1:${ports.smtp}`,
    requests: {
      kind: 'http',
      baseUrl: platform.baseUrl,
      method: 'POST',
      paths: ['/v1/notifications'],
      headers: platform.headers,
      bodies: [JSON.stringify({ templateCode: 'ward-news', recipient, variables: { ward: '7' } })],
      isKeyed: true,
      status: 202,
      makesRecords: true,
      count: 1,
      inFlight,
    },
    empty: async () => {
      const { ok } = await fetch(`${mailboxUrl}/control`, { method: 'DELETE', headers })
      if (!ok) throw new Error('the mail box was not emptied')
    },
    arrived: async (count) => {
      let mails: readonly unknown[] = []
      const areThere = async () => {
        const list: unknown = await (await fetch(`${mailboxUrl}/email`)).json()
        mails = Array.isArray(list) ? list : []
        return mails.length >= count
      }
      await until(areThere, `of ${count} mails ${mails.length} arrived`)
      const ids = new Set(mails.map((one) => at(one, 'headers', 'message-id')))
      if (mails.length !== count || ids.size !== count)
        throw new Error(`${mails.length} mails with ${ids.size} ids arrived instead of ${count}`)
      return Math.max(...mails.map((one) => Date.parse(String(at(one, 'received_at')))))
    },
    recorded: async (count) => {
      await until(async () => (await sentNow()) >= before + count, 'mails were not recorded as sent')
      const recorded = (await sentNow()) - before
      before += recorded
      if (recorded !== count) throw new Error(`${recorded} of ${count} notifications were recorded as sent`)
    },
  }
}
