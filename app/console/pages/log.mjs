import { useAnswer } from './api.mjs'
import { html } from './markup.mjs'
import { Answer, Badge, When } from './parts.mjs'
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
        <dt>${t('Last verification')}</dt>
        <dd data-testid="verification">
          ${
            seal.last_verification === null
              ? t('None')
              : html`<${Badge} value=${seal.last_verification.faults === 0 ? 'ok' : 'failing'} />
                  <${When} at=${seal.last_verification.at} /> ${t('Events')} ${count(seal.last_verification.size)},
                  ${t('Faults')} ${count(seal.last_verification.faults)}`
          }
        </dd>
        <dt>${t('Witnesses')}</dt>
        <dd>${seal.witnesses.map(({ name, size }) => `${name} (${count(size)})`).join(', ') || t('None')}</dd>
      </dl>`}
  </${Answer}>`
}
