import { memberOf } from './outside-answers.ts'
import { toEgressError } from './egress-error.ts'
import { errorOf, type ErrorSummary } from './error-of.ts'
import { noTracer, traceInProgress, type Span, type SpanAttributes, type Tracer } from '../kit/tracing.ts'

/** The systems outside that the platform calls by its own configuration. Receivers of tenants are not among them. */
export const outsideSystems = ['provider', 'mail', 'chat', 'object_store', 'identity_provider'] as const
export type OutsideSystem = (typeof outsideSystems)[number]

/** Systems whose calls have a span, but no figures: receivers of tenants, and the platform itself. */
export type UncountedSystem = 'webhook' | 'client_keys' | 'image' | 'service' | 'witness'

/**
 * - `refused`: it answered that it does not do this (HTTP 4xx, a refused recipient).
 * - `failed`: it answered that it cannot do anything now (HTTP 5xx).
 */
export const callOutcomes = ['ok', 'refused', 'failed', 'unreachable', 'timeout'] as const
export type CallOutcome = (typeof callOutcomes)[number]

/** The end of a call: the status of HTTP or SMTP, or the error of a call without an answer. */
export type CallEnd = { readonly status: number } | { readonly error: unknown }

/** A call that has begun. */
export interface OpenCall {
  /** W3C Trace Context of the call. Undefined if no request has caused it. */
  readonly traceparent: string | undefined
  /** Call it once, when the call has ended. Calls after the first are ignored. */
  readonly end: (end: CallEnd) => void
}

export interface CountedCall {
  readonly system: OutsideSystem
  readonly outcome: CallOutcome
  readonly durationMs: number
}

/** What this process saw of a system since the last `take`. The counts begin after the last success. */
export interface SystemNews {
  readonly system: OutsideSystem
  readonly lastSuccessAt: Date | null
  readonly failures: number
  readonly failingSince: Date | null
  readonly error: ErrorSummary | null
}

interface SystemState {
  news: SystemNews
  /** The last call had no answer. Also after `take`. */
  isSilent: boolean
  /** Starts of the calls that have no answer yet, the oldest first. Limits of the callers bound it. */
  readonly open: Set<{ readonly sinceMs: number }>
}

/** Collects the outcomes of calls in memory: five systems, whatever the number of calls. A call never waits for it. */
export class OutsideCalls {
  readonly #systems: Map<OutsideSystem, SystemState>
  readonly #onCall: (call: CountedCall) => void
  readonly #now: () => number
  readonly #clock: () => Date
  readonly #tracer: Tracer

