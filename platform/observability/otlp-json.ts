import type { ReadableSpan } from '@opentelemetry/sdk-trace'

/** What all spans of a process share. */
export interface SpanSource {
  readonly serviceName: string
  readonly serviceVersion: string
  /** UUID of the process. */
  readonly instanceId: string
}

/**
 * The body of a request to `/v1/traces`: an `ExportTraceServiceRequest` in the JSON encoding of OTLP 1.x. Our spans have
 * no events, links and messages. So it writes none, whatever the span contains.
 */
export function otlpBody(
  { serviceName, serviceVersion, instanceId }: SpanSource,
  spans: readonly ReadableSpan[],
): string {
  const resource = {
    'service.name': serviceName,
    'service.version': serviceVersion,
    'service.instance.id': instanceId,
  }
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: 'platform' }, spans: spans.map(spanOf) }],
      },
    ],
  })
}

function spanOf(span: ReadableSpan) {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return {
    traceId,
    spanId,
    ...(span.parentSpanContext === undefined ? {} : { parentSpanId: span.parentSpanContext.spanId }),
    flags: traceFlags,
    name: span.name,
    // OTLP counts from `SPAN_KIND_UNSPECIFIED`, the SDK from `INTERNAL`.
    kind: span.kind + 1,
    startTimeUnixNano: nanosecondsOf(span.startTime),
    endTimeUnixNano: nanosecondsOf(span.endTime),
    attributes: attributesOf(span.attributes),
    status: { code: span.status.code },
  }
}

/** A 64-bit number is a string in JSON. */
function nanosecondsOf([seconds, nanoseconds]: readonly [number, number]): string {
  return `${seconds}${String(nanoseconds).padStart(9, '0')}`
}

function attributesOf(attributes: Readonly<Record<string, unknown>>) {
  return Object.entries(attributes).flatMap(([key, value]) => {
    const encoded = valueOf(value)
    return encoded === undefined ? [] : [{ key, value: encoded }]
  })
}

function valueOf(value: unknown): object | undefined {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'number') return { intValue: String(Math.trunc(value)) }
  return Array.isArray(value) ? { arrayValue: { values: value.map(valueOf) } } : undefined
}
