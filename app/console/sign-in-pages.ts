import { escapeHtml } from '../../platform/http/problem-pages.ts'
import { page, type Language } from './shell.ts'

const messages = {
  denied: {
    en: ['No access', 'This account has no permission for the console. An operator gives it with `operators create`.'],
    de: ['Kein Zugang', 'Dieses Konto hat kein Recht für die Konsole. Es entsteht mit `operators create`.'],
  },
  failed: {
    en: ['Not signed in', 'This sign-in has ended, was used before, or was not begun here. Begin again.'],
    de: [
      'Nicht angemeldet',
      'Diese Anmeldung ist abgelaufen, schon benutzt oder nicht hier begonnen. Bitte neu beginnen.',
    ],
  },
  'no-sign-in': {
    en: ['No sign-in', 'There is no identity provider (IDP_MODE=mock), and CONSOLE_PASSWORD is not set.'],
    de: [
      'Keine Anmeldung',
      'Es gibt keinen Identitätsanbieter (IDP_MODE=mock), und CONSOLE_PASSWORD ist nicht gesetzt.',
    ],
  },
  'provider-away': {
    en: ['No sign-in now', 'The identity provider does not answer. Open sessions go on. Try again in a moment.'],
    de: [
      'Zurzeit keine Anmeldung',
      'Der Identitätsanbieter antwortet nicht. Offene Sitzungen gehen weiter. Bitte gleich noch einmal versuchen.',
    ],
  },
  'server-away': {
    en: ['No sign-in now', 'A server of the platform does not answer. Try again in a moment.'],
    de: ['Zurzeit keine Anmeldung', 'Ein Server der Plattform antwortet nicht. Bitte gleich noch einmal versuchen.'],
  },
} as const

const words = {
  en: { again: 'Sign in', title: 'Console: sign in', wrong: 'Address or password is wrong.', on: 'Go on' },
  de: { again: 'Anmelden', title: 'Konsole: Anmeldung', wrong: 'Adresse oder Passwort ist falsch.', on: 'Weiter' },
} as const

export function messagePage(language: Language, message: keyof typeof messages): string {
  const [title, text] = messages[message][language]
  const mark = message === 'denied' ? ' data-testid="denied"' : ''
  const main = `<main class="alone"><h1>${title}</h1><p${mark}>${escapeHtml(text)}</p>
<p><a data-testid="sign-in" href="/console/sign-in">${words[language].again}</a></p></main>`
  return page({ language, title, main })
}

/**
 * Goes on to a page by itself. After a redirect from another site a browser sends no strict cookie; it does for an address
 * that our own page opens.
 */
export function goOnPage(language: Language, returnTo: string): string {
  const address = attribute(returnTo)
  const { title, on } = words[language]
  const main = `<main class="alone"><h1>${title}</h1><p><a href="${address}">${on}</a></p></main>`
  return page({ language, title, main, head: `<meta http-equiv="refresh" content="0;url=${address}">\n` })
}

/** The development sign-in. Its labels are the same in each language. */
export function formPage(
  language: Language,
  { returnTo, isRefused }: { readonly returnTo: string; readonly isRefused: boolean },
): string {
  const { title, wrong } = words[language]
  const main = `<main class="alone"><h1>${title}</h1>
${isRefused ? `<p role="alert">${wrong}</p>\n` : ''}<form method="post" action="/console/development-sign-in">
<input type="hidden" name="return_to" value="${attribute(returnTo)}">
<label for="email">E-mail</label><input id="email" name="email" type="email" autocomplete="username" required>
<label for="password">Password</label><input id="password" name="password" type="password" autocomplete="current-password" required>
<button type="submit" data-testid="sign-in">Sign in</button></form></main>`
  return page({ language, title, main })
}

function attribute(text: string): string {
  return escapeHtml(text).replaceAll('"', '&quot;')
}
