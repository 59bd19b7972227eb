import type { FastifyRequest } from 'fastify'
import {
  type StreamRevision,
  comparePositions,
  formatPosition,
  parsePosition,
  type Position,
} from '../kit/positions.ts'
import { noOrganisation, type TenantId } from '../kit/tenants.ts'
import { problem } from './problems.ts'
import { applyPreference, preferencesOf } from './preferences.ts'

/** What happened to a wait for read models; `lagMs` when they were not there in time. */
interface ReadYourWritesResult {
  readonly caughtUp: boolean
  readonly lagMs?: number | undefined
}

/** Waits until the projectors have passed the position, or for the time limit. Never fails for lag. */
export type ReadYourWrites = (
  position: Position,
  projectors: readonly string[],
  timeoutMs: number,
) => Promise<ReadYourWritesResult>

declare module 'fastify' {
  interface FastifyInstance {
    readYourWrites: ReadYourWrites
    readYourWritesMs: number
  }
}

/** What the helpers need of a reply; any typed `FastifyReply` is one. */
export interface ReplyHead {
  statusCode: number
  readonly request: FastifyRequest
  header(name: string, value: string): unknown
  getHeader(name: string): unknown
}

/** A projector, by what identifies it. */
export interface ServingProjector {
  readonly name: string
  readonly version: number
}

export interface Write<Body> {
  readonly status: 200 | 201 | 202 | 204
  readonly body: Body
  /** `$all` position of the last event of this write, or of the events that a repeat found. */
  readonly position: Position | undefined
  /** The projectors whose tables serve the record. */
  readonly readBy: readonly ServingProjector[]
  /** Path below the service's documented mount, like `/patients/<id>`. */
  readonly location?: string | undefined
  /** Revision of the record's stream; becomes the ETag. */
  readonly revision?: StreamRevision
  /** The Idempotency-Key was seen before and this is the existing record. */
  readonly isReplayed?: boolean
  /** The time after which to look again. */
  readonly retryAfterSeconds?: number | undefined
}

/** Answers a write with the record after it, once the record can be read (or `READ_YOUR_WRITES_MS` has passed). */
export async function answerWrite<Body>(reply: ReplyHead, write: Write<Body>): Promise<Body> {
  const { location, position, revision, retryAfterSeconds } = write
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
  if (write.isReplayed === true) reply.header('idempotency-replayed', 'true')
  if (revision !== undefined) reply.header('etag', etagOf(revision))
  if (position !== undefined) await waitForProjectors(reply, position, write.readBy)
  if (location !== undefined) reply.header('location', reply.request.documentedBase + location)
  reply.statusCode = write.status
  return write.body
}

/** Whole seconds from now to an instant (RFC 3339, or null for none), at least one: a value of `Retry-After`. */
export function secondsUntil(instant: string | null, now: Date): number {
  return instant === null ? 1 : Math.max(1, Math.ceil((Date.parse(instant) - now.getTime()) / 1000))
}

async function waitForProjectors(
  reply: ReplyHead,
  position: Position,
  readBy: readonly ServingProjector[],
): Promise<void> {
  const { request } = reply
  reply.header('x-commit-position', formatPosition(position))
  if (preferencesOf(request.headers.prefer).has('respond-async')) {
    applyPreference(reply, 'respond-async')
    return
  }
  const { readYourWrites, readYourWritesMs } = request.server
  const projectors = readBy.map(({ name }) => name)
  await readYourWrites(position, projectors, readYourWritesMs)
}

/**
 * A GET that names X-Min-Commit-Position waits until the projectors that serve it have passed that position. If the
 * wait takes too long, the answer comes from the present rows, and X-Projection-Lag-Ms contains the lag.
 */
export async function awaitMinimumPosition(reply: ReplyHead, projectors: readonly string[]): Promise<void> {
  const { request } = reply
  const header = request.headers['x-min-commit-position']
  if (header === undefined) return
  const position = typeof header === 'string' ? parsePosition(header) : undefined
  if (position === undefined) {
    throw problem('malformed-request', { detail: 'X-Min-Commit-Position must be a value of X-Commit-Position.' })
  }
  const { caughtUp, lagMs } = await request.server.readYourWrites(position, projectors, request.server.readYourWritesMs)
  if (!caughtUp) reply.header('x-projection-lag-ms', String(Math.round(lagMs ?? request.server.readYourWritesMs)))
}

/** The later of the positions of several appends. */
export function latest(...positions: readonly (Position | undefined)[]): Position | undefined {
  return positions.reduce(
    (late, next) => (late === undefined || (next !== undefined && comparePositions(next, late) > 0) ? next : late),
    undefined,
  )
}

/** Stands for the revision of a stream that does not exist yet, for records that can be read before the first write. */
const beforeFirst = -1n

/** Strong validator of a record; the variant distinguishes answers of one revision. */
export function etagOf(revision: StreamRevision, variant?: number | string): string {
  const number = revision === 'no_stream' ? beforeFirst : revision
  return variant === undefined ? `"${number}"` : `"${number}.${variant}"`
}

/**
 * For an address that shows a record of its own to each organisation. The actor of a request can name the organisation, and
 * revisions of two organisations can be the same.
 */
export function variantFor(tenant: TenantId | null, variant?: number): string {
  const owner = tenant ?? noOrganisation
  return variant === undefined ? owner : `${variant}.${owner}`
}

/**
 * The revisions that If-Match admits, in any variant. Undefined without the header, or for `*`. For a record that
 * shares its stream with others: the decision compares the revision of the record.
 */
export function admittedRevisions(request: FastifyRequest): readonly bigint[] | undefined {
  const header = request.headers['if-match']
  if (header === undefined || header.trim() === '*') return undefined
  return header.split(',').flatMap((tag) => {
    const revision = /^\s*"(-1|\d{1,19})(?:\.[\da-f.-]{1,64})?"\s*$/.exec(tag)?.[1]
    return revision === undefined ? [] : [BigInt(revision)]
  })
}

/** Throws `precondition-failed` unless If-Match is absent or names the revision. */
export function requireMatch(request: FastifyRequest, revision: StreamRevision): void {
  const admitted = admittedRevisions(request)
  const number = revision === 'no_stream' ? beforeFirst : revision
  if (admitted !== undefined && !admitted.includes(number)) throw problem('precondition-failed')
}

/**
 * For a write that creates the record if it does not exist. `If-Match: *` then means that the record must exist (RFC 9110,
 * 13.1.1).
 * @throws Problem `precondition-failed`
 */
export function refuseCreation(request: FastifyRequest): void {
  if (request.headers['if-match']?.trim() === '*') throw problem('precondition-failed')
}

export interface FoundRecord<Body> {
  readonly body: Body
  readonly revision: StreamRevision
  /**
   * Tells apart answers of one revision: the window of signed addresses, the revision of another stream, or the organisation that
   * sees the record.
   */
  readonly variant?: number | string | undefined
}

/** 200 with ETag, or 304 without the body (which the application drops) when If-None-Match names this version. */
export function found<Body>(reply: ReplyHead, { body, revision, variant }: FoundRecord<Body>): Body {
  const etag = etagOf(revision, variant)
  reply.header('etag', etag)
  if (namesVersion(reply.request.headers['if-none-match'], etag)) reply.statusCode = 304
  return body
}

/** Whether If-None-Match names the version; compared weakly (RFC 9110, 13.1.2). */
export function namesVersion(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = ifNoneMatch?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? []
  return known.includes(etag) || known.includes('*')
}
