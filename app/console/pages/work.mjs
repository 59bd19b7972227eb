import { useAnswer, write } from './api.mjs'
import { html } from './markup.mjs'
import {
  Action,
  addressWith,
  Answer,
  Badge,
  ErrorOf,
  pagePath,
  Pages,
  parameter,
  Section,
  SubjectLink,
  Table,
  When,
} from './parts.mjs'
import { useTexts } from './texts.mjs'

/** @typedef {import('./api.mjs').Schema<'WorkItem'>} Item */
/** @typedef {import('./api.mjs').Schema<'FailureGroup'>} Group */

const states = ['due', 'waiting', 'leased', 'failing', 'parked', 'failed']
const kinds = ['step', 'delivery', 'notification', 'ai_review']

export function WorkPage() {
  const { t, count } = useTexts()
  const group = parameter('group')
  const groups = useAnswer(
    group === null ? pagePath('/operations/groups', 'groups') : `/operations/groups/${encodeURIComponent(group)}`,
  )
  return html`
    <${Section} heading="Failure groups">
      ${group !== null && html`<p><a href=${addressWith({ group: null, cursor: null })}>${t('All groups')}</a></p>`}
      <${Answer} answer=${groups}>
        ${(/** @type {any} */ answer) =>
          html`<${Table}
              name=${t('Failure groups')}
              rows=${/** @type {Group[]} */ (answer.data ?? [answer])}
              marks=${(/** @type {Group} */ { id }) => ({ 'data-testid': 'group', 'data-id': id })}
              columns=${
                /** @type {const} */ ([
                  ['Work', (/** @type {Group} */ one) => html`<code>${one.process}/${one.step}</code>`],
                  ['Error', (/** @type {Group} */ { error }) => html`<${ErrorOf} error=${error} />`],
                  ['Count', (/** @type {Group} */ one) => count(one.count)],
                  ['Organisations', (/** @type {Group} */ { organisations }) => count(organisations)],
                  ['Since', (/** @type {Group} */ one) => html`<${When} at=${one.first_failed_at} />`],
                  [
                    'Example',
                    (/** @type {Group} */ { example }) => html`<${SubjectLink} subject=${example?.subject} />`,
                  ],
                  ['Versions', (/** @type {Group} */ { versions }) => versions.join(', ')],
                  ['Retry', (/** @type {Group} */ one) => html`<${RetryOf} of=${one} />`],
                  [
                    'Action',
                    (/** @type {Group} */ one) =>
                      html` <a
                          href=${addressWith({ group: one.id, cursor: null })}
                          aria-label=${`${t('Show the items')}: ${one.id}`}
                          >${t('Show the items')}</a
                        >
                        <${RetryAction}
                          path=${`/operations/groups/${one.id}/retry`}
                          subject=${one.id}
                          isKept=${isRetryable(one)}
                          question="Retry all items of this group?"
                          done=${groups.reload}
                        />`,
                  ],
                ])
              }
            />
            ${group === null && html`<${Pages} page=${answer} name="groups" />`}`}
      </${Answer}>
    </${Section}>
    <${Section} heading="Items">
      <${Filters} />
      <${Items} path=${itemsPath()} />
    </${Section}>`
}

/** The list of items with the filters of the address. */
function itemsPath() {
  const search = new URLSearchParams({ limit: '50' })
  for (const name of ['kind', 'state', 'process', 'org_id', 'cursor']) {
    const value = parameter(name)
    if (value !== null && value !== '') search.set(name, value)
  }
  const group = parameter('group')
  if (group !== null) search.set('failing_with', group)
  return `/operations/steps?${search.toString()}`
}

/** Failing work that no retry has in hand. @param {Group | Item} one */
const isRetryable = (one) => one.retryable && !('retry' in one && one.retry?.ended_at === null)

/** @param {{ of: Group }} props */
function RetryOf({ of: { retry } }) {
  const { t, count } = useTexts()
  if (retry === null) return '–'
  return html`<span data-testid="retry"
    >${t('Done')} ${count(retry.done)}/${count(retry.total)}, ${t('Failed')} ${count(retry.failed_again)}</span
  >`
}

/** @param {{ path: string, subject: string, isKept: boolean, question: string, done: () => void }} props */
function RetryAction({ path, subject, isKept, question, done }) {
  const { t } = useTexts()
  if (!isKept) return null
  const run = async () => {
    const retry = await write(path, {})
    done()
    return t('The retry has begun: ') + retry.id
  }
  return html`<${Action} label="Retry" testid="action-retry" question=${question} subject=${subject} run=${run} />`
}

function Filters() {
  const { t } = useTexts()
  const group = parameter('group')
  const choice = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string[]} */ values) =>
    html`<label
      >${t(label)}
      <select name=${name} value=${parameter(name) ?? ''}>
        <option value="">${t('All')}</option>
        ${values.map((value) => html`<option value=${value}>${t(value)}</option>`)}
      </select></label
    >`
  return html`<form class="filters" method="get" action="/console/work">
    ${group !== null && html`<input type="hidden" name="group" value=${group} />`} ${choice('state', 'State', states)}
    ${choice('kind', 'Kind', kinds)}
    <label>${t('Process')} <input name="process" value=${parameter('process') ?? ''} /></label>
    <label>${t('Organisation')} <input name="org_id" value=${parameter('org_id') ?? ''} /></label>
    <button type="submit">${t('Apply')}</button>
  </form>`
}

/** @param {{ path: string, cursor?: string }} props `cursor`: its parameter in the address */
export function Items({ path, cursor = 'cursor' }) {
  const items = useAnswer(path)
  return html`<${Answer} answer=${items}>
    ${(/** @type {any} */ page) =>
      html`<${ItemTable} items=${page.data} reload=${items.reload} /> <${Pages} page=${page} name=${cursor} />`}
  </${Answer}>`
}

/** @param {{ items: readonly Item[], reload: () => void }} props */
export function ItemTable({ items, reload }) {
  const { t, count } = useTexts()
  return html`<${Table}
    name=${t('Items')}
    rows=${items}
    marks=${(/** @type {Item} */ { id, state }) => ({ 'data-testid': 'item', 'data-id': id, 'data-status': state })}
    columns=${
      /** @type {const} */ ([
        ['Work', (/** @type {Item} */ one) => html`<code>${one.process}/${one.step}</code>`],
        ['State', (/** @type {Item} */ { state }) => html`<${Badge} value=${state} />`],
        ['Subject', (/** @type {Item} */ { subject }) => html`<${SubjectLink} subject=${subject} />`],
        ['Failures', (/** @type {Item} */ { failures }) => count(failures)],
        ['Error', (/** @type {Item} */ { error }) => html`<${ErrorOf} error=${error} />`],
        ['Due', (/** @type {Item} */ one) => html`<${When} at=${one.due_at} />`],
        ['Next try', (/** @type {Item} */ one) => html`<${When} at=${one.next_try_at} />`],
        [
          'Action',
          (/** @type {Item} */ one) =>
            html`<${RetryAction}
              path=${`/operations/steps/${one.id}/retry`}
              subject=${one.id}
              isKept=${isRetryable(one)}
              question="Retry this item?"
              done=${reload}
            />`,
        ],
      ])
    }
  />`
}
