import { useState } from 'preact/hooks'
import { useAnswer } from './api.mjs'
import { html } from './markup.mjs'
import { Answer, Badge, ErrorOf, Pages, parameter, Section, SubjectLink, Table, timelines, When } from './parts.mjs'
import { useTexts } from './texts.mjs'
import { ItemTable } from './work.mjs'

/** @typedef {import('./api.mjs').Schema<'OperationsSubject'>} Subject */
/** @typedef {import('./api.mjs').Schema<'SubjectStage'>} Stage */
/** @typedef {import('./api.mjs').Schema<'TimelineItem'>} Item */

const id = decodeURIComponent(location.pathname.slice('/console/subjects/'.length))

/** Where one record is on its way. Users and patients, among others, have a timeline only. */
export function SubjectPage() {
  const named = parameter('kind')
  const answer = useAnswer(`/operations/subjects/${encodeURIComponent(id)}`)
  const kind = answer.data?.kind ?? named
  return html`<p>${kind} <code>${id}</code></p>
    ${
      (answer.error?.status !== 404 || named === null) &&
      html`<${Answer} answer=${answer}>
        ${(/** @type {Subject} */ subject) => html`<${Passage} subject=${subject} reload=${answer.reload} />`}
      </${Answer}>`
    }
    ${timelines.includes(kind) && html`<${Timeline} kind=${kind} />`}`
}

/** @param {{ subject: Subject, reload: () => void }} props */
function Passage({ subject, reload }) {
  const { t } = useTexts()
  const { org_id: orgId, status, error_code: code, created_at: createdAt, ended_at: endedAt, stages, work } = subject
  return html`<dl>
      <dt>${t('Status')}</dt>
      <dd><${Badge} value=${status} /> ${code !== null && html`<code>${code}</code>`}</dd>
      <dt>${t('Organisation')}</dt>
      <dd><code>${orgId}</code></dd>
      <dt>${t('Started')}</dt>
      <dd><${When} at=${createdAt} /></dd>
      <dt>${t('Ended')}</dt>
      <dd><${When} at=${endedAt} /></dd>
    </dl>
    <${Section} heading="Stages">
      <ol class="stages">
        ${stages.map((stage) => html`<${StageRow} stage=${stage} among=${stages} />`)}
      </ol>
    </${Section}>
    <${Section} heading="Work"><${ItemTable} items=${work} reload=${reload} /></${Section}>
    <${Section} heading="Related">
      <${Table}
        name=${t('Related')}
        rows=${subject.related}
        columns=${/** @type {const} */ ([['Subject', (/** @type {Subject['related'][number]} */ one) => html`<${SubjectLink} subject=${one} />`]])}
      />
    </${Section}>`
}

const width = 240

/** The text of a stage has all that its bar shows. @param {{ stage: Stage, among: readonly Stage[] }} props */
function StageRow({ stage, among }) {
  const { t, count, duration } = useTexts()
  const { name, status, started_at: from, ended_at: to, attempts, error } = stage
  const instants = among
    .flatMap((one) => [one.started_at, one.ended_at])
    .flatMap((at) => (at === null ? [] : [Date.parse(at)]))
  const [first, isOpen] = [Math.min(...instants), among.some((one) => one.started_at !== null && one.ended_at === null)]
  const last = isOpen ? Math.max(Date.now(), ...instants) : Math.max(...instants)
  const placeOf = (/** @type {number} */ at) => ((at - first) * width) / Math.max(1, last - first)
  const [begin, end] = [from === null ? null : Date.parse(from), to === null ? last : Date.parse(to)]
  return html`<li data-testid="stage" data-name=${name} data-status=${status}>
    <h3>${t(name)} <${Badge} value=${status} /></h3>
    <svg viewBox="0 0 ${width} 8" preserveAspectRatio="none" aria-hidden="true">
      ${begin !== null && html`<rect x=${Math.min(placeOf(begin), width - 2)} width=${Math.max(2, placeOf(end) - placeOf(begin))} height="8" />`}
    </svg>
    <p>
      ${from === null ? t('Not begun') : html`<${When} at=${from} />`}
      ${begin !== null && to !== null && html` · ${duration(end - begin)}`}
      ${attempts > 0 && html` · ${t('Attempts')} ${count(attempts)}`}
      ${error !== null && html` · <${ErrorOf} error=${error} />`}
    </p>
  </li>`
}

/**
 * What happened to one record. Read only when somebody asks for it, because the access log records who sees what is
 * personal.
 *
 * @param {{ kind: string }} props
 */
function Timeline({ kind }) {
  const { t } = useTexts()
  const cursor = parameter('timeline')
  const [isOpen, setIsOpen] = useState(cursor !== null)
  const query = new URLSearchParams({ limit: '100', [`${kind}_id`]: id, ...(cursor === null ? {} : { cursor }) })
  const answer = useAnswer(isOpen ? `/audit/timeline?${query.toString()}` : null, { isStill: true })
  if (!isOpen)
    return html`<button type="button" onClick=${() => setIsOpen(true)}>${t('Show the audit timeline')}</button>`
  return html`<${Section} heading="The audit timeline">
    <${Answer} answer=${answer}>
      ${(/** @type {import('./api.mjs').Schema<'TimelineItemPage'>} */ page) =>
        html`<${Table}
            name=${t('The audit timeline')}
            rows=${page.data}
            columns=${
              /** @type {const} */ ([
                ['When', (/** @type {Item} */ one) => html`<${When} at=${one.recorded_at} />`],
                ['Name', (/** @type {Item} */ { type }) => html`<code>${type}</code>`],
              ])
            }
          />
          <${Pages} page=${page} name="timeline" />`}
    </${Answer}>
  </${Section}>`
}
