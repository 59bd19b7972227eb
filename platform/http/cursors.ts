import { createSecretKey, type KeyObject } from 'node:crypto'
import canonicalize from 'canonicalize'
import { Type } from 'typebox'
import { openBytes, sealBytes } from '../kit/sealed-bytes.ts'
import { problem } from './problems.ts'
import type { TenantId } from '../kit/tenants.ts'
import { Nullable } from './members.ts'
import type { ReplyHead } from './replies.ts'

export const defaultLimit = 50
/** Items of a page at most. */
export const greatestLimit = 200
/** Bytes of the items of a page at most, as JSON. One item is shown whatever its size. With cursor and link: within 2 MiB. */
export const greatestPageBytes = 2 * 1024 * 1024 - 16 * 1024

/** Query members of a list whose items are large: a page must not hold the event loop. `greatest` is 50 or more. */
export function listQueryUpTo(greatest: number) {
  return {
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: `At most ${greatest}; more is taken as ${greatest}. A page of large items ends earlier, at 2 MiB`,
        default: defaultLimit,
      }),
    ),
    cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 2048 })),
  }
}

/** Query members of any other list; put them beside the filters: `Type.Object({ ...listQuery, status: … })`. */
export const listQuery = listQueryUpTo(greatestLimit)

const lifetimeSeconds = 7 * 86_400

/** The sort values of the last row that a page showed. */
export type CursorPlace = readonly (string | number | null)[]

/** What a cursor is bound to: it continues this list of this organisation with these filters in this order, and no other. */
export interface ListIdentity {
  readonly list: string
  /** Null for a list of all organisations. */
  readonly orgId: TenantId | null
  readonly sort: string
  /** Filters as given; undefined members do not count. */
  readonly filters: Readonly<Record<string, string | number | boolean | undefined>>
}

export interface Cursors {
  seal(list: ListIdentity, place: CursorPlace): string
  /** Throws `invalid-cursor` or `expired-cursor`. A cursor of a feed never expires. */
  open(list: ListIdentity, cursor: string, lifetime?: 'endless'): CursorPlace
}

/** Opaque, sealed cursors, bound to the list's identity, valid for 7 days. `key` has 32 bytes. */
export function createCursors({
  key,
  now = () => new Date(),
}: {
  readonly key: Uint8Array
  readonly now?: () => Date
}): Cursors {
  const secret = createSecretKey(key)
  const seconds = () => Math.floor(now().getTime() / 1000)
  return {
    seal(list, place) {
      const text = JSON.stringify({ at: seconds(), place })
      return sealBytes(secret, identityOf(list), Buffer.from(text, 'utf8')).toString('base64url')
    },
    open(list, cursor, lifetime) {
      const { at, place } = parse(decrypt(secret, list, cursor))
      if (lifetime !== 'endless' && at + lifetimeSeconds < seconds()) throw problem('expired-cursor')
      return place
    },
  }
}

function identityOf({ list, orgId, sort, filters }: ListIdentity): string {
  return canonicalize({ list, orgId, sort, filters }) ?? ''
}

function decrypt(key: KeyObject, list: ListIdentity, cursor: string): string {
  const bytes = Buffer.from(cursor, 'base64url')
  if (bytes.toString('base64url') !== cursor) throw problem('invalid-cursor')
  try {
    return openBytes(key, identityOf(list), bytes).toString('utf8')
  } catch {
    throw problem('invalid-cursor')
  }
}

/** Authenticated, so only ever what `seal` wrote. */
function parse(text: string): { readonly at: number; readonly place: CursorPlace } {
  return JSON.parse(text) as { at: number; place: CursorPlace }
}

/** What a query has to fetch: up to `limit` rows after `after` (from the start when null), and whether more follow. */
export interface PageRequest {
  readonly limit: number
  readonly after: CursorPlace | null
}

export interface PageRows<Row> {
  /** Up to the limit, and fewer where they are large. Not empty if a row matches. */
  readonly rows: readonly Row[]
  readonly hasMore: boolean
  /** The next page continues behind this place, if that is not the last row. For rows that were looked at and left out. */
  readonly reached?: CursorPlace | undefined
}

export function pageRequest(
  cursors: Cursors,
  list: ListIdentity,
  query: { readonly limit?: number; readonly cursor?: string },
  greatest = greatestLimit,
): PageRequest {
  const limit = Math.min(query.limit ?? defaultLimit, greatest)
  return { limit, after: query.cursor === undefined ? null : cursors.open(list, query.cursor) }
}

export interface PageOptions<Row, Item> {
  readonly cursors: Cursors
  readonly list: ListIdentity
  readonly found: PageRows<Row>
  readonly placeOf: (row: Row) => CursorPlace
  readonly toItem: (row: Row) => Item
  /** Parameters that `Link` leaves out, because links are logged and passed on. */
  readonly unlinked?: readonly string[]
}

/** A page in snake_case with its Link header. */
export function page<Row, Item>(
  reply: ReplyHead,
  options: PageOptions<Row, Item>,
): { data: Item[]; next_cursor: string | null; has_more: boolean } {
  const { data, next } = cut(reply, options)
  return { data, next_cursor: next, has_more: next !== null }
}

/** The same in camelCase. */
export function camelPage<Row, Item>(
  reply: ReplyHead,
  options: PageOptions<Row, Item>,
): { data: Item[]; nextCursor: string | null; hasMore: boolean } {
  const { data, next } = cut(reply, options)
  return { data, nextCursor: next, hasMore: next !== null }
}

function cut<Row, Item>(
  reply: ReplyHead,
  { cursors, list, found: { rows, hasMore, reached }, placeOf, toItem, unlinked = [] }: PageOptions<Row, Item>,
) {
  const data = itemsWithin(greatestPageBytes, rows, toItem)
  const last = rows[data.length - 1]
  const isCut = data.length < rows.length
  const place = isCut || reached === undefined ? last && placeOf(last) : reached
  const next = place === undefined || !(hasMore || isCut) ? null : cursors.seal(list, place)
  if (next !== null) reply.header('link', linkToNext(reply, next, unlinked))
  return { data, next }
}

/** The first items, at least one. An item may be larger than its row, which the query has measured. */
export function itemsWithin<Row, Item>(bytes: number, rows: readonly Row[], toItem: (row: Row) => Item): Item[] {
  const items: Item[] = []
  let left = bytes
  for (const row of rows) {
    const item = toItem(row)
    left -= Buffer.byteLength(JSON.stringify(item)) + 1
    if (left < 0 && items.length > 0) break
    items.push(item)
  }
  return items
}

/** On the documented mount, with the caller's own query. */
function linkToNext({ request }: ReplyHead, cursor: string, unlinked: readonly string[]): string {
  const { routeOptions, params, query } = request
  const values = new Map<string, unknown>(Object.entries(params ?? {}))
  const path = (routeOptions.config.route?.path ?? '').replace(/:([A-Za-z0-9_]+)/g, (_, name: string) =>
    encodeURIComponent(String(values.get(name))),
  )
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {}))
    if (name !== 'cursor' && !unlinked.includes(name)) search.append(name, String(value))
  search.append('cursor', cursor)
  return `<${request.documentedBase}${path}?${search.toString()}>; rel="next"`
}

/** Beside `data` in a page's schema: `Type.Object({ data: Type.Array(Item), ...pageMembers() }, { $id: 'Items' })`. */
export function pageMembers() {
  return { next_cursor: Nullable(Type.String()), has_more: Type.Boolean() }
}

export function camelPageMembers() {
  return { nextCursor: Nullable(Type.String()), hasMore: Type.Boolean() }
}
