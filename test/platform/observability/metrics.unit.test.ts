import { expect, it } from 'vitest'
import { createHealth } from '../../../platform/observability/health.ts'
import { createMetrics, stateSamples } from '../../../platform/observability/metrics.ts'
import { linesOf } from './figures.ts'

function metricsOf(clock = { ms: 0 }) {
  const health = createHealth({ profile: 'development', limitMs: 5 })
  const metrics = createMetrics({ health, now: () => clock.ms })
  const lines = async (name: string) => linesOf(await metrics.text(), name)
  return { health, metrics, lines }
}

const answered = { method: 'GET', route: '/things/:id', status: 200, durationMs: 20 }

it('counts requests by method, route and status, and their duration by method and route', async () => {
  const { metrics, lines } = metricsOf()
  for (const durationMs of [4, 20, 60_000]) metrics.count({ ...answered, durationMs })
  metrics.count({ ...answered, status: 404 })
  expect(await lines('http_requests_total')).toEqual([
    'http_requests_total{method="GET",route="/things/:id",status="200"} 3',
    'http_requests_total{method="GET",route="/things/:id",status="404"} 1',
  ])
  const durations = await lines('http_request_duration_seconds')
  const bucket = (le: string) => `http_request_duration_seconds_bucket{le="${le}",method="GET",route="/things/:id"}`
  expect(durations).toHaveLength(12)
  for (const expected of [`${bucket('0.005')} 1`, `${bucket('0.025')} 3`, `${bucket('30')} 3`, `${bucket('+Inf')} 4`])
    expect(durations).toContain(expected)
  expect(durations).toContain('http_request_duration_seconds_count{method="GET",route="/things/:id"} 4')
})

it('counts calls to systems outside by outcome, and their duration', async () => {
  const { metrics, lines } = metricsOf()
  for (const durationMs of [4, 400]) metrics.countCall({ system: 'provider', outcome: 'ok', durationMs })
  metrics.countCall({ system: 'mail', outcome: 'timeout', durationMs: 5_000 })
  expect(await lines('outside_calls_total')).toEqual([
    'outside_calls_total{system="provider",outcome="ok"} 2',
    'outside_calls_total{system="mail",outcome="timeout"} 1',
  ])
  const durations = await lines('outside_call_duration_seconds')
  expect(durations).toContain('outside_call_duration_seconds_bucket{le="0.01",system="provider"} 1')
  expect(durations).toContain('outside_call_duration_seconds_count{system="mail"} 1')
})

it('counts the methods without a meaning here as one', async () => {
  const { metrics, lines } = metricsOf()
  for (const method of ['PROPFIND', 'M-SEARCH', 'get', 'jane@clinic.test'])
    metrics.count({ ...answered, method, route: 'unknown' })
  expect(await lines('http_requests_total')).toEqual([
    'http_requests_total{method="other",route="unknown",status="200"} 4',
  ])
})

it('shows each check with all its states, and one that hangs as failing', async () => {
  const { health, lines } = metricsOf()
  health.register({ name: 'database', gatesReadiness: true, run: () => ({ status: 'ok' }) })
  health.register({ name: 'provider', gatesReadiness: false, run: () => ({ status: 'warning', detail: 'not shown' }) })
  health.register({ name: 'event_store', gatesReadiness: true, run: () => new Promise(() => undefined) })
  const states = (check: string, ...values: readonly number[]) =>
    ['ok', 'warning', 'failing'].map(
      (state, index) => `health_check_status{check="${check}",state="${state}"} ${values[index]}`,
    )
  expect(await lines('health_check_status')).toEqual([
    ...states('database', 1, 0, 0),
    ...states('provider', 0, 1, 0),
    ...states('event_store', 0, 0, 1),
  ])
})

it('runs the checks once for scrapes at the same time or within a second', async () => {
  const clock = { ms: 0 }
  const { health, metrics } = metricsOf(clock)
  let runs = 0
  health.register({
    name: 'database',
    gatesReadiness: true,
    run: () => {
      runs += 1
      return { status: 'ok' }
    },
  })
  const texts = await Promise.all([metrics.text(), metrics.text()])
  clock.ms = 999
  expect(new Set([...texts, await metrics.text()]).size).toBe(1)
  expect(runs).toBe(1)
  clock.ms = 1_000
  await metrics.text()
  expect(runs).toBe(2)
})

it('lets other work run while it makes the text of many routes', async () => {
  const { metrics } = metricsOf()
  for (let index = 0; index < 500; index += 1) metrics.count({ ...answered, route: `/things/${index}` })
  let turns = 0
  let isDone = false
  const turn = () => {
    turns += 1
    if (!isDone) setImmediate(turn)
  }
  setImmediate(turn)
  const text = await metrics.text()
  isDone = true
  expect(turns).toBeGreaterThan(2)
  const heads = text.split('\n').filter((line) => line.startsWith('# ') && line.includes(' http_'))
  expect(heads.map((line) => line.split(' ', 3).join(' '))).toEqual([
    '# HELP http_requests_total',
    '# TYPE http_requests_total',
    '# HELP http_request_duration_seconds',
    '# TYPE http_request_duration_seconds',
  ])
})

it('reads a gauge again at each scrape, and tries again after a failure', async () => {
  const clock = { ms: 0 }
  const { metrics, lines } = metricsOf(clock)
  let read = () => stateSamples(['live', 'failed'], 'live', { projector: 'patients' })
  metrics.register({ name: 'some_state', help: 'Some.', labels: ['projector', 'state'], read: () => read() })
  expect(await lines('some_state')).toEqual([
    'some_state{projector="patients",state="live"} 1',
    'some_state{projector="patients",state="failed"} 0',
  ])
  clock.ms += 1_000
  read = () => {
    throw new Error('no answer')
  }
  await expect(metrics.text()).rejects.toThrow('no answer')
  read = () => []
  expect(await lines('some_state')).toEqual([])
})

it('separates the requests of two applications, which share the figures of their process', async () => {
  const [one, other] = [metricsOf(), metricsOf()]
  one.metrics.count(answered)
  expect(await other.lines('http_requests_total')).toEqual([])
  for (const { lines } of [one, other]) {
    expect(await lines('process_cpu_seconds_total')).toHaveLength(1)
    expect(await lines('nodejs_eventloop_lag_p99_seconds')).toHaveLength(1)
    expect(await lines('process_resident_memory_bytes')).toHaveLength(1)
  }
})
