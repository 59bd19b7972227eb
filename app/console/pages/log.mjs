import { useAnswer } from './api.mjs'
import { html } from './markup.mjs'
import { Answer, When } from './parts.mjs'
import { useTexts } from './texts.mjs'

/** The seals of the log. Programs without them do not have the route. */
export function LogPage() {
  const { t, count } = useTexts()
  const answer = useAnswer('/operations/seals')
  return html`<${Answer} answer=${answer}>
    ${(/** @type {any} */ seals) =>
      html`<dl>
        <dt>${t('Items')}</dt>
        <dd>${seals.size === null ? '–' : count(Number(seals.size))}</dd>
        <dt>${t('Position')}</dt>
        <dd><code>${seals.position ?? '–'}</code></dd>
        <dt>${t('Seals')}</dt>
        <dd><${When} at=${seals.sealed_at} /></dd>
        <dt>${t('Lag')}</dt>
        <dd>${seals.lag_seconds === null ? '–' : `${count(seals.lag_seconds)} s`}</dd>
        <dt>${t('Witnesses')}</dt>
        <dd>
          ${(seals.witnesses ?? []).map((/** @type {any} */ witness) => witness.name ?? String(witness)).join(', ') || t('None')}
        </dd>
        <dt>${t('Verified last')}</dt>
        <dd><${When} at=${seals.last_verification?.at ?? null} /></dd>
      </dl>`}
  </${Answer}>`
}
