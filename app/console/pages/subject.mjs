import { useState } from 'preact/hooks'
import { useAnswer } from './api.mjs'
import { html } from './markup.mjs'
import { Answer, parameter, Table, When } from './parts.mjs'
import { useTexts } from './texts.mjs'

const id = decodeURIComponent(location.pathname.slice('/console/subjects/'.length))

/**
 * What happened to one record. Read only when somebody asks for it, because the access log records who sees what is
 * personal.
 */
export function SubjectPage() {
  const { t } = useTexts()
  const kind = parameter('kind')
  const [isOpen, setIsOpen] = useState(false)
  const query = new URLSearchParams({ limit: '100', [`${kind}_id`]: id })
  const answer = useAnswer(isOpen ? `/audit/timeline?${query.toString()}` : null, { isStill: true })
  return html`<p>${kind} <code>${id}</code></p>
    ${
      isOpen
        ? html`<${Answer} answer=${answer}>
      ${(/** @type {import('./api.mjs').Schema<'TimelineItemPage'>} */ page) =>
        html`<${Table}
          name=${t('The audit timeline')}
          rows=${page.data}
          columns=${
            /** @type {const} */ ([
              [
                'When',
                (/** @type {import('./api.mjs').Schema<'TimelineItem'>} */ one) =>
                  html`<${When} at=${one.recorded_at} />`,
              ],
              [
                'Name',
                (/** @type {import('./api.mjs').Schema<'TimelineItem'>} */ { type }) => html`<code>${type}</code>`,
              ],
            ])
          }
        />`}
    </${Answer}>`
        : html`<button type="button" onClick=${() => setIsOpen(true)}>${t('Show the audit timeline')}</button>`
    }`
}
