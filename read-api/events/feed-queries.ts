import type { Pool } from '../../platform/database/database.ts'
import { noOrganisation, type TenantId } from '../../platform/kit/tenants.ts'
import { eventFeedProjector, feedEventsTable } from '../../projections/events/event-feed.projector.ts'
import {
  computed,
  pageOf,
  rowsFrom,
  rowsOf,
  sortOrder,
  tableOf,
  viewsOf,
  type Rows,
} from '../../engine/reads/tenant-rows.ts'

const e = tableOf(eventFeedProjector, feedEventsTable, 'e')
const inOrder = sortOrder('asc', e.streamRevision)

export interface FeedQuestion {
  readonly channel: string
  /** Null: the whole events of every organisation, and of none. */
  readonly tenant: TenantId | null
  readonly types: readonly string[] | undefined
  readonly after: bigint
  readonly limit: number
  /** Events of all types that are looked at for some types. A type may be so rare that no time would be enough. */
  readonly mostLooked: number
}

/**
 * The events of one reader behind a revision, in the order of the channel. `lookedUpTo`: those behind this event were not looked
 * at.
 */
export async function feedAfter(pool: Pool, question: FeedQuestion) {
  if (question.types === undefined) return pageUpTo(pool, question, undefined)
  // Most types fill a page within a few events.
  const few = Math.min(question.mostLooked, 10 * question.limit)
  const page = await pageUpTo(pool, question, await endOfLook(pool, question, few))
  if (page.hasMore || page.lookedUpTo === undefined || few === question.mostLooked) return page
  return pageUpTo(pool, question, await endOfLook(pool, question, question.mostLooked))
}

async function pageUpTo(
  pool: Pool,
  { channel, tenant, types, after, limit }: FeedQuestion,
  lookedUpTo: Awaited<ReturnType<typeof endOfLook>>,
) {
  const rows = ofReader(rowsOf(e), channel, tenant)
  if (types !== undefined) rows.whereRaw('?? = any(?)', [e.eventType, types])
  if (lookedUpTo !== undefined) rows.whereRaw('?? <= ?', [e.streamRevision, lookedUpTo.streamRevision])
  return { ...(await pageOf(pool, inOrder, rows, { after: [String(after)], limit })), lookedUpTo }
}

function ofReader<View>(rows: Rows<View>, channel: string, tenant: TenantId | null): Rows<View> {
  rows.where(e.channel, channel)
  return tenant === null ? rows.whereRaw('??', [e.isWhole]) : rows.where(e.orgId, tenant)
}

/** The last event that is looked at. Undefined if there are fewer. */
async function endOfLook(pool: Pool, { channel, tenant, after }: FeedQuestion, mostLooked: number) {
  const places = ofReader(rowsOf(e, { streamRevision: e.streamRevision, eventId: e.eventId }), channel, tenant)
  const looked = inOrder.page(places, { after: [String(after)], limit: mostLooked })
  const source = computed<{ readonly streamRevision: string; readonly eventId: string }>('(?) as looked', [looked])
  const rows = rowsFrom(source, 'looked.*').select({ number: computed<string>('count(*) over ()') })
  const [last] = await viewsOf(pool, rows.orderByRaw('"streamRevision" desc', []).limit(1))
  return Number(last?.number) === mostLooked ? last : undefined
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
