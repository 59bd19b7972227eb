import { expect, it } from 'vitest'
import { createTracer } from '../../../platform/observability/open-telemetry.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const parent = (flags: string) => `00-${traceId}-b7ad6b7169203331-${flags}`

/** How many spans of three requests are recorded: without a parent, of a recorded trace, of one that is not. */
function recordedBy(env: Readonly<Record<string, string>>) {
  const names: string[] = []
  const tracer = createTracer(loadConfiguration(env), ({ name }) => void names.push(name))
  for (const [name, of] of [
    ['read none', undefined],
    ['read recorded', parent('01')],
    ['read unrecorded', parent('00')],
  ] as const)
    tracer.start(name, { parent: of }).end()
  return names.map((name) => name.slice('read '.length))
}

const ratio = (part: string) => ({ OTEL_TRACES_SAMPLER_ARG: part })

it.each([
  [{}, ['none', 'recorded']],
  [{ OTEL_TRACES_SAMPLER: 'parentbased_always_on' }, ['none', 'recorded']],
  [{ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, ['recorded']],
  [{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', ...ratio('0') }, ['recorded']],
  [{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', ...ratio('1') }, ['none', 'recorded']],
  [{ OTEL_TRACES_SAMPLER: 'always_on' }, ['none', 'recorded', 'unrecorded']],
  [{ OTEL_TRACES_SAMPLER: 'always_off' }, []],
  [{ OTEL_TRACES_SAMPLER: 'traceidratio', ...ratio('0') }, []],
  [{ OTEL_TRACES_SAMPLER: 'traceidratio', ...ratio('1.0') }, ['none', 'recorded', 'unrecorded']],
])('the sampler %o records %o', (env, recorded) => {
  expect(recordedBy(env)).toEqual(recorded)
})

it.each([
  [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }, 'OTEL_TRACES_SAMPLER must be one of'],
  [ratio('1.5'), 'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1'],
  [ratio('half'), 'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1'],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'no pair' }, 'OTEL_EXPORTER_OTLP_HEADERS must be name=value pairs'],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=%0d%0ab' }, 'OTEL_EXPORTER_OTLP_HEADERS must be name=value pairs'],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=%zz' }, 'OTEL_EXPORTER_OTLP_HEADERS must be name=value pairs'],
])('%o is refused', (env, message) => {
  expect(() => loadConfiguration(env)).toThrow(message)
})

it('a span continues the trace of its parent, and keeps its decision', () => {
  const spans: unknown[] = []
  const tracer = createTracer(loadConfiguration({}), (span) => void spans.push(span))
  expect(tracer.start('read patient', { parent: parent('00') }).traceparent).toMatch(
    new RegExp(`^00-${traceId}-(?!b7ad6b7169203331)[0-9a-f]{16}-00$`),
  )
  const span = tracer.start('read patient', { parent: parent('01') })
  span.end({ 'error.type': 'timeout', 'platform.outcome': 'failed' })
  span.end({ 'platform.outcome': 'done' })
  expect(spans).toMatchObject([
    {
      parentSpanContext: { traceId, spanId: 'b7ad6b7169203331' },
      status: { code: 2 },
      attributes: { 'platform.outcome': 'failed' },
    },
  ])
})
