import { Type, type TSchema } from 'typebox'
import { escapeHtml } from '../../platform/http/problem-pages.ts'
import { channelsByDomain } from './channels.ts'
import { exampleOfEvent } from './asyncapi.ts'

/** Names the members that may be missing. */
function missingOf(schema: TSchema): string {
  if (!Type.IsObject(schema)) return ''
  const members = Object.entries(schema.properties)
  const optional = members.flatMap(([name, member]) => (Type.IsOptional(member) ? [`<code>${name}</code>`] : []))
  return optional.length === 0 ? '' : ` May be missing: ${optional.join(', ')}.`
}

/** A page for people: every channel and event, with an example of each. */
export function eventPage(): string {
  const channels = [...channelsByDomain].map(([domain, { name, events }]) => {
    const shown = Object.values(events).map(
      ({ type, version, schema }) =>
        `<h3 id="${type}"><a href="#${type}"><code>${type}</code></a></h3><p>Version ${version} of the payload.${missingOf(schema)}</p>
<pre><code>${escapeHtml(JSON.stringify(exampleOfEvent(type, version, schema), null, 2))}</code></pre>`,
    )
    return `<h2 id="${domain}">${name}</h2><p>Over HTTP: <code>GET /v1/events/${domain}</code></p>${shown.join('\n')}`
  })
  const places = [...channelsByDomain].map(([domain, { name }]) => `<li><a href="#${domain}">${name}</a></li>`)
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Public events</title><body>
<h1>Public events</h1>
<p>Facts that the platform publishes, each once and in order. The same as AsyncAPI 3.0: <a href="../asyncapi.json">asyncapi.json</a>.
The routes: <a href="../docs">OpenAPI</a>.</p>
<ul>${places.join('')}</ul>
${channels.join('\n')}</body></html>`
}
