import { readFeed } from './feed.ts'
import { exchange, mostRetries, repeated } from './sending.ts'
import type { Answer, AnyOptions, Client, ClientOptions, Page } from './shapes.ts'
import { createTokens } from './tokens.ts'

export { Problem, type ProblemCode } from './problem.ts'
export { verifyWebhook } from './webhooks.ts'
export type * from './shapes.ts'

/** A client of the platform. It gets tokens, repeats what may succeed later, and throws a {@link Problem} for the rest. */
export function createClient(options: ClientOptions): Client {
  const { retries = mostRetries } = options
  const baseUrl = new URL(options.baseUrl).href.replace(/\/+$/, '')
  const tokens = createTokens({ ...options, baseUrl })

  async function call(method: string, path: string, options: AnyOptions = {}): Promise<Answer> {
    const { params, body, idempotencyKey: key, wait, headers: further, signal } = options
    const url = addressOf(baseUrl, path, params)
    const headers = new Headers(further)
    // The same in all tries, so that the request takes effect once.
    if (method === 'POST') headers.set('idempotency-key', key ?? headers.get('idempotency-key') ?? crypto.randomUUID())
    if (wait !== undefined) headers.set('prefer', `wait=${wait}`)
    const isJson = body !== undefined && !(body instanceof URLSearchParams)
    if (isJson) headers.set('content-type', 'application/json')
    const sent = isJson ? JSON.stringify(body) : body
    return repeated({ tokens, retries, signal }, (token) => {
      headers.set('authorization', `Bearer ${token}`)
      return exchange(url, { method, headers, signal, body: sent ?? null }, wait)
    })
  }

  async function* items(path: string, { params, ...options }: AnyOptions = {}) {
    for (let cursor: string | null | undefined; cursor !== null;) {
      const { data } = await call('GET', path, { ...options, params: { ...Object(params), cursor } })
      const { data: found, next_cursor, nextCursor } = data as Page
      yield* found
      cursor = next_cursor ?? nextCursor ?? null
    }
  }

  return {
    request: (method, path, ...[options]) => call(method, path, options) as Promise<Answer<never>>,
    list: (path, ...[options]) => items(path, options) as AsyncGenerator<never, void, undefined>,
    async upload(url, body, { type, signal }) {
      const init = { method: 'PUT', headers: { 'content-type': type }, body, signal }
      await repeated({ retries, signal }, () => exchange(url, init))
    },
    events(channel, { after, types, orgId, signal } = {}) {
      const query = { channel, types: types?.join(','), org_id: orgId }
      const addressAfter = (cursor?: string) => addressOf(baseUrl, '/v1/events/{channel}', { ...query, after: cursor })
      return readFeed(addressAfter, { tokens, retries, signal }, after)
    },
  }
}

/** Parameters that the path names are parts of it. The others are the query. */
function addressOf(baseUrl: string, path: string, params: unknown): URL {
  const left = new Map<string, string | number | boolean | undefined>(Object.entries(Object(params)))
  const named = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = left.get(name)
    left.delete(name)
    // A dot is no name: it would lead to another path.
    if (!/^(?!\.{1,2}$)./.test(String(value ?? ''))) throw new TypeError(`${path} needs the parameter ${name}`)
    return encodeURIComponent(String(value))
  })
  const url = new URL(baseUrl + named)
  for (const [name, value] of left) if (value !== undefined) url.searchParams.set(name, String(value))
  return url
}
