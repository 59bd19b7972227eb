import { errorOf } from '../../platform/outbound/error-of.ts'
import { inSpan, withinTrace, type SpanAttributes, type Tracer } from '../../platform/kit/tracing.ts'
import type { TodoRow } from './process.ts'
import { causeIn } from './step-identity.ts'
import type { StepResult } from './step-run.ts'

/** Runs a step in the trace of the request that caused it. Its calls to others continue this trace. */
export function inStepSpan(
  tracer: Tracer,
  process: string,
  { step, orgId, payload }: TodoRow,
  run: () => Promise<StepResult>,
): Promise<StepResult> {
  const cause = causeIn(payload)
  const attributes = {
    'platform.organisation.id': orgId ?? undefined,
    'platform.correlation.id': cause?.correlationId,
    'platform.event.id': cause?.eventId,
  }
  return withinTrace(cause?.traceparent, () => inSpan(tracer, `step ${process}.${step}`, { attributes, endOf }, run))
}

function endOf(result: StepResult): SpanAttributes {
  if (!('error' in result)) return { 'platform.outcome': result.kind }
  const { class: name, code } = errorOf(result.error)
  return { 'platform.outcome': 'error', 'error.type': code ?? name }
}
