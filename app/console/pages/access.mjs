import { useAnswer } from './api.mjs'
import { html } from './markup.mjs'
import { Answer, Badge, pagePath, Pages, Section, Table, When } from './parts.mjs'
import { useTexts } from './texts.mjs'

/** Who may do what, and what operators did. Each list needs its own right. */
export function AccessPage() {
  return html` <${List}
      heading="Actions"
      path="/operations/actions"
      columns=${
        /** @type {const} */ ([
          ['When', (/** @type {any} */ one) => html`<${When} at=${one.at} />`],
          ['Action', (/** @type {any} */ { action }) => html`<code>${action}</code>`],
          ['Actor', (/** @type {any} */ { actor }) => html`${actor.kind} <code>${actor.id}</code>`],
          ['Subject', (/** @type {any} */ { subject }) => subject && html`${subject.kind} <code>${subject.id}</code>`],
          ['Reason', (/** @type {any} */ { reason }) => reason],
          ['Count', (/** @type {any} */ { count }) => count],
        ])
      }
    />
    <${List}
      heading="Clients"
      path="/auth/clients"
      columns=${
        /** @type {const} */ ([
          ['Name', (/** @type {any} */ { name }) => name],
          ['Id', (/** @type {any} */ one) => html`<code>${one.client_id ?? one.id}</code>`],
          ['Permissions', (/** @type {any} */ { scopes }) => (scopes ?? []).join(' ')],
        ])
      }
    />
    <${List}
      heading="Users"
      path="/admin/users"
      columns=${
        /** @type {const} */ ([
          ['Name', (/** @type {any} */ one) => one.displayName ?? one.display_name],
          ['Id', (/** @type {any} */ { id }) => html`<code>${id}</code>`],
          ['Status', (/** @type {any} */ { status }) => html`<${Badge} value=${status} />`],
        ])
      }
    />
    <${List}
      heading="Roles"
      path="/admin/roles"
      columns=${
        /** @type {const} */ ([
          ['Name', (/** @type {any} */ { name }) => name],
          ['Permissions', (/** @type {any} */ { permissions }) => (permissions ?? []).join(' ')],
        ])
      }
    />`
}

/** @param {{ heading: string, path: string, columns: readonly (readonly [string, (row: any) => any])[] }} props */
function List({ heading, path, columns }) {
  const { t } = useTexts()
  const name = heading.toLowerCase()
  const answer = useAnswer(pagePath(path, name), { isStill: true })
  return html`<${Section} heading=${heading}>
    <${Answer} answer=${answer}>
      ${(/** @type {any} */ page) =>
        html`<${Table}
            name=${t(heading)}
            rows=${page.data}
            columns=${columns}
            marks=${(/** @type {any} */ row) => ({ 'data-testid': heading.toLowerCase().slice(0, -1), 'data-id': row.id ?? row.client_id })}
          />
          <${Pages}
            page=${{ has_more: page.has_more ?? page.hasMore, next_cursor: page.next_cursor ?? page.nextCursor }}
            name=${name}
          />`}
    </${Answer}>
  </${Section}>`
}
