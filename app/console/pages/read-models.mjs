import { useAnswer, write } from './api.mjs'
import { html } from './markup.mjs'
import { Action, Answer, Badge, Pages, parameter, Table, When } from './parts.mjs'
import { useTexts } from './texts.mjs'

/** @typedef {import('./api.mjs').Schema<'ProjectionState'>} ReadModel */

export function ReadModelsPage() {
  const { t, count } = useTexts()
  const cursor = parameter('cursor')
  const answer = useAnswer(
    `/operations/projections?limit=100${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
  )
  return html`<${Answer} answer=${answer}>
    ${(/** @type {any} */ page) =>
      html`<${Table}
          name=${t('Read models')}
          rows=${/** @type {ReadModel[]} */ (page.data)}
          marks=${(/** @type {ReadModel} */ { name, status }) => ({ 'data-testid': 'projector', 'data-name': name, 'data-status': status })}
          columns=${
            /** @type {const} */ ([
              ['Name', (/** @type {ReadModel} */ { name }) => html`<strong>${name}</strong>`],
              ['Status', (/** @type {ReadModel} */ { status }) => html`<${Badge} value=${status} />`],
              [
                'Version',
                (/** @type {ReadModel} */ one) =>
                  `${one.version ?? '–'}${one.program_version === one.version ? '' : ` (${one.program_version ?? '–'})`}`,
              ],
              ['Position', (/** @type {ReadModel} */ { position }) => html`<code>${position ?? '–'}</code>`],
              [
                'Events behind',
                (/** @type {ReadModel} */ one) => (one.events_behind === null ? '–' : count(one.events_behind)),
              ],
              [
                'Last move',
                (/** @type {ReadModel} */ one) =>
                  one.seconds_since_move === null ? '–' : `${count(one.seconds_since_move)} s`,
              ],
              [
                'Error',
                (/** @type {ReadModel} */ { failure }) =>
                  failure === null
                    ? '–'
                    : html`<code>${failure.event_type} ${failure.position}</code> ${failure.reason}`,
              ],
              [
                'Copies',
                (/** @type {ReadModel} */ { copies }) =>
                  copies.map(({ kind, version }) => `${kind} ${version}`).join(', ') || '–',
              ],
              ['Action', (/** @type {ReadModel} */ one) => html`<${Actions} of=${one} done=${answer.reload} />`],
            ])
          }
        />
        <${Pages} page=${page} name="cursor" />`}
  </${Answer}>`
}

/** @param {{ of: ReadModel, done: () => void }} props */
function Actions({ of: { name, operation, copies }, done }) {
  const { t } = useTexts()
  const run = (/** @type {string} */ action) => async () => {
    const requested = await write(`/operations/projections/${name}/${action}`, {})
    done()
    return t('The action was requested: ') + requested.id
  }
  return html` ${operation !== null && html`<p data-testid="operation" data-status=${operation.status}>${operation.action} <${Badge} value=${operation.status} /> <progress max="1" value=${operation.progress ?? 0}></progress> <${When} at=${operation.requested_at} /></p>`}
    <${Action}
      label="Rebuild"
      testid="action-rebuild"
      question="Rebuild this read model beside the serving one?"
      subject=${name}
      run=${run('rebuild')}
    />
    <${Action}
      label="Verify"
      testid="action-verify"
      question="Compare this read model with the log?"
      subject=${name}
      run=${run('verify')}
    />
    ${copies.some(({ kind }) => kind === 'previous') && html`<${Action} label="Roll back" testid="action-rollback" question="Serve the former copy again?" subject=${name} run=${run('rollback')} />`}`
}
