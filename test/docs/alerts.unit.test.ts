import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { at } from '../../app/demo/members.ts'
import { addRuntimeMetrics } from '../../app/runtime-metrics.ts'
import { createHealth } from '../../platform/observability/health.ts'
import { createMetrics } from '../../platform/observability/metrics.ts'
import { callOutcomes } from '../../platform/outbound/outside-calls.ts'

const guide = fileURLToPath(new URL('../../docs/metrics.md', import.meta.url))
const position = { commit: 1n, prepare: 1n }

interface Rule {
  readonly alert: string
  readonly expr: string
}

let text: string
/** Every series that the rules can select, as `name{label="value"}`. */
let series: readonly string[]
beforeAll(async () => {
  text = await readFile(guide, 'utf8')
  const health = createHealth({ profile: 'development' })
  health.register({ name: 'database', gatesReadiness: true, run: () => ({ status: 'failing' }) })
  const metrics = createMetrics({ health })
  metrics.count({ method: 'GET', route: '/things', status: 503, durationMs: 1 })
  for (const outcome of callOutcomes) metrics.countCall({ system: 'provider', outcome, durationMs: 1 })
  addRuntimeMetrics(metrics, {
    attendance: async () => [{ name: 'patients', hasProcess: false, hasFailed: false }],
    runner: { status: () => [{ name: 'patients', version: 1, state: 'live', position, failure: undefined }] },
    relays: [
      { status: () => ({ channel: 'users.events', state: 'blocked', position, published: 0, blockedBy: undefined }) },
    ],
  })
  const shown = (await metrics.text()).split('\n').filter((line) => /^[a-z]/.test(line))
  series = ['up{job="platform"}', ...shown.map((line) => line.slice(0, line.lastIndexOf(' ')))]
})

function rules(): readonly Rule[] {
  const [, yaml = ''] = /```yaml\n(# platform-rules\.yml\n[\s\S]*?)```/.exec(text) ?? []
  return at(parse(yaml), 'groups', 0, 'rules') as readonly Rule[]
}

/** The selectors of an expression: names with an underscore, and `up`, with their matchers. */
function selectorsOf(expr: string) {
  const withoutLabels = expr.replaceAll(/\bby \([^)]*\)/g, '')
  return [...withoutLabels.matchAll(/\b([a-z]+(?:_[a-z]+)+|up)\b(?:\{([^}]*)\})?/g)].map(
    ([, name = '', inner = '']) => ({
      name,
      matchers: [...inner.matchAll(/([a-z]+)(=~?)"([^"]*)"/g)].map(([, label = '', operator = '', value = '']) => ({
        label,
        // Each alternative of a pattern must exist, so that a renamed state is found.
        values: operator === '=~' && !value.includes('.') ? value.split('|') : [value],
      })),
    }),
  )
}

function isShown(name: string, label: string, value: string): boolean {
  const pattern = new RegExp(`^${name}\\{.*\\b${label}="${value}"`)
  return series.some((one) => pattern.test(one))
}

test('each alert selects series that a process shows, with labels and values that exist', () => {
  const found = rules().flatMap(({ alert, expr }) => selectorsOf(expr).map((selector) => ({ alert, ...selector })))
  expect(found.length).toBeGreaterThanOrEqual(rules().length)
  const unknown = found.flatMap(({ alert, name, matchers }) => [
    ...(series.some((one) => one.startsWith(`${name}{`) || one === name) ? [] : [`${alert}: ${name}`]),
    ...matchers.flatMap(({ label, values }) =>
      values
        .filter((value) => !isShown(name, label, value))
        .map((value) => `${alert}: ${name} with ${label}="${value}"`),
    ),
  ])
  expect(unknown).toEqual([])
})

test('a rule for each thing that may run nowhere finds it when the series of the dead processes are gone', () => {
  const expressions = new Map(rules().map(({ alert, expr }) => [alert, expr]))
  expect(expressions.get('ProcessDown')).toBe('up{job="platform"} == 0')
  for (const alert of ['NoProcess', 'ReadModelRunsNowhere', 'ChannelRunsNowhere'])
    expect(expressions.get(alert)).toMatch(/\babsent\(/)
})

test('the guide lists every figure of the platform', () => {
  const names = new Set(series.map((one) => one.replace(/[{ ].*/, '').replace(/_(bucket|sum|count)$/, '')))
  const own = [...names].filter((name) => !/^(up$|process_|nodejs_)/.test(name))
  expect(own.filter((name) => !text.includes(`| \`${name}\` |`))).toEqual([])
})
