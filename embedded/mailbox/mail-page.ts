import type { StoredMail } from './smtp-in.ts'

const shown = 200

export const listedMails = shown

/** The list, newest first. It renews itself, because it has no script. */
export function listPage(base: string, mails: readonly { id: number; mail: StoredMail }[]): string {
  const rows = mails.map(
    ({ id, mail }) => `<tr>
<td class="time">${escape(timeOf(mail))}</td>
<td class="who">${escape(mail.to)}</td>
<td><a href="${base}/mails/${id}">${mail.subject === '' ? '(no subject)' : escape(mail.subject)}</a></td>
</tr>`,
  )
  const table = `<table class="list">
<thead><tr><th>Received (UTC)</th><th>To</th><th>Subject</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>`
  const note = mails.length === shown ? `<p class="note">The newest ${shown} mails.</p>` : ''
  const empty =
    '<p class="empty">No mails yet. Mails that the platform sends appear here. Nothing leaves this machine.</p>'
  return page('Mail box', `<h1>Mail box</h1>\n${mails.length === 0 ? empty : table + note}`, { isRenewed: true })
}

/** One mail: the HTML part in a frame without rights, the text part, all headers. */
export function mailPage(base: string, id: number, mail: StoredMail): string {
  const headers = Object.entries(mail.headers).map(
    ([name, value]) => `<tr><th>${escape(name)}</th><td>${escape(value)}</td></tr>`,
  )
  const html =
    mail.html === null
      ? ''
      : `<h2>HTML</h2>
<iframe title="HTML part" sandbox="allow-popups allow-popups-to-escape-sandbox" src="${base}/mails/${id}/html"></iframe>`
  return page(
    mail.subject,
    `<p><a href="${base}/">All mails</a></p>
<h1>${mail.subject === '' ? '(no subject)' : escape(mail.subject)}</h1>
<dl>
<dt>From</dt><dd>${escape(mail.from)}</dd>
<dt>To</dt><dd>${escape(mail.to)}</dd>
<dt>Received</dt><dd>${escape(timeOf(mail))} UTC</dd>
</dl>
${html}
<h2>Text</h2>
<pre>${mail.text.trim() === '' ? '(no text part)' : escape(mail.text)}</pre>
<details><summary>Headers</summary>
<table class="headers">
${headers.join('\n')}
</table>
</details>`,
    { isRenewed: false },
  )
}

/** The HTML part. Links open in a new tab, because the frame may not lead elsewhere. */
export function framedHtml(html: string): string {
  return `<!doctype html><meta charset="utf-8"><base target="_blank">${html}`
}

function page(title: string, body: string, { isRenewed }: { isRenewed: boolean }): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${isRenewed ? '<meta http-equiv="refresh" content="5">' : ''}
<title>${escape(title)}</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`
}

function timeOf({ received_at }: StoredMail): string {
  return received_at.slice(0, 19).replace('T', ' ')
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
}

export const style = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; }
main { max-width: 70rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem .4rem 0; border-bottom: 1px solid #8885; overflow-wrap: anywhere; }
.time { white-space: nowrap; font-variant-numeric: tabular-nums; }
.who { min-width: 8rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
iframe { width: 100%; height: 60vh; border: 1px solid #8885; border-radius: .25rem; background: #fff; color-scheme: light; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid #8885; border-radius: .25rem; padding: 1rem; margin: 0; }
details { margin-top: 1.5rem; }
.headers th { width: 14rem; font-weight: 600; }
.empty, .note { opacity: .75; }
@media (max-width: 40rem) {
  .list thead { display: none; }
  .list tr { display: block; padding: .6rem 0; border-bottom: 1px solid #8885; }
  .list td { display: block; padding: 0; border: 0; }
  .list .time { opacity: .75; }
}
`
