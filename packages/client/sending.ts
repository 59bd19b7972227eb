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
  for (let tries = 1; ; tries += 1) {
    signal?.throwIfAborted()
    const token = await tokens?.get(signal)
    try {
      return await attempt(token)
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof Problem)) throw error
      const isRefused = error.status === 401 && token !== undefined && !isRenewed
      if (isRefused && tokens?.renew(token) === true) {
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
  const request = new Request(url, { ...init, redirect: 'manual', signal: either(signal, limit) })
  const answer = await fetch(request).catch(loseConnection)
  const { status, headers } = answer
  const text = await answer.text().catch(loseConnection)
  const data = parsed(answer, text)
  if ((answer.ok || status === 304) && (data !== undefined || text === '')) return { status, headers, data }
  throw problemOf(answer, data)
}

/** Undefined for what is no JSON. */
export function parsed({ headers }: Response, text: string): unknown {
  if (!/[/+]json\b/i.test(headers.get('content-type') ?? '')) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function either(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined))
}

/** Ends with the work, or rejects as soon as the signal is aborted. The work goes on for others. */
export async function abortable<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return work
  let abort = (): void => undefined
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort)
  })
  try {
    if (signal.aborted) abort()
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

export async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await abortable(over, signal).finally(() => clearTimeout(timer))
}
