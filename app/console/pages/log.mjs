import { useAnswer } from './api.mjs'
import { html } from './markup.mjs'
import { Answer, When } from './parts.mjs'
import { useTexts } from './texts.mjs'

/** The newest seal of the log. Before the first one there is none. */
export function LogPage() {
  const { t, count } = useTexts()
  const answer = useAnswer('/operations/seals')
  return html`<${Answer} answer=${answer} none="None">
    ${(/** @type {import('./api.mjs').Schema<'SealState'>} */ seal) =>
      html`<dl>
        <dt>${t('Events')}</dt>
        <dd>${count(seal.size)}</dd>
        <dt>${t('Position')}</dt>
        <dd><code>${seal.position}</code></dd>
        <dt>${t('Sealed')}</dt>
        <dd><${When} at=${seal.sealed_at} /></dd>
        <dt>${t('Lag')}</dt>
        <dd>${count(seal.lag_seconds)} s</dd>
        <dt>${t('Witnesses')}</dt>
        <dd>${seal.witnesses.map(({ name, size }) => `${name} (${count(size)})`).join(', ') || t('None')}</dd>
      </dl>`}
  </${Answer}>`
}
