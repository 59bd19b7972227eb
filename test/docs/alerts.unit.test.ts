import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { at } from '../../app/demo/members.ts'
import { showFigures } from '../../app/operations/figures.ts'
import { addAccessLogMetrics, addRuntimeMetrics } from '../../app/runtime-metrics.ts'
import { problemCodes } from '../../contracts/operations/record.ts'
import { createHealth } from '../../platform/observability/health.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import { createMetrics } from '../../platform/observability/metrics.ts'
import { callOutcomes } from '../../platform/outbound/outside-calls.ts'
import { seenWithProblems } from '../app/operations/seen.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = `${root}deploy/observability/`
const position = { commit: 1n, prepare: 1n }

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: Readonly<Record<string, string>>
}

let guide: string
let rules: readonly Rule[]
/** Names of the tests of the rules. */
let tested: readonly unknown[]
/** The expressions of rules and panels, with the place where they are. */
let expressions: readonly { readonly place: string; readonly expr: string }[]
/** Every series that they can select, as `name{label="value"}`. */
let series: readonly string[]
beforeAll(async () => {
  guide = await readFile(`${root}docs/metrics.md`, 'utf8')
  rules = at(parse(await readFile(`${folder}alerts.yml`, 'utf8')), 'groups', 0, 'rules') as readonly Rule[]
  const tests = at(parse(await readFile(`${folder}alerts.test.yml`, 'utf8')), 'tests') as readonly unknown[]
  tested = tests.map((one) => at(one, 'name'))
  const boards = (await readdir(`${folder}dashboards`)).filter((name) => name.endsWith('.json'))
  const panels = boards.map(async (name) =>
    panelsOf(name, JSON.parse(await readFile(`${folder}dashboards/${name}`, 'utf8'))),
  )
  expressions = [...rules.map(({ alert, expr }) => ({ place: alert, expr })), ...(await Promise.all(panels)).flat()]
  series = ['up{job="platform"}', ...(await shownSeries())]
})

function panelsOf(name: string, board: unknown) {
  const panels = at(board, 'panels') as readonly { title: string; targets: readonly { expr: string }[] }[]
  return panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ place: `${name}: ${title}`, expr })))
}

/** The series of a process in which everything happens. */
async function shownSeries(): Promise<readonly string[]> {
  const health = createHealth({ profile: 'development' })
  health.register({ name: 'database', gatesReadiness: true, run: () => ({ status: 'failing' }) })
  const metrics = createMetrics({ health })
  metrics.count({ method: 'GET', route: '/things', status: 503, durationMs: 1 })
  for (const outcome of callOutcomes) metrics.countCall({ system: 'provider', outcome, durationMs: 1 })
  for (const outcome of ['done', 'conflict', 'failed']) metrics.countAppend({ outcome })
  addRuntimeMetrics(metrics, {
    attendance: async () => [{ name: 'patients', hasProcess: false, hasFailed: false }],
    runner: { status: () => [{ name: 'patients', version: 1, state: 'live', position, failure: undefined }] },
    relays: [
      { status: () => ({ channel: 'users.events', state: 'blocked', position, published: 0, blockedBy: undefined }) },
    ],
  })
  addAccessLogMetrics(metrics, { lagSeconds: () => 0 })
  const logger = createLogger({ level: 'silent' })
  const figures = showFigures({ read: async () => seenWithProblems, metrics, showsSteps: true, logger })
  await figures.first
  await figures.close()
  const shown = (await metrics.text()).split('\n').filter((line) => /^[a-z]/.test(line))
  return shown.map((line) => line.slice(0, line.lastIndexOf(' ')))
}

/** The selectors of an expression: names with an underscore that are no function, and `up`, with their matchers. */
function selectorsOf(expr: string) {
  const withoutLabels = expr.replaceAll(/\b(?:by|on) \([^)]*\)/g, '')
  return [...withoutLabels.matchAll(/\b([a-z]+(?:_[a-z0-9]+)+|up)\b(?!\()(?:\{([^}]*)\})?/g)].map(
    ([, name = '', inner = '']) => ({
      name,
      matchers: [...inner.matchAll(/([a-z]+)(=~?|!=)"([^"]*)"/g)].map(([, label = '', operator = '', value = '']) => ({
        label,
        // Each alternative of a pattern must exist, so that a renamed state is found.
        values: operator === '=~' && !value.includes('.') ? value.split('|') : [value],
        isPattern: value.includes('.'),
      })),
    }),
  )
}

function isShown(name: string, label: string, value: string, isPattern: boolean): boolean {
  const pattern = new RegExp(`[{,]${label}="${isPattern ? value : '([^"]*)'}"`)
  return series.some((one) => {
    const found = one.startsWith(`${name}{`) ? pattern.exec(one) : null
    return found !== null && (isPattern || found[1] === value)
  })
}

test('each rule and panel selects series that a process shows, with labels and values that exist', () => {
  const found = expressions.flatMap(({ place, expr }) => selectorsOf(expr).map((selector) => ({ place, ...selector })))
  expect(found.length).toBeGreaterThanOrEqual(expressions.length)
  const unknown = found.flatMap(({ place, name, matchers }) => [
    ...(series.some((one) => one.startsWith(`${name}{`) || one === name) ? [] : [`${place}: ${name}`]),
    ...matchers.flatMap(({ label, values, isPattern }) =>
      values
        .filter((value) => !isShown(name, label, value, isPattern))
        .map((value) => `${place}: ${name} with ${label}="${value}"`),
    ),
  ])
  expect(unknown).toEqual([])
})

test('the alerts are the problems, and each has its own figure, heading and test', () => {
  expect(rules.map(({ alert }) => alert)).toEqual(problemCodes)
  for (const { alert, expr, annotations } of rules) {
    expect(expr).toContain(`operations_problems{code="${alert}"}`)
    expect(annotations['runbook_url']).toBe(`docs/operating.md#${alert}`)
    expect(tested).toContain(alert)
  }
})

test('what dead processes cannot show is alerted all the same', () => {
  const expressionOf = new Map(rules.map(({ alert, expr }) => [alert, expr]))
  expect(expressionOf.get('role-missing')).toContain('absent(up{job="platform"} == 1)')
  expect(expressionOf.get('process-silent')).toContain('up{job="platform"} == 0')
  expect(expressionOf.get('check-failing')).toContain('absent(operations_status)')
})

test('the guide lists every figure of the platform', () => {
  const names = new Set(series.map((one) => one.replace(/[{ ].*/, '').replace(/_(bucket|sum|count)$/, '')))
  const own = [...names].filter((name) => !/^(up$|process_|nodejs_)/.test(name))
  // The count of steps is no part of a histogram.
  expect(own.filter((name) => !guide.includes(`| \`${name}\``) && !guide.includes(`| \`${name}_count\``))).toEqual([])
})
