import { at } from '../../../app/demo/members.ts'
import { createApiClient, type ApiClient } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import { lastingSettings } from '../../../embedded/children/lasting-ports.ts'
import { createPool } from '../../../platform/database/database.ts'
import { bearerOf } from '../commands/assessments.ts'
import type { Scope } from '../harness/scope.ts'
import type { HttpJob } from '../load/jobs.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { until } from '../webhooks/filling.ts'

/** Number of messages under way on either side of a comparison. */
export const inFlight = 24
const limitMs = 120_000

export const mail = { to: 'jane@example.org', subject: 'Ward 7', html: '<p>News of ward 7</p>', text: 'News of ward 7' }

type Channel = 'email' | 'slack'

export interface MailWorld {
  readonly platform: BenchPlatform
  readonly api: ApiClient
  readonly smtp: { readonly port: number; readonly url: string }
  /** A notification for each request, in turn to these recipients. */
  readonly requests: (channel: Channel, refs: readonly string[], count: number) => HttpJob
  /** Empties the mail box. */
  readonly empty: () => Promise<void>
  /**
   * Waits for so many mails, each with its own Message-ID. Returns the time at which the last one arrived, in
   * milliseconds since 1970.
   */
  readonly arrived: (count: number) => Promise<number>
  /**
   * Waits until so many notifications are recorded as sent since the last call, each once. Returns the time of the last
   * one, in milliseconds since 1970.
   */
  readonly recorded: (channel: Channel, count: number) => Promise<number>
  /** Number of notifications that meet a condition of SQL. */
  readonly counted: (condition: string) => Promise<number>
}

/** The platform with its API and read models in one process, and both receivers. The caller runs the processor. */
export async function startMailWorld(
  { folder, started, atEnd }: Scope,
  env: Readonly<Record<string, string>> = {},
): Promise<MailWorld> {
  const platform = await started(startBenchPlatform({ folder, roles: ['api', 'projector'], env }))
  const { ports, secrets } = await lastingSettings(folder, { ports: ['smtp'], secrets: ['smtp'] })
  const smtp = { port: ports.smtp, url: `smtp://platform:${secrets.smtp}@127.0.0.1:${ports.smtp}` }
  const pool = createPool({ url: platform.databaseUrl, max: 2, statementTimeoutMs: limitMs })
  atEnd(() => pool.end())
  const api = createApiClient(platform.baseUrl, bearerOf(platform))
  const templates = { email: '<p>News of ward {{ward}}</p>', slack: 'News of ward {{ward}}' }
  for (const [channel, bodyTemplate] of Object.entries(templates)) {
    const subject = channel === 'email' ? { subject: 'Ward {{ward}}' } : {}
    const body = { channel, category: 'operational', phi: false, bodyTemplate, ...subject }
    await expecting(201, api.call(`/v1/notifications/admin/templates/ward-news`, { method: 'PUT', body }))
  }
  const { mailbox_url: mailboxUrl, control_secret: controlSecret } = platform.credentials
  const headers = { 'x-control-secret': controlSecret ?? '' }
  const sentBefore = { email: 0, slack: 0 }
  const query = async (columns: string, condition: string): Promise<number> => {
    const { rows } = await pool.query<{ value: number }>(
      `select (${columns})::float8 as value from notifications.notifications where ${condition}`,
    )
    return rows[0]?.value ?? NaN
  }
  const counted = (condition: string) => query('count(*)', condition)
  return {
    platform,
    api,
    smtp,
    counted,
    requests: (channel, refs, count) => ({
      kind: 'http',
      baseUrl: platform.baseUrl,
      method: 'POST',
      paths: ['/v1/notifications'],
      headers: platform.headers,
      bodies: refs.map((ref) => {
        const recipient = { type: channel === 'email' ? 'email' : 'slackChannel', ref }
        return JSON.stringify({ templateCode: 'ward-news', recipient, variables: { ward: '7' } })
      }),
      isKeyed: true,
      status: 202,
      makesRecords: true,
      count,
      inFlight,
    }),
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
    recorded: async (channel, count) => {
      const sent = `channel = '${channel}' and status = 'sent' and attempts = 1`
      const wanted = sentBefore[channel] + count
      await until(async () => (await counted(sent)) >= wanted, 'messages were not recorded as sent', 200)
      const now = await counted(sent)
      const recorded = now - sentBefore[channel]
      sentBefore[channel] = now
      if (recorded !== count) throw new Error(`${recorded} of ${count} notifications were recorded as sent`)
      return query('extract(epoch from max(sent_at)) * 1000', sent)
    },
  }
}
