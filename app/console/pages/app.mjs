import { render } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { AccessPage } from './access.mjs'
import { accessDenied, readSession, refreshMs, sessionChanged, sessionEnded, signOut } from './api.mjs'
import { LogPage } from './log.mjs'
import { html } from './markup.mjs'
import { OverviewPage } from './overview.mjs'
import { PersonContext } from './parts.mjs'
import { ReadModelsPage } from './read-models.mjs'
import { SubjectPage } from './subject.mjs'
import { LanguageContext, languages, useTexts } from './texts.mjs'
import { WebhooksPage } from './webhooks.mjs'
import { WorkPage } from './work.mjs'

/** @type {readonly { path: string, title: string, page: () => any }[]} */
const pages = [
  { path: '/console', title: 'Overview', page: OverviewPage },
  { path: '/console/work', title: 'Work', page: WorkPage },
  { path: '/console/read-models', title: 'Read models', page: ReadModelsPage },
  { path: '/console/webhooks', title: 'Webhooks and notifications', page: WebhooksPage },
  { path: '/console/log', title: 'Log', page: LogPage },
  { path: '/console/access', title: 'Access', page: AccessPage },
]
const subjects = { path: '/console/subjects/', title: 'Subject', page: SubjectPage }
const here = pages.find(({ path }) => path === location.pathname) ?? subjects
const kept = 'console-language'

/** @param {{ language: import('./texts.mjs').Language, onLanguage: (language: string) => void }} props */
function Application({ language, onLanguage }) {
  const { t } = useTexts()
  /** Undefined before the answer, null without a session. */
  const [session, setSession] = useState(/** @type {import('./api.mjs').Session | null | undefined} */ (undefined))
  const [notice, setNotice] = useState('')
  const [isAway, setIsAway] = useState(false)
  const load = () => {
    readSession().then(
      (found) => {
        setIsAway(false)
        setSession(found)
      },
      () => setIsAway(true),
    )
  }
  useEffect(() => {
    const onEnd = () => setSession(null)
    const onDenied = () => setSession((before) => before && { ...before, permissions: [] })
    addEventListener(sessionEnded, onEnd)
    addEventListener(accessDenied, onDenied)
    addEventListener(sessionChanged, load)
    load()
    return () => {
      removeEventListener(sessionChanged, load)
      removeEventListener(sessionEnded, onEnd)
      removeEventListener(accessDenied, onDenied)
    }
  }, [])
  useEffect(() => {
    if (!isAway) return
    const timer = setInterval(load, refreshMs)
    return () => clearInterval(timer)
  }, [isAway])
  useEffect(() => {
    document.title = `${t(here.title)} – ${t('Console')}`
    document.documentElement.lang = language
  }, [language])
  const person = useMemo(() => ({ permissions: session?.permissions ?? [], notify: setNotice }), [session])
  const isAdmitted = session?.permissions.includes('operations:read') ?? false
  const leave = () => signOut().catch(() => load())
  return html` <a class="skip" href="#main">${t('Skip to the content')}</a>
    <header>
      <strong>${t('Console')}</strong>
      <nav aria-label=${t('Console')}>
        ${pages.map(({ path, title }) => html`<a href=${path} aria-current=${path === here.path ? 'page' : undefined}>${t(title)}</a>`)}
      </nav>
      <div class="person">
        <label>
          <span class="unseen">${t('Language')}</span>
          <select
            name="language"
            data-testid="language"
            value=${language}
            onChange=${(/** @type {any} */ event) => onLanguage(event.target.value)}
          >
            <option value="en">English</option>
            <option value="de">Deutsch</option>
          </select>
        </label>
        ${
          session &&
          html`<span data-testid="user">${session.user.display_name ?? session.user.id}</span>
            <button type="button" data-testid="sign-out" onClick=${leave}>${t('Sign out')}</button>`
        }
      </div>
    </header>
    <main id="main" tabindex="-1">
      <h1>${t(here.title)}</h1>
      <p class=${notice === '' ? 'unseen' : 'notice'} role="status" data-testid="notice">${notice}</p>
      ${isAway && html`<p role="alert" class="stale">${t('No answer. Trying again. What is shown may be old.')} <button type="button" onClick=${load}>${t('Try again')}</button></p>`}
      ${session === undefined && !isAway && html`<p aria-busy="true">${t('Loading')}…</p>`}
      ${
        session === null &&
        html`<p>${t('This page needs a session. It has ended, or there was none.')}</p>
          <p>
            <a
              class="main"
              data-testid="sign-in"
              href=${`/console/sign-in?return_to=${encodeURIComponent(location.pathname + location.search)}`}
              >${t('Sign in')}</a
            >
          </p>`
      }
      ${session && !isAdmitted && html`<p role="alert" data-testid="denied">${t('This account lacks the permission ')}<code>operations:read</code></p>`}
      ${session && isAdmitted && html`<${PersonContext.Provider} value=${person}><${here.page} /></${PersonContext.Provider}>`}
    </main>`
}

/** Null where the browser lets no site store anything. */
function storage() {
  try {
    return localStorage
  } catch {
    return null
  }
}

function Root() {
  const [language, setLanguage] = useState(() => {
    const wanted = storage()?.getItem(kept) ?? document.documentElement.lang
    return languages.find((known) => known === wanted) ?? 'en'
  })
  const choose = (/** @type {string} */ wanted) => {
    setLanguage(languages.find((known) => known === wanted) ?? 'en')
    storage()?.setItem(kept, wanted)
  }
  return html`<${LanguageContext.Provider} value=${language}>
    <${Application} language=${language} onLanguage=${choose} />
  </${LanguageContext.Provider}>`
}

render(html`<${Root} />`, document.body)
