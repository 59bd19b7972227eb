import { useState } from 'preact/hooks'
import { useAnswer } from './api.mjs'
import { html } from './markup.mjs'
import { Answer, Badge, ErrorOf, Section, Table, When } from './parts.mjs'
import { useTexts } from './texts.mjs'

const id = decodeURIComponent(location.pathname.slice('/console/subjects/'.length))
/** The parameter of the timeline for each kind that has one. */
const timelines = new Map([
  ['assessment', 'assessment_id'],
  ['case', 'case_id'],
  ['ai_review', 'ai_review_id'],
  ['task', 'task_id'],
])

/** One assessment, case, review, task, delivery or notification on its way through the stages. */
export function SubjectPage() {
  const { t } = useTexts()
  const answer = useAnswer(`/operations/subjects/${encodeURIComponent(id)}`)
  return html`<p><code>${id}</code></p>
    <${Answer} answer=${answer}>
      ${(/** @type {any} */ subject) =>
        html`
        <dl>
          <dt>${t('Kind')}</dt><dd>${subject.kind}</dd>
          <dt>${t('Organisation')}</dt><dd><code>${subject.org_id}</code></dd>
          <dt>${t('Status')}</dt><dd><${Badge} value=${subject.status} /> ${subject.error_code && html`<code>${subject.error_code}</code>`}</dd>
          <dt>${t('Started')}</dt><dd><${When} at=${subject.created_at} /></dd>
          <dt>${t('Ended')}</dt><dd><${When} at=${subject.ended_at} /></dd>
        </dl>
        <${Section} heading="Stages">
          <ol class="stages">
            ${subject.stages.map(
              (/** @type {any} */ stage) =>
                html`<li data-testid="stage" data-name=${stage.name} data-status=${stage.status}>
                  <strong>${stage.name}</strong> <${Badge} value=${stage.status} />
                  <p><${When} at=${stage.started_at} /></p>
                  ${stage.ended_at && html`<p>→ <${When} at=${stage.ended_at} /></p>`}
                  ${stage.attempts > 1 && html`<p>${t('Tried')} ${stage.attempts}</p>`}
                  ${stage.error && html`<p><${ErrorOf} error=${stage.error} /></p>`}
                </li>`,
            )}
          </ol>
        </${Section}>
        <${Section} heading="Related">
          <ul>${(subject.related ?? []).map(
            (/** @type {any} */ one) =>
              html`<li>
                <a href=${`/console/subjects/${one.id}`}>${one.kind} <code>${one.id}</code></a>
              </li>`,
          )}</ul>
        </${Section}>
        ${timelines.has(subject.kind) && html`<${Timeline} query=${`${timelines.get(subject.kind)}=${encodeURIComponent(id)}`} />`}`}
    </${Answer}>`
}

/** Read only when somebody asks for it, because the access log records who sees what is personal. @param {{ query: string }} props */
function Timeline({ query }) {
  const { t } = useTexts()
  const [isOpen, setIsOpen] = useState(false)
  const answer = useAnswer(isOpen ? `/audit/timeline?limit=100&${query}` : null, { isStill: true })
  return html`<${Section} heading="The audit timeline">
    ${
      isOpen
        ? html`<${Answer} answer=${answer}>
      ${(/** @type {any} */ page) =>
        html`<${Table}
          name=${t('The audit timeline')}
          rows=${page.data}
          columns=${
            /** @type {const} */ ([
              ['When', (/** @type {any} */ one) => html`<${When} at=${one.recorded_at} />`],
              ['Name', (/** @type {any} */ { type }) => html`<code>${type}</code>`],
            ])
          }
        />`}
    </${Answer}>`
        : html`<button type="button" onClick=${() => setIsOpen(true)}>${t('Show')}</button>`
    }
  </${Section}>`
}
