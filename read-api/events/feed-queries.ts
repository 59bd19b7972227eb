import type { Pool } from '../../platform/database/database.ts'
import { noOrganisation, type TenantId } from '../../platform/kit/tenants.ts'
import { eventFeedProjector, feedEventsTable } from '../../projections/events/event-feed.projector.ts'
import { pageOf, rowsOf, rowsWithin, sortOrder, tableOf, viewsOf } from '../../engine/reads/tenant-rows.ts'

const e = tableOf(eventFeedProjector, feedEventsTable, 'e')
const inOrder = sortOrder('asc', e.streamRevision)

export interface FeedQuestion {
  readonly channel: string
  /** Null: the whole events of every organisation, and of none. */
  readonly tenant: TenantId | null
  readonly types: readonly string[] | undefined
  readonly after: bigint
  readonly limit: number
}

/** The events of one reader behind a revision, in the order of the channel. */
export async function feedAfter(pool: Pool, { channel, tenant, types, after, limit }: FeedQuestion) {
  const rows = rowsWithin(e, tenant).where(e.channel, channel)
  if (tenant === null) rows.whereRaw('??', [e.isWhole])
  if (types !== undefined) rows.whereRaw('?? = any(?)', [e.eventType, types])
  return pageOf(pool, inOrder, rows, { after: [String(after)], limit })
}

/** The newest event of the channel in the read model, whoever reads it. */
export async function newestInFeed(pool: Pool, channel: string): Promise<{ revision: bigint; id: string } | undefined> {
  const place = { streamRevision: e.streamRevision, eventId: e.eventId }
  const rows = rowsOf(e, place).where(e.channel, channel).orderByRaw('?? desc', [e.streamRevision]).limit(1)
  const [newest] = await viewsOf(pool, rows)
  return newest === undefined ? undefined : { revision: BigInt(newest.streamRevision), id: newest.eventId }
}

/** Whether a reader gets the row of an event. */
export function sees(tenant: TenantId | null, row: { readonly orgId: string; readonly isWhole: boolean }): boolean {
  return tenant === null ? row.isWhole : row.orgId === tenant && tenant !== noOrganisation
}
