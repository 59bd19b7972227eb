import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, type Client } from 'clinical-assessment-client/source'

/** An answer of the API: status, headers and the parsed body (undefined if empty). */
export interface ApiAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

export interface ApiRequest {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface RawApi {
  call(path: string, request?: ApiRequest): Promise<ApiAnswer>
}

/**
 * The platform as one token reaches it. Products use `client`. A raw call is for what the client hides or its types exclude:
 * the headers of a refusal, other mounts of a path, wrong bodies, and answers that are compared as a whole.
 */
export interface ApiClient extends RawApi {
  /** Without repeats. */
  readonly client: Client
}

export interface ClientSecrets {
  readonly client_id: string
  readonly client_secret: string
}

/** Requests a token with client credentials, form-encoded (RFC 6749, 4.4). */
export async function requestToken(baseUrl: string, { client_id, client_secret }: ClientSecrets): Promise<ApiAnswer> {
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret })
  return answerOf(await fetch(`${baseUrl}/v1/auth/oauth/token`, { method: 'POST', body: form }))
}

export function createApiClient(baseUrl: string, token: string): ApiClient {
  return {
    client: createClient({ baseUrl, token, retries: 0 }),
    async call(path, { method, body, headers } = {}) {
      const response = await fetch(`${baseUrl}${path}`, {
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return answerOf(response)
    },
  }
}

/** Sends again while the answer is 503, as its detail asks for. A busy machine answers so to some of many requests at once. */
export async function sendUntilAnswered(send: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
  const answer = await send()
  if (answer.status !== 503) return answer
  await sleep(Number(answer.headers.get('retry-after')) * 1000)
  return sendUntilAnswered(send)
}

async function answerOf(response: Response): Promise<ApiAnswer> {
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}
