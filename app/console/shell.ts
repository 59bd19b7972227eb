import type { FastifyReply, FastifyRequest } from 'fastify'
import { importMap } from '../../platform/http/console-headers.ts'
import { escapeHtml } from '../../platform/http/problem-pages.ts'

export type Language = 'de' | 'en'

/** German if the browser prefers it to English. */
export function languageOf({ headers }: FastifyRequest): Language {
  const preferred = (headers['accept-language'] ?? '')
    .slice(0, 200)
    .split(',')
    .map((part) => {
      const [name = '', quality = 'q=1'] = part.split(';').map((text) => text.trim().toLowerCase())
      return { language: name.slice(0, 2), weight: Number(quality.slice(2)) || 0 }
    })
    .toSorted((one, other) => other.weight - one.weight)
  return preferred.find(({ language }) => language === 'de' || language === 'en')?.language === 'de' ? 'de' : 'en'
}

interface PageParts {
  readonly language: Language
  readonly title: string
  /** Markup. Its texts are escaped. */
  readonly main: string
  readonly head?: string
}

export function page({ language, title, main, head = '' }: PageParts): string {
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="/console/assets/icon.svg">
<link rel="stylesheet" href="/console/assets/console.css">
${head}</head>
<body>${main}</body>
</html>
`
}

export function sendPage(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).header('vary', 'accept-language').type('text/html; charset=utf-8').send(text)
}

/** Every page of the console, without data. The modules fill it. */
export function shell(language: Language): string {
  return page({
    language,
    title: language === 'de' ? 'Konsole' : 'Console',
    head: `<script type="importmap">${importMap}</script>\n<script type="module" src="/console/assets/app.mjs"></script>\n`,
    main: `<noscript>${language === 'de' ? 'Die Konsole braucht JavaScript.' : 'The console needs JavaScript.'}</noscript>`,
  })
}
