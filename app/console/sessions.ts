import { createHash, createHmac, createSecretKey, randomBytes, type KeyObject } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { RuntimeTables } from '../../engine/projections/schema.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { Pool } from '../../platform/database/database.ts'
import { problem } from '../../platform/http/problems.ts'
import { wantsStream } from '../../engine/reads/server-sent-events.ts'
import { areEqualSecrets, openBytes, sealBytes } from '../../platform/kit/sealed-bytes.ts'
import { cookieOf, cookieText } from './cookies.ts'

/** Sessions, and the states of sign-ins that were used. */
export const sessionTables: RuntimeTables = {
  created: `
    create table if not exists runtime.console_sessions (
      id bytea primary key,
      user_id uuid not null,
      org_id uuid not null,
      sealed_id_token bytea,
      started_at timestamptz not null,
      seen_at timestamptz not null,
      ends_at timestamptz not null
    );
    create table if not exists runtime.console_sign_ins (
      state bytea primary key,
      ends_at timestamptz not null
    )
  `,
}

/** Who is signed in. The permissions are read for each request. */
export interface SignedIn {
  readonly userId: string
  /** The organisation whose role lets the person in. */
  readonly orgId: string
}

export interface Session extends SignedIn {
  readonly csrfToken: string
  readonly expiresAt: Date
}

export interface NewSession extends SignedIn {
  /** The session that the browser has had. It ends. */
  readonly former: string | undefined
  /** Ends the session of the identity provider later. Only the browser's own secret opens it. */
  readonly idToken: string | undefined
}

type SessionLimits = Pick<Configuration, 'consoleSessionSeconds' | 'consoleIdleSeconds' | 'baseUrl'>

const cookieName = '__Host-console'
/** Of one person. The oldest ones end. */
const mostSessions = 20
const idTokenPlace = 'id token'
/** The pages send it with requests that nobody asked for. */
export const refreshHeader = 'x-console-refresh'

/**
 * Sessions at the console, in the database that every API process reads. It contains their SHA-256 only. The clock is that
 * of the database.
 */
