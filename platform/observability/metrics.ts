import { setImmediate } from 'node:timers/promises'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { CountedCall } from '../outbound/outside-calls.ts'
import { checkStates, type Health } from './health.ts'

/**
 * Every label of our figures. The code fixes all values: templates of routes, names of checks, projectors and channels.
 * `/metrics` is public, so no label may contain a value of a request, a tenant, a patient or a user.
 */
type LabelName =
  | 'method'
  | 'route'
  | 'status'
  | 'check'
  | 'state'
  | 'projector'
  | 'channel'
  | 'system'
  | 'outcome'
  | 'process'
  | 'step'
  | 'code'
  | 'severity'
  | 'subject'

type Labels = Readonly<Partial<Record<LabelName, string>>>

interface Sample {
  readonly labels: Labels
  readonly value: number
}

interface GaugeDefinition {
  readonly name: string
  readonly help: string
  readonly labels: readonly LabelName[]
  /** The present values, at each scrape. Returns what the process already knows. */
  readonly read: () => readonly Sample[] | Promise<readonly Sample[]>
}

interface AnsweredRequest {
  readonly method: string
  /** The route's template, or `unknown`. Never the requested address. */
  readonly route: string
  readonly status: number
  readonly durationMs: number
}

/** The figures of one application, and of the process that it runs in. */
export interface Metrics {
  count(request: AnsweredRequest): void
  /** A call to a system outside that has ended. */
  countCall(call: CountedCall): void
  countAppend(append: { readonly outcome: string }): void
  /** Spans of this process that have ended. */
  countSpans(ended: { readonly outcome: 'exported' | 'dropped'; readonly spans: number }): void
  register(gauge: GaugeDefinition): void
  /** All figures in `metricsType`. Scrapes within a second share one text, and so one run of the health checks. */
  text(): Promise<string>
}

/** The text format 0.0.4 of Prometheus. */
export const metricsType = Registry.PROMETHEUS_CONTENT_TYPE

const sharedForMs = 1_000
const sliceMs = 1
/** In seconds. The longest is that of the slowest step. */
const callBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 30]
/** In seconds. Longer than the longest `Prefer: wait`. */
const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30]
/** Node.js parses about thirty methods. Clients choose them freely where there is no route. */
const ownMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** @param options.now milliseconds of a monotonic clock */
export function createMetrics(options: { readonly health: Health; readonly now?: () => number }): Metrics {
  const { health, now = () => performance.now() } = options
  const registry = Registry.merge([processFigures()])
  const routes = new Map<string, RouteFigures>()
  const known = new Map<string, ReturnType<RouteFigures['series']>>()
  let shared: { readonly text: Promise<string>; until: number } | undefined

  function register({ name, help, labels, read }: GaugeDefinition): void {
    const gauge: Gauge<LabelName> = new Gauge({
      name,
      help,
      labelNames: [...labels],
      registers: [registry],
      async collect() {
        const samples = await read()
        gauge.reset()
        for (const sample of samples) gauge.set(sample.labels, sample.value)
      },
    })
  }

  register({
    name: 'health_check_status',
    help: 'The checks of /health. 1 for the present state of a check, 0 for the others.',
    labels: ['check', 'state'],
    read: async () => {
      const { checks } = await health.report('full')
      return checks.flatMap(({ name, status }) => stateSamples(checkStates, status, { check: name }))
    },
  })

  const calls = new Counter({
    name: 'outside_calls_total',
    help: 'Calls of this process to systems outside that have ended.',
    labelNames: ['system', 'outcome'] satisfies LabelName[],
    registers: [registry],
  })
  const callDurations = new Histogram({
    name: 'outside_call_duration_seconds',
    help: 'Time until these calls ended.',
    labelNames: ['system'] satisfies LabelName[],
    buckets: callBuckets,
    registers: [registry],
  })

  const appends = new Counter({
    name: 'appends_total',
    help: 'Appends of this process to streams.',
    labelNames: ['outcome'] satisfies LabelName[],
    registers: [registry],
  })

  const spansEnded = new Counter({
    name: 'trace_spans_total',
    help: 'Spans of this process, by whether the collector of traces has them.',
    labelNames: ['outcome'] satisfies LabelName[],
    registers: [registry],
  })

  return {
    countSpans({ outcome, spans }) {
      spansEnded.inc({ outcome }, spans)
    },
    countAppend({ outcome }) {
      appends.inc({ outcome })
    },
    countCall({ system, outcome, durationMs }) {
      calls.inc({ system, outcome })
      callDurations.observe({ system }, durationMs / 1_000)
    },
    count({ method: sent, route, status, durationMs }) {
      const method = ownMethods.has(sent) ? sent : 'other'
      const key = `${status} ${method} ${route}`
      const series = known.get(key) ?? add(key, method, route, status)
      series.requests.inc()
      series.durations.observe(durationMs / 1000)
    },
    register,
    text() {
      if (shared !== undefined && now() < shared.until) return shared.text
      const scrape = { text: textOf(registry, [...routes.values()]), until: Infinity }
      shared = scrape
      scrape.text.then(
        () => (scrape.until = now() + sharedForMs),
        () => (shared = undefined),
      )
      return scrape.text
    },
  }

  function add(key: string, method: string, route: string, status: number) {
    const figures = routes.get(route) ?? figuresOf(route)
    routes.set(route, figures)
    const series = figures.series(method, status)
    known.set(key, series)
    return series
  }
}

