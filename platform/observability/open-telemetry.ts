import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Context } from '@opentelemetry/api'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type ReadableSpan,
  type Sampler,
} from '@opentelemetry/sdk-trace'
import type { Configuration } from '../configuration/configuration.ts'
import type { Tracer } from '../kit/tracing.ts'

/** Where ended spans go. It must not throw. */
export type TakeSpan = (span: ReadableSpan) => void

type SamplerSettings = Pick<Configuration, 'otelTracesSampler' | 'otelTracesSamplerArg'>

/** Makes spans with the SDK of OpenTelemetry. It sets nothing that is global, and reads no variable. */
export function createTracer(settings: SamplerSettings, take: TakeSpan): Tracer {
  const nothing = async () => undefined
  const processor = { onStart: () => undefined, onEnd: take, forceFlush: nothing, shutdown: nothing }
  const provider = new TracerProvider({ sampler: samplerOf(settings), spanProcessors: [processor] })
  const tracer = provider.getTracer('platform')
  return {
    start(name, { parent, kind, attributes = {} }) {
      const span = tracer.startSpan(
        name,
        { kind: kinds[kind ?? 'internal'], attributes: { ...attributes } },
        contextOf(parent),
      )
      const { traceId, spanId, traceFlags } = span.spanContext()
      let isOpen = true
      return {
        traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
        end(added = {}) {
          if (!isOpen) return
          isOpen = false
          span.setAttributes({ ...added })
          if (added['error.type'] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR })
          span.end()
        },
      }
    },
  }
}

const kinds = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT }

const parts = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

function contextOf(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = parts.exec(traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
  })
}

function samplerOf({ otelTracesSampler: name, otelTracesSamplerArg: part }: SamplerSettings): Sampler {
  const root = name.endsWith('always_on')
    ? new AlwaysOnSampler()
    : name.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(part)
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}