export function createSessions(pool: Pool, { consoleSessionSeconds, consoleIdleSeconds, baseUrl }: SessionLimits) {
  const ownOrigin = new URL(baseUrl).origin

  return {
    /** Returns the header `Set-Cookie`. */
    async start({ userId, orgId, former, idToken }: NewSession): Promise<string> {
      const secret = randomBytes(32).toString('base64url')
      const sealed = idToken === undefined ? null : sealBytes(keyOf(secret), idTokenPlace, Buffer.from(idToken))
      await pool.query(
        `delete from runtime.console_sessions where id = $1 or ${hasEnded(2)} or id in (
           select id from runtime.console_sessions where user_id = $3 order by started_at desc offset $4)`,
        [idOf(former ?? ''), consoleIdleSeconds, userId, mostSessions - 1],
      )
      await pool.query(
        `insert into runtime.console_sessions (id, user_id, org_id, sealed_id_token, started_at, seen_at, ends_at)
         values ($1, $2, $3, $4, clock_timestamp(), clock_timestamp(), clock_timestamp() + make_interval(secs => $5))`,
        [idOf(secret), userId, orgId, sealed, consoleSessionSeconds],
      )
      return cookieText(cookieName, secret, { sameSite: 'Strict', maxAgeSeconds: consoleSessionSeconds })
    },

    /**
     * @param mayBeByPerson false: nobody asked for it
     * @throws Problem `session-missing`, and `csrf-refused` for a write that no page of ours has sent
     */
    async read(request: FastifyRequest, mayBeByPerson = true): Promise<Session> {
      const isByPerson = mayBeByPerson && !isByBrowser(request)
      const secret = secretOf(request)
      if (secret === undefined) throw problem('session-missing')
      const columns = 'user_id, org_id, least(ends_at, seen_at + make_interval(secs => $2)) as expires_at'
      const statement = isByPerson
        ? `update runtime.console_sessions set seen_at = clock_timestamp() where id = $1 and not ${hasEnded(2)} returning ${columns}`
        : `select ${columns} from runtime.console_sessions where id = $1 and not ${hasEnded(2)}`
      const { rows } = await pool.query<{ user_id: string; org_id: string; expires_at: Date }>(statement, [
        idOf(secret),
        consoleIdleSeconds,
      ])
      const [row] = rows
      if (row === undefined) throw problem('session-missing')
      const csrfToken = csrfTokenOf(secret)
      if (request.method !== 'GET' && request.method !== 'HEAD') requireOwnPage(request, csrfToken, ownOrigin)
      return { userId: row.user_id, orgId: row.org_id, csrfToken, expiresAt: row.expires_at }
    },

    /** Returns the token with which the identity provider ends its own session. */
    async end(request: FastifyRequest): Promise<string | undefined> {
      const secret = secretOf(request) ?? ''
      const { rows } = await pool.query<{ sealed_id_token: Buffer | null }>(
        'delete from runtime.console_sessions where id = $1 returning sealed_id_token',
        [idOf(secret)],
      )
      const sealed = rows[0]?.sealed_id_token ?? null
      return sealed === null ? undefined : openBytes(keyOf(secret), idTokenPlace, sealed).toString('utf8')
    },

    /** Ends all sessions of a person who may not sign in any more. */
    async endAllOf(userId: string): Promise<void> {
      await pool.query('delete from runtime.console_sessions where user_id = $1', [userId])
    },

    /** False if the state of a sign-in was used before. It is kept until a cookie with it has ended. */
    async takeState(state: string, lifeSeconds: number): Promise<boolean> {
      await pool.query('delete from runtime.console_sign_ins where ends_at < clock_timestamp()')
      const { rowCount } = await pool.query(
        `insert into runtime.console_sign_ins (state, ends_at)
         values ($1, clock_timestamp() + make_interval(secs => $2)) on conflict do nothing`,
        [idOf(state), lifeSeconds],
      )
      return rowCount === 1
    },

    former: secretOf,
    endedCookie: cookieText(cookieName, '', { sameSite: 'Strict', maxAgeSeconds: 0 }),
  }
}
export type Sessions = ReturnType<typeof createSessions>

/** Nobody asked for it, so it does not keep the session alive. A browser connects a stream again by itself, without our header. */
function isByBrowser({ headers }: FastifyRequest): boolean {
  return headers[refreshHeader] !== undefined || wantsStream(headers.accept)
}

/** SQL. The parameter has the seconds of `CONSOLE_IDLE_SECONDS`. */
function hasEnded(parameter: number): string {
  return `(ends_at <= clock_timestamp() or seen_at <= clock_timestamp() - make_interval(secs => $${parameter}))`
}

function secretOf(request: FastifyRequest): string | undefined {
  const secret = cookieOf(request, cookieName)
  return secret !== undefined && /^[A-Za-z0-9_-]{43}$/.test(secret) ? secret : undefined
}

function idOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

function keyOf(secret: string): KeyObject {
  return createSecretKey(createHmac('sha256', secret).update('id token').digest())
}

function csrfTokenOf(secret: string): string {
  return createHmac('sha256', secret).update('csrf token').digest('base64url')
}

/** @throws Problem `csrf-refused` */
function requireOwnPage(request: FastifyRequest, csrfToken: string, ownOrigin: string): void {
  const given = request.headers['x-csrf-token']
  if (typeof given !== 'string' || !areEqualSecrets(given, csrfToken)) throw problem('csrf-refused')
  requireSameOrigin(request, ownOrigin)
}

/**
 * Browsers send these headers, and pages cannot change them. Other programs may leave them out. A form of a page without a
 * referrer has the origin `null`: then only `Sec-Fetch-Site` shows where it comes from.
 *
 * @throws Problem `csrf-refused`
 */
export function requireSameOrigin({ headers }: FastifyRequest, ownOrigin: string): void {
  const { origin, host, 'sec-fetch-site': site } = headers
  const isHidden = origin === 'null' && site !== undefined
  const isOwn = origin === undefined || isHidden || origin === ownOrigin || hostOf(origin) === host
  if (!isOwn || (site !== undefined && site !== 'same-origin')) throw problem('csrf-refused')
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}