  /**
   * @param now milliseconds of a monotonic clock
   * @param clock the instants that operators see
   */
  constructor({
    onCall = () => undefined,
    now = () => performance.now(),
    clock = () => new Date(),
    tracer = noTracer,
  }: {
    readonly onCall?: (call: CountedCall) => void
    readonly now?: () => number
    readonly clock?: () => Date
    readonly tracer?: Tracer
  } = {}) {
    this.#onCall = onCall
    this.#now = now
    this.#clock = clock
    this.#tracer = tracer
    this.#systems = new Map(
      outsideSystems.map((system) => [system, { news: nothingOf(system), isSilent: false, open: new Set() }]),
    )
  }

  /** @param host of the server, if the call knows it */
  begin(system: OutsideSystem | UncountedSystem, host?: string): OpenCall {
    const span = this.#spanOf(system, host)
    const counted = isCounted(system) ? this.#count(system) : undefined
    return {
      traceparent: span?.traceparent ?? traceInProgress(),
      end(end) {
        counted?.(end)
        span?.end(endOfSpan(end))
      },
    }
  }

  #count(system: OutsideSystem): (end: CallEnd) => void {
    const state = this.#stateOf(system)
    const call = { sinceMs: this.#now() }
    state.open.add(call)
    return (end) => {
      if (!state.open.delete(call)) return
      const outcome = outcomeOf(end)
      if (outcome === undefined) return
      this.#note(state, outcome, end)
      this.#onCall({ system, outcome, durationMs: this.#now() - call.sinceMs })
    }
  }

  #spanOf(system: string, host: string | undefined): Span | undefined {
    const parent = traceInProgress()
    if (parent === undefined || this.#tracer === noTracer) return undefined
    return this.#tracer.start(`call ${system}`, { parent, kind: 'client', attributes: { 'server.address': host } })
  }

  /** Whether the last call of a system had no answer, or one has waited for it so long. */
  isSuspect(system: OutsideSystem, silenceMs: number): boolean {
    const { isSilent, open } = this.#stateOf(system)
    const [oldest] = open
    return isSilent || (oldest !== undefined && this.#now() - oldest.sinceMs >= silenceMs)
  }

  /** The news since the last call of this function, of the systems that there are any of. */
  take(): readonly SystemNews[] {
    const states = [...this.#systems.values()]
    const news = states.map((state) => state.news)
    for (const state of states) state.news = nothingOf(state.news.system)
    return news.filter(({ lastSuccessAt, failures }) => lastSuccessAt !== null || failures > 0)
  }

  /** Puts news back that could not be stored, before those that came since. */
  putBack(taken: readonly SystemNews[]): void {
    for (const older of taken) {
      const state = this.#stateOf(older.system)
      const { news } = state
      if (news.lastSuccessAt === null)
        state.news = {
          ...older,
          failures: older.failures + news.failures,
          failingSince: older.failingSince ?? news.failingSince,
          error: news.error ?? older.error,
        }
    }
  }

  #note(state: SystemState, outcome: CallOutcome, end: CallEnd): void {
    const { news } = state
    const at = this.#clock()
    state.isSilent = outcome === 'unreachable' || outcome === 'timeout'
    if (!isFailure(outcome, end)) state.news = { ...nothingOf(news.system), lastSuccessAt: at }
    else
      state.news = {
        ...news,
        failures: news.failures + 1,
        failingSince: news.failingSince ?? at,
        error: 'status' in end ? { class: 'Answer', code: String(end.status), host: null } : errorOf(end.error),
      }
  }

  #stateOf(system: OutsideSystem): SystemState {
    const state = this.#systems.get(system)
    if (state === undefined) throw new TypeError(`there is no system ${system}`)
    return state
  }
}

function isCounted(system: OutsideSystem | UncountedSystem): system is OutsideSystem {
  return outsideSystems.some((counted) => counted === system)
}

function endOfSpan(end: CallEnd): SpanAttributes {
  const outcome = { 'platform.outcome': outcomeOf(end) ?? 'aborted' }
  if (!('error' in end)) {
    const failed = end.status >= 400 ? { 'error.type': String(end.status) } : {}
    return { ...outcome, ...failed, 'http.response.status_code': end.status }
  }
  const { class: name, code } = errorOf(end.error)
  return { ...outcome, 'error.type': code ?? name }
}

function nothingOf(system: OutsideSystem): SystemNews {
  return { system, lastSuccessAt: null, failures: 0, failingSince: null, error: null }
}

/** Our credentials are refused: nothing can be done there until an operator acts. */
const refusedCredentials: ReadonlySet<number> = new Set([401, 403, 530, 534, 535, 538])

/** A refusal proves that the system works, unless it refuses our credentials. */
function isFailure(outcome: CallOutcome, end: CallEnd): boolean {
  if (outcome !== 'refused') return outcome !== 'ok'
  const status = statusOf(end)
  return status !== undefined && refusedCredentials.has(status)
}

/** Undefined for a call that its caller ended, and for one that was not made: they show nothing about the system. */
function outcomeOf(end: CallEnd): CallOutcome | undefined {
  if ('error' in end) {
    const reply = smtpReplyOf(end.error)
    if (reply !== undefined) return reply === 421 ? 'failed' : 'refused'
    const { code } = toEgressError(end.error)
    if (code === 'aborted' || code === 'circuit_open') return undefined
    if (code === 'timeout') return 'timeout'
    return code === 'body_too_large' ? 'failed' : 'unreachable'
  }
  if (end.status < 400) return 'ok'
  return end.status < 500 ? 'refused' : 'failed'
}

function statusOf(end: CallEnd): number | undefined {
  return 'status' in end ? end.status : smtpReplyOf(end.error)
}

/** The mail client throws replies that are no success. */
function smtpReplyOf(error: unknown): number | undefined {
  const status = memberOf(error, 'responseCode')
  return typeof status === 'number' && status >= 400 && status < 600 ? status : undefined
}
