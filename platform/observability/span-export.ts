import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import type { Configuration } from '../configuration/configuration.ts'
import { backoffMs, pause } from '../kit/backoff.ts'
import { toEgressError } from '../outbound/egress-error.ts'
import type { Egress } from '../outbound/egress.ts'
import { otlpBody, type SpanSource } from './otlp-json.ts'

/** Spans that wait for the collector. Others are dropped. */
export const mostWaiting = 2_048
/** Spans of one request. */
const mostTogether = 512
/** Milliseconds for which spans wait for others. */
const gatherMs = 1_000
const timeoutMs = 5_000
const backoff = { firstMs: 1_000, mostMs: 30_000 }
/** Milliseconds for which a stop waits for the collector. */
const stopMs = 2_000
const mostAnswerBytes = 64 * 1024
/** Other answers than these refuse the spans for ever (OTLP 1.x, "Retryable Response Codes"). */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504])

interface ExportOptions {
  readonly configuration: Pick<Configuration, 'otelEndpoint' | 'otelHeaders'>
  readonly egress: Pick<Egress, 'request'>
  readonly source: SpanSource
  readonly count: (ended: { readonly outcome: 'exported' | 'dropped'; readonly spans: number }) => void
}

/** Sends ended spans to the collector. Nobody waits for it, but a stop for two seconds. */
export class SpanExport {
  readonly #options: ExportOptions
  readonly #url: string
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  #waiting: ReadableSpan[] = []
  #enough = Promise.withResolvers<void>()

  constructor(options: ExportOptions) {
    this.#options = options
    this.#url = `${options.configuration.otelEndpoint}/v1/traces`
    this.#running = this.#run()
  }

  take(span: ReadableSpan): void {
    if (this.#waiting.length >= mostWaiting || this.#closing.signal.aborted) return this.#drop(1)
    this.#waiting.push(span)
    if (this.#waiting.length >= mostTogether) this.#enough.resolve()
  }

  /** Sends what waits, within two seconds. The rest is dropped. */
  async close(): Promise<void> {
    this.#closing.abort()
    const limit = AbortSignal.timeout(stopMs)
    await this.#running
    while (this.#waiting.length > 0 && !limit.aborted) if ((await this.#send(limit)) === 'later') break
    this.#drop(this.#waiting.length)
    this.#waiting = []
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    for (let failures = 0; !signal.aborted;) {
      if (failures > 0) await pause(backoffMs(backoff, failures), signal)
      else await this.#gathered(signal)
      if (signal.aborted || this.#waiting.length === 0) continue
      failures = (await this.#send(signal)) === 'later' ? failures + 1 : 0
    }
  }

  async #gathered(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length >= mostTogether) return
    this.#enough = Promise.withResolvers()
    const over = new AbortController()
    await Promise.race([this.#enough.promise, pause(gatherMs, AbortSignal.any([signal, over.signal]))])
    over.abort()
  }

  /** Sends the oldest spans. `later`: they still wait. */
  async #send(signal: AbortSignal): Promise<'done' | 'later'> {
    const { egress, configuration, source, count } = this.#options
    const spans = this.#waiting.slice(0, mostTogether)
    const status = await egress
      .request(this.#url, {
        purpose: 'traces',
        method: 'POST',
        headers: { ...configuration.otelHeaders, 'content-type': 'application/json' },
        body: otlpBody(source, spans),
        timeoutMs,
        maxBytes: mostAnswerBytes,
        signal,
      })
      .then(async (answer) => {
        await answer.discard()
        return answer.status
      })
      .catch((error: unknown) => toEgressError(error).code)
    if (typeof status === 'string' || passing.has(status)) return 'later'
    this.#waiting.splice(0, spans.length)
    if (status < 300) count({ outcome: 'exported', spans: spans.length })
    else this.#drop(spans.length)
    return 'done'
  }

  #drop(spans: number): void {
    if (spans > 0) this.#options.count({ outcome: 'dropped', spans })
  }
}
