import { afterEach, describe, expect, it } from 'vitest'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createTracer } from '../../../platform/observability/open-telemetry.ts'
import { mostWaiting, SpanExport } from '../../../platform/observability/span-export.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { startTraceReceiver, type TraceReceiver } from '../../support/trace-receiver.ts'
import { eventually } from '../../support/eventually.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function collectorThat(answer?: () => number | undefined): Promise<TraceReceiver> {
  const collector = await startTraceReceiver(answer)
  closers.push(() => collector.close())
  return collector
}

function exportTo(endpoint: string) {
  const configuration = loadConfiguration({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })
  const egress = createEgress({ configuration })
  closers.push(() => egress.close())
  const counts = { exported: 0, dropped: 0 }
  const source = { serviceName: 'clinic', serviceVersion: '1', instanceId: 'one' }
  const spans = new SpanExport({
    configuration,
    egress,
    source,
    count: ({ outcome, spans: ended }) => void (counts[outcome] += ended),
  })
  const tracer = createTracer(configuration, (span) => spans.take(span))
  return {
    counts,
    close: () => spans.close(),
    end: (times: number) => {
      for (let time = 0; time < times; time += 1) tracer.start('read patient', { parent: undefined }).end()
    },
  }
}

describe('a collector', () => {
  it('gets every span once, in requests of at most 512, and the last ones at the stop', async () => {
    const collector = await collectorThat()
    const { counts, end, close } = exportTo(collector.endpoint)
    end(1_500)
    await eventually(() => expect(counts.exported).toBe(1_500))
    end(3)
    await close()
    expect(counts).toEqual({ exported: 1_503, dropped: 0 })
    expect(new Set(collector.spans.map(({ spanId }) => spanId)).size).toBe(1_503)
    expect(collector.heads.length).toBeLessThanOrEqual(5)
    end(1)
    expect(counts).toEqual({ exported: 1_503, dropped: 1 })
  })

  it.each([400, 401, 500, 302])('that answers %d gets spans once, and they are dropped', async (status) => {
    const collector = await collectorThat(() => status)
    const { counts, end, close } = exportTo(collector.endpoint)
    end(2)
    await eventually(() => expect(counts.dropped).toBe(2))
    await close()
    expect(collector.heads.length).toBe(1)
  })

  it.each([429, 503])('that answers %d gets the same spans again', async (status) => {
    const answers = [status, 200]
    const collector = await collectorThat(() => answers.shift())
    const { counts, end, close } = exportTo(collector.endpoint)
    end(2)
    await eventually(() => expect(counts).toEqual({ exported: 2, dropped: 0 }))
    await close()
    expect(collector.spans.length).toBe(2)
  })
})

describe.each([
  ['hangs', async () => (await collectorThat(() => undefined)).endpoint],
  ['is away', async () => 'http://127.0.0.1:9'],
])('a collector that %s', (_, endpoint) => {
  it('lets 2,048 spans wait, and a stop drops them', async () => {
    const { counts, end, close } = exportTo(await endpoint())
    end(mostWaiting)
    expect(counts).toEqual({ exported: 0, dropped: 0 })
    end(10)
    expect(counts.dropped).toBe(10)
    const stopMs = 2_000
    const timer = new Promise((resolve) => setTimeout(resolve, 4 * stopMs, 'the stop still waits'))
    expect(await Promise.race([close(), timer])).toBeUndefined()
    expect(counts).toEqual({ exported: 0, dropped: mostWaiting + 10 })
  })
})
