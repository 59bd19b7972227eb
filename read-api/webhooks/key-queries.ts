import type { Pool } from '../../platform/database/database.ts'
import { rowsOf } from '../rows.ts'

export interface WebhookKeyRow {
  kid: string
  x: string
}

/** More than that nobody can be answered with in one piece; `kid` finds any. */
const mostKeys = 1000

/** So long a key is shown after its end: receivers take timestamps of the last five minutes, and clocks differ. */
const shownAfterEnd = '10 minutes'

/** Public keys of every organisation that sign or signed until just now, newest first; or the one of that id. */
export async function publishedKeys(
  pool: Pool,
  { kid, now }: { readonly kid: string | null; readonly now: Date },
): Promise<WebhookKeyRow[]> {
  return rowsOf<WebhookKeyRow>(
    pool,
    `select kid, x from webhook_subscriptions.webhook_keys
     where (retired_at is null or retired_at > $1::timestamptz - interval '${shownAfterEnd}') and ($2::text is null or kid = $2)
     order by created_at desc, kid limit ${mostKeys}`,
    [now, kid],
  )
}
