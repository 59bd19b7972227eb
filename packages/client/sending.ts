import { loseConnection, Problem, problemOf } from './problem.ts'
import type { Answer } from './shapes.ts'

export interface Tokens {
  get(signal: AbortSignal | undefined): Promise<string>
  /** Forgets a refused token. False if no other can be had. */
  renew(refused: string): boolean
}

export interface Repeats {
  /** Without them the request has no token. */
  readonly tokens?: Tokens
  readonly retries: number
  readonly signal?: AbortSignal | undefined
}

export const mostRetries = 4
/** The platform ends a request after 120 s. */
const answerMs = 130_000
/** A request that has to wait longer fails at once, with the time to wait. */
const longestPauseSeconds = 60

/** Tries until there is an answer, a problem that stays, or no try left. A refused token is renewed once. */
export async function repeated<Result>(
  { tokens, retries, signal }: Repeats,
  attempt: (token: string | undefined) => Promise<Result>,
): Promise<Result> {
  let isRenewed = false
  let isUncertain = false
  for (let tries = 1; ; tries += 1) {
    signal?.throwIfAborted()
    let token: string | undefined
    let isSent = false
    try {
      token = await tokens?.get(signal)
      isSent = true
      return await attempt(token)
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof Problem)) throw error
      isUncertain ||= isSent && (error.status < 300 || error.status >= 500)
      error.mayHaveHappened ||= isUncertain
      if (error.status === 401 && token !== undefined && !isRenewed && tokens?.renew(token) === true) {
        isRenewed = true
        continue
      }
      const { retriable, retryAfterSeconds = 0 } = error
      if (!retriable || tries > Math.min(retries, mostRetries) || retryAfterSeconds > longestPauseSeconds) throw error
      await pause(retryAfterSeconds * 1_000 + backoffMs(tries), signal)
    }
  }
}

/** Doubles with each try, with jitter so that many clients do not come back at once. */
export function backoffMs(tries: number): number {
  return Math.min(250 * 2 ** (tries - 1), 8_000) * (0.5 + Math.random() / 2)
}

/** One try. Everything but a success is a problem, and so is a success that has a body and no JSON. */
export async function exchange(
  url: string | URL,
  { signal, ...init }: Pick<RequestInit, 'method' | 'headers' | 'body'> & Pick<Repeats, 'signal'>,
  waitSeconds = 0,
): Promise<Answer> {
  const limit = AbortSignal.timeout(answerMs + waitSeconds * 1_000)
  const request = new Request(url, { ...init, redirect: 'manual', signal: AbortSignal.any([limit, signal ?? limit]) })
  const answer = await fetch(request).catch(loseConnection)
  const { status, headers } = answer
  const text = await answer.text().catch(loseConnection)
  const data = parsed(answer, text)
  if ((answer.ok || status === 304) && (data !== undefined || text === '')) return { status, headers, data }
  throw problemOf(answer, data)
}

/** Undefined for what is no JSON. */
export function parsed({ headers }: Response, text: string): unknown {
  return /[/+]json\b/i.test(headers.get('content-type') ?? '') ? jsonIn(text) : undefined
}

export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Ends with the work, or rejects as soon as the signal is aborted. The work goes on for others. */
export async function abortable<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  const ending = new AbortController()
  const aborted = new Promise<never>((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { signal: ending.signal })
    if (signal?.aborted === true) reject(signal.reason)
  })
  return Promise.race([work, aborted]).finally(() => ending.abort())
}

export async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise((resolve) => (timer = setTimeout(resolve, milliseconds)))
  await abortable(over, signal).finally(() => clearTimeout(timer))
}
