import { useAnswer } from './api.mjs'
import { html } from './markup.mjs'
import { Answer, Badge, pagePath, Pages, Section, Table, When } from './parts.mjs'
import { useTexts } from './texts.mjs'
import { Items } from './work.mjs'

/** @typedef {import('./api.mjs').Schema<'EndpointState'>} Endpoint */

const listOf = (/** @type {string} */ name) => pagePath(`/operations/${name}`, name)

export function WebhooksPage() {
  const { t, count } = useTexts()
  const endpoints = useAnswer(listOf('endpoints'))
  return html`
    <${Section} heading="Endpoints">
      <${Answer} answer=${endpoints}>
        ${(/** @type {any} */ page) =>
          html`<${Table}
              name=${t('Endpoints')}
              rows=${/** @type {Endpoint[]} */ (page.data)}
              marks=${(/** @type {Endpoint} */ { id, status }) => ({ 'data-testid': 'endpoint', 'data-id': id, 'data-status': status })}
              columns=${
                /** @type {const} */ ([
                  ['Host', (/** @type {Endpoint} */ { host }) => html`<strong>${host}</strong>`],
                  [
                    'Status',
                    (/** @type {Endpoint} */ one) =>
                      html`<${Badge} value=${one.status} /> ${one.disabled_reason ?? ''}`,
                  ],
                  ['Failing since', (/** @type {Endpoint} */ one) => html`<${When} at=${one.failing_since} />`],
                  ['Last success', (/** @type {Endpoint} */ one) => html`<${When} at=${one.last_success_at} />`],
                  ['Pending', (/** @type {Endpoint} */ { pending }) => count(pending)],
                  ['Failed', (/** @type {Endpoint} */ { failed }) => count(failed)],
                  ['Organisation', (/** @type {Endpoint} */ one) => html`<code>${one.org_id}</code>`],
                ])
              }
            />
            <${Pages} page=${page} name="endpoints" />`}
      </${Answer}>
    </${Section}>
    <${Section} heading="Deliveries"><${Items} path=${listOf('deliveries')} cursor="deliveries" /></${Section}>
    <${Section} heading="Notifications"><${Items} path=${listOf('notifications')} cursor="notifications" /></${Section}>`
}
