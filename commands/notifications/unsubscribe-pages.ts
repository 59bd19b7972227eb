import { createHash } from 'node:crypto'
import type { OpenedLink } from './unsubscribe-links.ts'

export interface Page {
  readonly status: 200 | 404 | 410
  readonly html: string
}

const style =
  'body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem}button{font:inherit;padding:.5rem 1rem}'

/** The page loads nothing, runs nothing, is in no frame, and sends its form to its own address only. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex',
} as const

type Kind = Pick<OpenedLink, 'category' | 'channel'>

/** A page with a button, which changes nothing itself: mail scanners open every link. */
export function questionPage(kind: Kind): Page {
  const messages = messagesOf(kind)
  return page(200, `Stop ${messages}?`, [
    `You will get no more ${messages}. Other messages still arrive.`,
    '<form method="post"><button>Unsubscribe</button></form>',
  ])
}

export function donePage(kind: Kind): Page {
  return page(200, 'You are unsubscribed', [`You will get no more ${messagesOf(kind)}.`])
}

export function optedInPage(kind: Kind): Page {
  return page(200, 'Nothing has changed', [
    `After this message was sent, you chose to receive ${messagesOf(kind)}. Use the link in a newer message to stop them.`,
  ])
}

export const refusalPages = {
  invalid: page(404, 'This link is not valid', ['Open the link in the message again, or use a newer message.']),
  expired: page(410, 'This link has expired', ['A link works for 180 days. Use the link in a newer message.']),
} as const

function messagesOf({ category, channel }: Kind): string {
  return `${category} ${{ email: 'e-mails', slack: 'chat messages' }[channel]}`
}

/** Contains fixed texts and names of this file only, so there is nothing to escape. */
function page(status: Page['status'], title: string, parts: readonly string[]): Page {
  const content = parts.map((part) => (part.startsWith('<') ? part : `<p>${part}</p>`)).join('\n')
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>`
  const html = `<!doctype html>\n<html lang="en">${head}<style>${style}</style>\n<h1>${title}</h1>\n${content}\n</html>\n`
  return { status, html }
}
