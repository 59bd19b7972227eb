import { useAnswer, useStream } from './api.mjs'
import { Chart } from './chart.mjs'
import { html } from './markup.mjs'
import { Answer, Badge, ErrorOf, Section, Table, When } from './parts.mjs'
import { useTexts } from './texts.mjs'

/** @typedef {import('./api.mjs').Schema<'OperationsOverview'>} Overview */

export function OverviewPage() {
  const answer = useStream('/operations/overview')
  return html`<${Answer} answer=${answer}>${(/** @type {Overview} */ overview) => html`<${Overview} overview=${overview} />`}</${Answer}>`
}

/** @param {{ overview: Overview }} props */
function Overview({ overview }) {
  const { t, count, instant } = useTexts()
  const { status, at, problems, systems, steps, lag, oldest_work: oldest, processes, rates, seal } = overview
  return html`
    <p class="status" data-testid="status" data-status=${status}>
      ${status === 'ok' ? t('All is well') : t(status)} <small>${instant(at)}</small>
    </p>
    <${Section} heading="Problems"><${Problems} problems=${problems} /></${Section}>
    <${Section} heading="Systems">
      <${Table} name=${t('Systems')} rows=${systems}
        marks=${(/** @type {Overview['systems'][number]} */ { name, status: its }) => ({ 'data-testid': 'system', 'data-name': name, 'data-status': its })}
        columns=${
          /** @type {const} */ ([
            ['Name', (/** @type {Overview['systems'][number]} */ { name }) => html`<strong>${name}</strong>`],
            [
              'Status',
              (/** @type {Overview['systems'][number]} */ system) => html`<${Badge} value=${system.status} />`,
            ],
            [
              'Failing since',
              (/** @type {Overview['systems'][number]} */ system) => html`<${When} at=${system.failing_since} />`,
            ],
            ['Failures', (/** @type {Overview['systems'][number]} */ { failures }) => count(failures)],
            ['Error', (/** @type {Overview['systems'][number]} */ { error }) => html`<${ErrorOf} error=${error} />`],
            [
              'Last success',
              (/** @type {Overview['systems'][number]} */ system) => html`<${When} at=${system.last_success_at} />`,
            ],
          ])
        } />
    </${Section}>
    <${Section} heading="Work">
      <dl class="figures">
        ${Object.entries(steps).map(
          ([state, number]) =>
            html`<div>
              <dt>${t(state)}</dt>
              <dd><a href=${`/console/work?state=${state}`}>${count(number)}</a></dd>
            </div>`,
        )}
      </dl>
      <dl>
        <dt>${t('Lag')}</dt><dd>${lag === null ? t('None') : html`<code>${lag.projector}</code> ${count(lag.events)} / ${count(lag.seconds)} s`}</dd>
        <dt>${t('Oldest')}</dt><dd>${oldest === null ? t('None') : html`<code>${oldest.process}/${oldest.step}</code> <${When} at=${oldest.since} />`}</dd>
        ${
          seal !== null &&
          html`<dt>${t('Seals')}</dt>
            <dd><${When} at=${seal.sealed_at} /></dd>`
        }
      </dl>
    </${Section}>
    ${rates.length > 0 && html`<${Section} heading="Last hour"><${Rates} rates=${rates} /></${Section}>`}
    <${Section} heading="Processes">
      <${Table} name=${t('Processes')} rows=${processes}
        marks=${(/** @type {Overview['processes'][number]} */ { id, status: its }) => ({ 'data-testid': 'process', 'data-id': id, 'data-status': its })}
        columns=${
          /** @type {const} */ ([
            ['Roles', (/** @type {Overview['processes'][number]} */ { roles }) => roles.join(', ')],
            ['Status', (/** @type {Overview['processes'][number]} */ one) => html`<${Badge} value=${one.status} />`],
            ['Version', (/** @type {Overview['processes'][number]} */ { version }) => version],
            ['Started', (/** @type {Overview['processes'][number]} */ one) => html`<${When} at=${one.started_at} />`],
            ['Seen', (/** @type {Overview['processes'][number]} */ one) => html`<${When} at=${one.seen_at} />`],
          ])
        } />
    </${Section}>`
}

/** @param {{ problems: Overview['problems'] }} props */
function Problems({ problems }) {
  const hasGroups = problems.some(({ code }) => code === 'work-failing')
  const groups = useAnswer(hasGroups ? '/operations/groups?limit=100' : null)
  const { t, count, problem: textsOf } = useTexts()
  if (problems.length === 0) return html`<p class="none">${t('None')}</p>`
  return html`<ul class="problems">
    ${problems.map((problem) => {
      const { code, severity, subject, since, page, runbook } = problem
      const { title, remedy } = textsOf(code)
      const group = groups.data?.data.find(
        (/** @type {import('./api.mjs').Schema<'FailureGroup'>} */ { id }) => id === subject,
      )
      return html`<li data-testid="problem" data-code=${code} data-subject=${subject} data-status=${severity}>
        <h3><${Badge} value=${severity} /> ${title}: <code>${subject}</code></h3>
        <p>${t('Since')} <${When} at=${since} /> · ${t('Count')} ${count(problem.count)}</p>
        ${group !== undefined && html`<p><code>${group.process}/${group.step}</code> <${ErrorOf} error=${group.error} /></p>`}
        <p>
          ${remedy} <small>${runbook}</small>${' '}
          ${page !== '/console' && html`<a href=${page} aria-label=${`${t('Show')}: ${subject}`}>${t('Show')}</a>`}
        </p>
      </li>`
    })}
  </ul>`
}

/** @param {{ rates: Overview['rates'] }} props */
function Rates({ rates }) {
  const { t } = useTexts()
  const charts = /** @type {const} */ ([
    ['HTTP', 'requests', 'errors'],
    ['p50 / p99 ms', 'p50_ms', 'p99_ms'],
    ['Assessments', 'assessments', 'assessments_failed'],
    ['Deliveries', 'deliveries', 'deliveries_failed'],
    ['Notifications', 'notifications', 'notifications_failed'],
  ])
  return html`<div class="charts">
    ${charts.map(
      ([name, first, second]) =>
        html`<${Chart}
          name=${`${t(name)} ${t('per minute')}`}
          minutes=${rates.map(({ minute }) => minute)}
          lines=${[first, second].map((member) => ({ name: member, values: rates.map((rate) => rate[member] ?? 0) }))}
        />`,
    )}
  </div>`
}
