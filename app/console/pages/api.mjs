import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

/**
 * @template {keyof import('../../../packages/client/api.ts').components['schemas']} Name
 * @typedef {import('../../../packages/client/api.ts').components['schemas'][Name]} Schema
 */

/**
 * @typedef {object} Session
 * @property {{ id: string, display_name: string | null }} user
 * @property {string[]} permissions
 * @property {string} csrf_token
 * @property {string} expires_at
 */

/** The session has ended. The application listens to it. */
export const sessionEnded = 'console-session-ended'
/** The browser has another session than this page, as after a sign-in in another tab. The application reads it again. */
export const sessionChanged = 'console-session-changed'
/** The person may not use the console any more. */
export const accessDenied = 'console-access-denied'
export const refreshMs = 5_000
const timeoutMs = 15_000

let csrfToken = ''

/** A refusal of the API, or status 0 without an answer. */
export class Refusal extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} [permission] the one that lacks
   */
  constructor(status, code, permission) {
    super(code)
    this.status = status
    this.code = code
    this.permission = permission
  }
}

/** Another try may succeed. @param {Refusal} refusal */
const mayPass = ({ status }) => status === 0 || status === 429 || status >= 500

/** @param {unknown} value @param {string} name @returns {string | undefined} */
function textIn(value, name) {
  const found = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  return typeof found === 'string' ? found : undefined
}

/**
 * @param {string} path
 * @param {RequestInit} request
 * @returns {Promise<any>}
 */
async function send(path, request) {
  const response = await fetch(path, { ...request, signal: AbortSignal.timeout(timeoutMs) }).catch(() => {
    throw new Refusal(0, 'no-answer')
  })
  const body = await response.json().catch(() => undefined)
  if (response.ok) return body
  const permission = textIn(body, 'required_permission')
  const code = textIn(body, 'code') ?? 'no-answer'
  if (response.status === 401) dispatchEvent(new Event(sessionEnded))
  if (response.status === 403 && permission === 'operations:read') dispatchEvent(new Event(accessDenied))
  if (code === 'csrf-refused') dispatchEvent(new Event(sessionChanged))
  throw new Refusal(response.status, code, permission)
}

/** Null without a session. @returns {Promise<Session | null>} */
export async function readSession() {
  try {
    const session = await send('/console/session', {})
    csrfToken = session.csrf_token
    return session
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) return null
    throw error
  }
}

/** The answer of `GET /v1/…`. `isRefresh`: nobody asked for it, so it does not keep the session alive. */
export const read = (/** @type {string} */ path, isRefresh = false) =>
  send(`/console/api/v1${path}`, { headers: isRefresh ? { 'x-console-refresh': '1' } : {} })

/** @param {string} path @param {object} body */
export const write = (path, body) => post(`/console/api/v1${path}`, body)

export async function signOut() {
  const { redirect_to: target } = await post('/console/sign-out', undefined)
  location.assign(target)
}

/** @param {string} path @param {object | undefined} body */
function post(path, body) {
  const headers = { 'x-csrf-token': csrfToken, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
  return send(path, { method: 'POST', headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
}

/**
 * The newest part of a stream of server-sent events. After a refusal it asks once for the reason, and connects again. So it
 * does after a silence: the browser does not notice a connection that is lost without a word, and comments do not count.
 *
 * @param {string} path
 * @returns {{ data: any, error: Refusal | undefined }}
 */
export function useStream(path) {
  const [answer, setAnswer] = useState(/** @type {{ data?: any, error?: Refusal }} */ ({}))
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let again
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let silence
    const source = new EventSource(`/console/api/v1${path}`)
    const awaitMessage = () => {
      clearTimeout(silence)
      silence = setTimeout(onSilence, timeoutMs)
    }
    source.addEventListener('message', ({ data }) => {
      awaitMessage()
      setAnswer({ data: JSON.parse(data) })
    })
    const onError = async () => {
      try {
        const data = await read(path, true)
        setAnswer({ data })
      } catch (error) {
        const refusal = error instanceof Refusal ? error : new Refusal(0, 'no-answer')
        setAnswer((before) => ({ ...(refusal.status === 403 ? {} : { data: before.data }), error: refusal }))
      }
      if (source.readyState === EventSource.CLOSED) again = setTimeout(() => setAttempt(attempt + 1), refreshMs)
    }
    const onSilence = () => {
      source.close()
      setAnswer((before) => ({ ...before, error: new Refusal(0, 'no-answer') }))
      void onError()
    }
    source.addEventListener('error', () => void onError())
    awaitMessage()
    return () => {
      source.close()
      clearTimeout(again)
      clearTimeout(silence)
    }
  }, [path, attempt])
  return { data: answer.data, error: answer.error }
}

/**
 * Reads now, and again each five seconds while somebody can see the page.
 *
 * @param {string | null} path null reads nothing
 * @param {{ isStill?: boolean }} [options] `isStill`: only until there is an answer
 * @returns {{ data: any, error: Refusal | undefined, reload: () => void }}
 */
export function useAnswer(path, { isStill = false } = {}) {
  const [answer, setAnswer] = useState(/** @type {{ path: string | null, data?: any, error?: Refusal }} */ ({ path }))
  const last = useRef(path)
  last.current = path
  const isOver = useRef(false)
  const load = useCallback(
    async (/** @type {boolean} */ isRefresh) => {
      if (path === null) return
      try {
        const data = await read(path, isRefresh)
        isOver.current = isStill
        if (last.current === path) setAnswer({ path, data })
      } catch (error) {
        const refusal = error instanceof Refusal ? error : new Refusal(0, 'no-answer')
        isOver.current = isStill && !mayPass(refusal)
        // What was read before stays, unless the right to it is gone.
        if (last.current === path)
          setAnswer((before) => ({
            path,
            error: refusal,
            ...(before.path === path && refusal.status !== 403 ? { data: before.data } : {}),
          }))
      }
    },
    [path, isStill],
  )
  useEffect(() => {
    void load(false)
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible' && !isOver.current) void load(true)
    }, refreshMs)
    return () => clearInterval(timer)
  }, [load])
  const { data, error } = answer.path === path ? answer : { data: undefined, error: undefined }
  return { data, error, reload: () => void load(false) }
}