type RouteFigures = ReturnType<typeof figuresOf>

const requestsName = 'http_requests_total'
const durationsName = 'http_request_duration_seconds'

/** Each route has a registry of its own, so that its text is made apart from the others. */
function figuresOf(route: string) {
  const registry = new Registry()
  const requests = new Counter({
    name: requestsName,
    help: 'Answered requests, without those for health and metrics.',
    labelNames: ['method', 'route', 'status'] satisfies LabelName[],
    registers: [registry],
  })
  // With `status`, hostile clients could multiply its many lines by the number of refusals.
  const durations = new Histogram({
    name: durationsName,
    help: 'Time to answer these requests.',
    labelNames: ['method', 'route'] satisfies LabelName[],
    buckets: durationBuckets,
    registers: [registry],
  })
  const series = (method: string, status: number) => ({
    requests: requests.labels({ method, route, status: String(status) }),
    durations: durations.labels({ method, route }),
  })
  return { registry, series }
}

/** One sample for each possible state: 1 for the present one. So a state that ends has a value, and alerts can compare. */
export function stateSamples(states: readonly string[], present: string, labels: Labels): readonly Sample[] {
  return states.map((state) => ({ labels: { ...labels, state }, value: state === present ? 1 : 0 }))
}

/** Serves requests in between: with every route called, the text takes about ten milliseconds. */
async function textOf(registry: Registry, routes: readonly RouteFigures[]): Promise<string> {
  const texts: string[] = []
  let since = performance.now()
  for await (const text of partsOf(registry, routes)) {
    texts.push(text)
    if (performance.now() - since < sliceMs) continue
    await setImmediate()
    since = performance.now()
  }
  return `${texts.join('\n')}\n`
}

async function* partsOf(registry: Registry, routes: readonly RouteFigures[]): AsyncGenerator<string> {
  for (const { name } of registry.getMetricsAsArray()) yield await registry.getSingleMetricAsString(name)
  for (const name of [requestsName, durationsName])
    for (const [index, route] of routes.entries()) {
      const text = await route.registry.getSingleMetricAsString(name)
      yield index === 0 ? text : withoutHead(text)
    }
}

/** The lines HELP and TYPE may appear once. */
function withoutHead(text: string): string {
  return text.split('\n').slice(2).join('\n')
}

let ofProcess: Registry | undefined

/** Event loop, memory, garbage collection and CPU time. Their observers cannot be stopped, so a process has one set. */
function processFigures(): Registry {
  if (ofProcess !== undefined) return ofProcess
  ofProcess = new Registry()
  collectDefaultMetrics({ register: ofProcess })
  // An attacker could look up what is wrong with this version.
  ofProcess.removeSingleMetric('nodejs_version_info')
  // Only counters may end with `_total`, and these are gauges. Sums of the series by type show the same.
  for (const kind of ['handles', 'requests', 'resources']) ofProcess.removeSingleMetric(`nodejs_active_${kind}_total`)
  return ofProcess
}
