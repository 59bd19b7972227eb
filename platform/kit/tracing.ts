import { AsyncLocalStorage } from 'node:async_hooks'

// This file contains everything that may leave the platform in a span: its name and its attributes.

/** Other methods are `_OTHER`: clients choose them freely where there is no route. */
export const tracedMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', '_OTHER'] as const

/**
 * Names contain templates of routes, categories of streams, and names that the code fixes. Never a path, an id or a
 * value.
 */
export type SpanName =
  | `${(typeof tracedMethods)[number]} ${string}` // template of the route, or `unknown`
  | `append ${string}` // category of the stream, or public channel
  | `read ${string}` // category of the stream
  | `project ${string}` // projector
  | `step ${string}.${string}` // process and step
  | `call ${string}` // system that is called

/**
 * The closed list of attributes: ids, codes, names, hosts and counts. No url, path, query, header, body, SQL, address of
 * a caller, or message of an error. The first five are those of the semantic conventions of OpenTelemetry.
 */
export interface SpanAttributes {
  readonly 'http.request.method'?: string | undefined
  /** The template of the route. */
  readonly 'http.route'?: string | undefined
  readonly 'http.response.status_code'?: number | undefined
  /** Host of the server that is called, with a port that is not the usual one. */
  readonly 'server.address'?: string | undefined
  /** The span has failed: a status, a code, or the class of an error. */
  readonly 'error.type'?: string | undefined
  /** UUID. */
  readonly 'platform.organisation.id'?: string | undefined
  /** UUID of everything that one request causes. The log has it too. */
  readonly 'platform.correlation.id'?: string | undefined
  /** Name of a stream: category and ids. */
  readonly 'platform.stream'?: string | undefined
  /** UUID of the event that made a step due. */
  readonly 'platform.event.id'?: string | undefined
  readonly 'platform.event.types'?: string[] | undefined
  /** How many events of this trace the span is about. */
  readonly 'platform.event.count'?: number | undefined
  /** How an append, a step or a call ended. */
  readonly 'platform.outcome'?: string | undefined
}

export interface Span {
  /** W3C Trace Context of the span, for events and for calls to others. Undefined if no trace is in progress. */
  readonly traceparent: string | undefined
  /** Only the first call counts. */
  end(attributes?: SpanAttributes): void
}

export interface SpanStart {
  /** `traceparent` of the span that causes this one. Undefined starts a trace. */
  readonly parent: string | undefined
  /** Default: work inside the platform. */
  readonly kind?: 'server' | 'client'
  readonly attributes?: SpanAttributes
}

/** Without OTEL_EXPORTER_OTLP_ENDPOINT it is `noTracer`, and the SDK of OpenTelemetry is not loaded. */
export interface Tracer {
  start(name: SpanName, start: SpanStart): Span
}

/** Records nothing. Traces of callers go through unchanged. */
export const noTracer: Tracer = {
  start: (_, { parent }) => ({ traceparent: parent, end: () => undefined }),
}

const inProgress = new AsyncLocalStorage<string | undefined>()

/** The `traceparent` of the work in progress. Undefined if no request has caused it. */
export function traceInProgress(): string | undefined {
  return inProgress.getStore()
}

/** Runs work for the request of this `traceparent`. Without one, the work is of no trace. */
export function withinTrace<Result>(traceparent: string | undefined, work: () => Result): Result {
  return inProgress.run(traceparent, work)
}

interface Traced<Result> {
  /** Default: the trace in progress. */
  readonly parent?: string | undefined
  readonly attributes?: SpanAttributes
  readonly endOf?: (result: Result) => SpanAttributes
}

/** Runs work in a span. Work of no trace gets no span. */
export async function inSpan<Result>(
  tracer: Tracer,
  name: SpanName,
  { parent = traceInProgress(), attributes = {}, endOf = () => ({}) }: Traced<Result>,
  work: () => Promise<Result>,
): Promise<Result> {
  if (tracer === noTracer || parent === undefined) return work()
  const span = tracer.start(name, { parent, attributes })
  try {
    const result = await withinTrace(span.traceparent, work)
    span.end(endOf(result))
    return result
  } catch (error) {
    span.end({ 'error.type': error instanceof Error ? error.constructor.name : 'unknown' })
    throw error
  }
}

/** Runs work that events of many traces share. Each trace gets a span of it, with the number of its events. */
export async function inSpansOf<Result>(
  tracer: Tracer,
  works: Iterable<{ readonly name: SpanName; readonly traceparents: Iterable<string | undefined> }>,
  work: () => Promise<Result>,
): Promise<Result> {
  if (tracer === noTracer) return work()
  const spans: Span[] = []
  for (const { name, traceparents } of works) {
    const counts = new Map<string, number>()
    for (const parent of traceparents) if (parent !== undefined) counts.set(parent, (counts.get(parent) ?? 0) + 1)
    for (const [parent, count] of counts)
      spans.push(tracer.start(name, { parent, attributes: { 'platform.event.count': count } }))
  }
  let failure: SpanAttributes = { 'error.type': 'failed' }
  try {
    const result = await work()
    failure = {}
    return result
  } finally {
    for (const span of spans) span.end(failure)
  }
}
