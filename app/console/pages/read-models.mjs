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

const verbs = [
  { verb: 'retry', label: 'Try again', question: 'Have it try its event again?' },
  { verb: 'skip', label: 'Skip', question: 'Go on without this event, for ever?' },
  { verb: 'rebuild', label: 'Rebuild', question: 'Rebuild this read model beside the serving one?' },
  { verb: 'verify', label: 'Verify', question: 'Compare this read model with the log?' },
  { verb: 'rollback', label: 'Roll back', question: 'Serve the former copy again?' },
]

/** @param {{ of: ReadModel, done: () => void }} props */
function Actions({ of: { name, status, failure, operation, copies }, done }) {
  const { t } = useTexts()
  const run = (/** @type {string} */ verb) => async (/** @type {string} */ reason) => {
    const place = verb === 'skip' ? { position: failure?.position } : {}
    const requested = await write(`/operations/projections/${name}/${verb}`, {
      ...place,
      ...(reason === '' ? {} : { reason }),
    })
    done()
    return t('The action was requested: ') + requested.id
  }
  const isFailed = status === 'failed' && failure !== null
  const offered = verbs.filter(
    ({ verb }) =>
      (verb !== 'rollback' || copies.some(({ kind }) => kind === 'previous')) &&
      (isFailed || (verb !== 'retry' && verb !== 'skip')),
  )
  return html` ${operation !== null && html`<p data-testid="operation" data-status=${operation.status}>${operation.action} <${Badge} value=${operation.status} /> <progress max="1" value=${operation.progress ?? 0}></progress> <${When} at=${operation.requested_at} /></p>`}
  ${offered.map(({ verb, label, question }) => {
    const subject = verb === 'skip' ? `${name} ${failure?.position ?? ''}` : name
    // The question of one action must not become that of another one, or of another event.
    return html`<${Action}
      key=${`${verb} ${subject}`}
      label=${label}
      testid=${`action-${verb}`}
      question=${question}
      subject=${subject}
      asksReason=${verb === 'skip'}
      run=${run(verb)}
    />`
  })}`
}
