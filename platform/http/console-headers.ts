import { createHash } from 'node:crypto'

/** Where the pages find the modules that they import by name. A page contains it as it is, because its hash admits it. */
export const importMap = JSON.stringify({
  imports: {
    htm: '/console/assets/htm.mjs',
    preact: '/console/assets/preact.mjs',
    'preact/hooks': '/console/assets/hooks.mjs',
  },
})

const policy = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${createHash('sha256').update(importMap).digest('base64')}'`,
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

const headers = {
  'content-security-policy': policy,
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
}

/** Headers of every answer below `/console`, also of refusals. None elsewhere. */
export function consoleHeaders(url: string): Readonly<Record<string, string>> {
  return /^\/console(?:[/?#]|$)/.test(url) ? headers : {}
}
