import { createContext } from 'preact'
import { useContext, useState } from 'preact/hooks'
import { Refusal } from './api.mjs'
import { html } from './markup.mjs'
import { useTexts } from './texts.mjs'

/** @typedef {import('preact').ComponentChildren} Children */

/** @returns {{ permissions: readonly string[], notify: (text: string) => void }} */
const nobody = () => ({ permissions: [], notify: () => undefined })
/** The rights of the person, and the place of notices. */
export const PersonContext = createContext(nobody())

/** @param {{ value: string | null | undefined }} props */
export function Badge({ value }) {
  const { t } = useTexts()
  return value === null || value === undefined
    ? null
    : html`<span class="badge" data-status=${value}>${t(value)}</span>`
}

/** An instant and its age. @param {{ at: string | null | undefined }} props */
export function When({ at }) {
  const { instant, age } = useTexts()
  return at === null || at === undefined
    ? '–'
    : html`<time datetime=${at} title=${at}>${instant(at)}<small> ${age(at)}</small></time>`
}

/** Records of which audit has a timeline. */
export const timelines = [
  'assessment',
  'case',
  'ai_review',
  'task',
  'notification',
  'patient',
  'user',
  'subscription',
  'workflow_instance',
]

/** @param {{ subject: { kind: string, id: string } | null | undefined }} props */
export function SubjectLink({ subject }) {
  if (subject === null || subject === undefined) return '–'
  const { kind, id } = subject
  const text = html`${kind} <code>${id}</code>`
  const hasPage = kind === 'delivery' || timelines.includes(kind)
  return hasPage ? html`<a href=${`/console/subjects/${id}?kind=${kind}`}>${text}</a>` : text
}

/** @param {{ error: { class: string, code: string | null, host: string | null } | null | undefined }} props */
export function ErrorOf({ error }) {
  if (error === null || error === undefined) return '–'
  return html`<code>${[error.class, error.code, error.host].filter((part) => part !== null).join(' ')}</code>`
}

/**
 * A table that a narrow screen shows as cards. Each column has a heading and the content of its cell. A marked row keeps what
 * was begun in it: a question that was asked of one row must not stand in another one when rows come or go.
 *
 * @template Row
 * @param {{ name: string, rows: readonly Row[], columns: readonly (readonly [string, (row: Row) => Children])[],
 *   marks?: (row: Row) => Record<string, string | null | undefined> }} props
 */
export function Table({ name, rows, columns, marks = () => ({}) }) {
  const { t } = useTexts()
  if (rows.length === 0) return html`<p class="none">${t('None')}</p>`
  return html`<table>
    <caption class="unseen">
      ${name}
    </caption>
    <thead>
      <tr>
        ${columns.map(([heading]) => html`<th scope="col">${t(heading)}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map((row) => {
        const marked = marks(row)
        return html`<tr key=${marked['data-id'] ?? marked['data-name']} ...${marked}>
          ${columns.map(([heading, cell]) => html`<td data-heading=${t(heading)}>${cell(row) ?? '–'}</td>`)}
        </tr>`
      })}
    </tbody>
  </table>`
}

/** @param {{ heading: string, children?: Children }} props */
export function Section({ heading, children }) {
  const { t } = useTexts()
  return html`<section aria-label=${t(heading)}>
    <h2>${t(heading)}</h2>
    ${children}
  </section>`
}

/**
 * Shows an answer, or why there is none.
 *
 * @param {{ answer: { data: any, error: Refusal | undefined }, none?: string, children: (data: any) => Children }} props
 *   `none`: the text where there is no such record
 */
export function Answer({ answer: { data, error }, none = 'There is no such record.', children }) {
  const { t } = useTexts()
  if (error?.status === 403)
    return html`<p>${t('This account lacks the permission ')}<code>${error.permission ?? error.code}</code></p>`
  if (error?.status === 404 && data === undefined) return html`<p>${t(none)}</p>`
  if (error?.status === 410) return html`<p>${t('The person was erased.')}</p>`
  const isStale = error !== undefined && error.status !== 401
  return html`${isStale && html`<p class="stale" role="alert">${t('No answer. Trying again. What is shown may be old.')} <code>${error.code}</code></p>`}
  ${data === undefined ? !isStale && html`<p aria-busy="true">${t('Loading')}…</p>` : children(data)}`
}

/**
 * A button that asks once. Not shown without the permission to write.
 *
 * @param {{ label: string, question: string, testid: string, subject: string, asksReason?: boolean,
 *   run: (reason: string) => Promise<string> }} props `asksReason`: without a text there is nothing to confirm. `run` resolves to the
 *   notice
 */
export function Action({ label, question, testid, subject, asksReason = false, run }) {
  const { t } = useTexts()
  const { permissions, notify } = useContext(PersonContext)
  const [state, setState] = useState(/** @type {'idle' | 'asked' | 'sent'} */ ('idle'))
  const [reason, setReason] = useState('')
  if (!permissions.includes('operations:write')) return null
  const confirm = async () => {
    setState('sent')
    try {
      notify(await run(reason.trim()))
    } catch (error) {
      const code = error instanceof Refusal ? error.code : String(error)
      const isUnknown = code === 'no-answer'
      notify(isUnknown ? t('No answer. The action may have begun.') : t('The request was refused: ') + code)
    }
    setState('idle')
  }
  if (state === 'idle')
    return html`<button
      type="button"
      data-testid=${testid}
      aria-label=${`${t(label)}: ${subject}`}
      onClick=${() => setState('asked')}
    >
      ${t(label)}
    </button>`
  return html`<span class="asked" role="group" aria-label=${t(question)}>
    <span>${t(question)}</span>
    ${
      asksReason &&
      html`<label
        >${t('Reason')}
        <input
          name="reason"
          maxlength="500"
          value=${reason}
          onInput=${(/** @type {any} */ event) => setReason(event.target.value)}
      /></label>`
    }
    <button
      type="button"
      class="main"
      data-testid="confirm"
      disabled=${state === 'sent' || (asksReason && reason.trim() === '')}
      onClick=${confirm}
      ref=${focusOnce}
    >
      ${t('Confirm')}
    </button>
    <button type="button" disabled=${state === 'sent'} onClick=${() => setState('idle')}>${t('Cancel')}</button>
  </span>`
}

/** @param {HTMLElement | null} element */
function focusOnce(element) {
  if (element !== null && !element.dataset['focused']) {
    element.dataset['focused'] = 'yes'
    element.focus()
  }
}

/** The address of this page with some parameters changed. @param {Record<string, string | null>} changes */
export function addressWith(changes) {
  const search = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') search.delete(name)
    else search.set(name, value)
  }
  return `${location.pathname}${search.size === 0 ? '' : `?${search.toString()}`}`
}

export const parameter = (/** @type {string} */ name) => new URLSearchParams(location.search).get(name)

/**
 * The path of a page of a list.
 *
 * @param {string} path @param {string} name the parameter of the address that has the cursor
 */
export function pagePath(path, name) {
  const cursor = parameter(name)
  return `${path}?limit=50${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`
}

/** Links of a list in pages. @param {{ page: { has_more: boolean, next_cursor: string | null }, name: string }} props */
export function Pages({ page, name }) {
  const { t } = useTexts()
  return html`<p class="pages">
    ${parameter(name) !== null && html`<a href=${addressWith({ [name]: null })}>${t('To the first page')}</a>`}
    ${page.has_more && html`<a href=${addressWith({ [name]: page.next_cursor })}>${t('To the next page')}</a>`}
  </p>`
}
