import type { Configuration } from '../platform/configuration/configuration.ts'
import { contractVersion } from '../platform/http/common-headers.ts'
import { noTracer, type Tracer } from '../platform/kit/tracing.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import { SpanExport } from '../platform/observability/span-export.ts'
import type { GracefulStop } from '../platform/lifecycle/graceful-stop.ts'
import type { Egress } from '../platform/outbound/egress.ts'

interface Traces {
  readonly tracer: Tracer
  /** Sends spans from now on, until the stop. Register it after the egress, so that it ends before. */
  readonly begin: (egress: Egress, stop: GracefulStop) => void
}

/**
 * The only place that loads the SDK of OpenTelemetry, and only if there is a collector.
 * @param instanceId UUID of the process
 */
export async function openTraces(configuration: Configuration, metrics: Metrics, instanceId: string): Promise<Traces> {
  if (configuration.otelEndpoint === undefined) return { tracer: noTracer, begin: () => undefined }
  const { createTracer } = await import('../platform/observability/open-telemetry.ts')
  let spans: SpanExport | undefined
  return {
    tracer: createTracer(configuration, (span) => spans?.take(span)),
    begin(egress, stop) {
      const source = { serviceName: configuration.otelServiceName, serviceVersion: contractVersion, instanceId }
      const begun = new SpanExport({ configuration, egress, source, count: (ended) => metrics.countSpans(ended) })
      spans = begun
      stop.onStop('resources', 'traces', () => begun.close())
    },
  }
}
