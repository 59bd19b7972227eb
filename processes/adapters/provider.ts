import { PassThrough, type Readable } from 'node:stream'
import FormData from 'form-data'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { Egress, EgressRequest, EgressResponse } from '../../platform/outbound/egress.ts'
import { EgressError } from '../../platform/outbound/egress-error.ts'
import { readJsonText } from '../../platform/kit/json-reading.ts'
import type { SentBytes } from '../../streams/ai-review/events.ts'
import type { ImageType } from '../../streams/types.ts'
import { isInt32, memberOf, readRetryAfter } from '../../platform/outbound/outside-answers.ts'
import { measuredBytes } from './measured-bytes.ts'

/** How a provider call ended (specification 7.3). */
export type ProviderAnswer<Value> =
  | { readonly kind: 'ok'; readonly status: number; readonly value: Value }
  | {
      readonly kind: 'failed'
      readonly classification: 'provider_auth_failed' | 'provider_upstream_transient' | 'provider_client_error'
      readonly status: number | null
      /** No answer came, but the provider may have acted on the call. */
      readonly isUnknown: boolean
      /** `Retry-After` of the provider in milliseconds; 0 without one. */
      readonly retryAfterMs: number
    }
  /** The circuit is open. Nothing was sent, and this is no try. */
  | { readonly kind: 'not-sent'; readonly afterMs: number }

interface ImageUpload {
  readonly providerCaseId: number
  readonly imageType: ImageType
  readonly correlationId: string | null
  readonly deviceManufacturer?: string | undefined
  readonly deviceModel?: string | undefined
  readonly contentType: string
  readonly bytes: number | null
  /** Opens the bytes again: after a new login they are sent again. */
  readonly open: () => Promise<Readable>
}

interface SentImage {
  readonly providerImageId: number
  readonly providerImageHash: string | null
  /** Null if the provider answered before the last byte. */
  readonly sent: SentBytes | null
}

/** The external provider's session API, version 5 (specification 4.5). */
export interface Provider {
  /** Milliseconds for which the provider's circuit stays open; 0 if calls are possible. */
  openForMs(): number
  createCase(signal: AbortSignal): Promise<ProviderAnswer<{ readonly providerCaseId: number }>>
  sendImage(upload: ImageUpload, signal: AbortSignal): Promise<ProviderAnswer<SentImage>>
  process(providerCaseId: number, signal: AbortSignal): Promise<ProviderAnswer<{ readonly checksum: string }>>
  /** The unchanged text of the answer, because all of it is stored, and the name of the provider. */
  result(
    providerCaseId: number,
    checksum: string,
    signal: AbortSignal,
  ): Promise<ProviderAnswer<{ readonly text: string; readonly aiProvider: string }>>
  /** Sends a request without credentials, so that `server` is known before the first review. */
  identify(signal: AbortSignal): Promise<void>
  /** The kind of server that gave the last answer. */
  server(): ProviderServer
  /** Ends the session at the provider. It takes a second at most and never rejects. */
  close(): Promise<void>
}

/** The simulator of `embedded/provider` marks each of its answers. */
type ProviderServer = 'unknown' | 'simulator' | 'provider'

type ProviderConfiguration = Pick<
  Configuration,
  | 'profile'
  | 'providerBaseUrl'
  | 'providerName'
  | 'providerLogin'
  | 'providerPassword'
  | 'providerSessionTtlSeconds'
  | 'providerRequestingSystem'
  | 'stepTimeoutMs'
>

type Call = Omit<EgressRequest, 'purpose' | 'timeoutMs' | 'maxBytes' | 'signal' | 'body'> & {
  readonly path: string
  readonly body?: () => Promise<{ readonly body: string | Readable; readonly headers: Record<string, string> }>
}

/** Undefined for an answer that does not have the agreed form. */
type Read<Value> = (text: string, response: EgressResponse) => Value | undefined

interface Session {
  readonly token: string
  readonly until: number
  /** Running calls. They need the session even after another one has replaced it. */
  calls: number
  hasEnded: boolean
}

const mostResultBytes = 16 * 1024 * 1024
/** Characters of a checksum or a hash. */
const longestChecksum = 1_024
const logoutTimeoutMs = 1_000

/** The name of the provider in results of the simulator, whatever PROVIDER_NAME is. */
const simulatorName = 'simulator'
const simulatorHeader = 'x-provider-simulator'

export function createProvider(egress: Egress, configuration: ProviderConfiguration, now: () => Date): Provider {
  const base = `${configuration.providerBaseUrl ?? ''}/api5`
  let server: ProviderServer = 'unknown'
  let session: Session | null = null
  let loggingIn: Promise<ProviderAnswer<Session>> | null = null
  const loggingOut = new Set<Promise<void>>()

  /** One login at a time, shared by all calls, with its own time limit. A login changes no case at the provider. */
  async function login(): Promise<ProviderAnswer<Session>> {
    loggingIn ??= newSession(AbortSignal.timeout(configuration.stepTimeoutMs)).finally(() => {
      loggingIn = null
    })
    const answer = await loggingIn
    return answer.kind === 'failed' ? { ...answer, isUnknown: false } : answer
  }

  async function newSession(signal: AbortSignal): Promise<ProviderAnswer<Session>> {
    const credentials = form({
      login: configuration.providerLogin ?? '',
      password: configuration.providerPassword ?? '',
    })
    const sent = await send(`${base}/login`, { method: 'POST', ...credentials }, signal)
    if (sent.kind !== 'ok') return sent
    await sent.value.discard()
    if (sent.value.status === 401) return failed('provider_auth_failed', 401)
    const refusal = refusalOf(sent.value, now())
    if (refusal !== null) return refusal
    const token = sent.value.headers['authorization']
    if (typeof token !== 'string') return failed('provider_upstream_transient', sent.value.status)
    const replaced = session
    session = {
      token,
      until: now().getTime() + configuration.providerSessionTtlSeconds * 1000,
      calls: 0,
      hasEnded: false,
    }
    if (replaced !== null) endUnlessUsed(replaced)
    return { kind: 'ok', status: sent.value.status, value: session }
  }

  function endUnlessUsed(old: Session): void {
    // A provider may return the same token again: then the session continues.
    if (old.hasEnded || old.calls > 0 || old.token === session?.token) return
    const ending = logout(old).finally(() => loggingOut.delete(ending))
    loggingOut.add(ending)
  }

  /**
   * Best effort: otherwise the provider ends the session after a time. A failure here opens no circuit for other calls.
   */
  async function logout(old: Session): Promise<void> {
    old.hasEnded = true
    try {
      const headers = { authorization: old.token }
      const limits = { timeoutMs: logoutTimeoutMs, maxBytes: 65_536 }
      const response = await egress.request(`${base}/logout`, {
        purpose: 'provider',
        lane: 'logout',
        method: 'POST',
        headers,
        ...limits,
      })
      await response.discard()
    } catch (error) {
      if (!(error instanceof EgressError)) throw error
    }
  }

  /**
   * Uses the present session. After the first 401, also of the login, there is one new login and one repeat
   * (specification 4.5, rule 4).
   */
  async function call<Value>(asked: Call, signal: AbortSignal, read: Read<Value>): Promise<ProviderAnswer<Value>> {
    const first = await callOnce(asked, signal, read)
    const isRefused = first.kind === 'failed' && first.classification === 'provider_auth_failed'
    return isRefused ? callOnce(asked, signal, read) : first
  }

  async function callOnce<Value>(asked: Call, signal: AbortSignal, read: Read<Value>): Promise<ProviderAnswer<Value>> {
    let used = session
    if (used === null || used.until <= now().getTime()) {
      const logged = await login()
      if (logged.kind !== 'ok') return logged
      used = logged.value
    }
    used.calls += 1
    try {
      return await callIn(used, asked, signal, read)
    } finally {
      used.calls -= 1
      if (used !== session) endUnlessUsed(used)
    }
  }

  async function callIn<Value>(
    used: Session,
    { path, method, body }: Call,
    signal: AbortSignal,
    read: Read<Value>,
  ): Promise<ProviderAnswer<Value>> {
    const content = await body?.()
    const headers = { authorization: used.token, ...content?.headers }
    const request = {
      headers,
      ...(method === undefined ? {} : { method }),
      ...(content === undefined ? {} : { body: content.body }),
    }
    const sent = await send(`${base}${path}`, request, signal)
    if (sent.kind !== 'ok') return sent
    const { value: response } = sent
    if (response.status === 401) {
      await response.discard()
      used.hasEnded = true
      // Another call may have renewed the session already. Only the refused session is dropped.
      if (session === used) session = null
      return failed('provider_auth_failed', 401)
    }
    const refusal = refusalOf(response, now())
    if (refusal !== null) {
      await response.discard()
      return refusal
    }
    const value = await readAnswer(response, read)
    const { status } = response
    return value === undefined ? failed('provider_upstream_transient', status, true) : { kind: 'ok', status, value }
  }

  async function send(
    url: string,
    request: Pick<EgressRequest, 'headers' | 'body' | 'method'>,
    signal: AbortSignal,
  ): Promise<ProviderAnswer<EgressResponse>> {
    try {
      const limits = { timeoutMs: configuration.stepTimeoutMs, maxBytes: mostResultBytes, signal }
      const response = await egress.request(url, { purpose: 'provider', ...request, ...limits })
      server = isSimulated(response) ? 'simulator' : 'provider'
      if (server === 'provider' || configuration.profile === 'development')
        return { kind: 'ok', status: response.status, value: response }
      // The simulator invents diagnoses. In production its answers count as an outage of the provider.
      await response.discard()
      return failed('provider_upstream_transient', null)
    } catch (error) {
      if (!(error instanceof EgressError)) throw error
      if (error.code === 'circuit_open') return { kind: 'not-sent', afterMs: error.retryAfterMs ?? 1000 }
      return failed('provider_upstream_transient', null, error.mayHaveBeenSent)
    }
  }

  return {
    openForMs: () => egress.openForMs(base, 'provider'),

    createCase: (signal) =>
      call(
        {
          path: '/case',
          method: 'POST',
          body: async () => form({ requestingSystem: configuration.providerRequestingSystem }),
        },
        signal,
        (text) => {
          const providerCaseId = memberOf(readJsonText(text), 'caseId')
          return isInt32(providerCaseId) ? { providerCaseId } : undefined
        },
      ),

    sendImage(upload, signal) {
      let passed = (): SentBytes | null => null
      const body = async () => {
        const measured = measuredBytes(await upload.open())
        passed = measured.passed
        return multipart(upload, measured.stream)
      }
      return call({ path: '/image', method: 'POST', body }, signal, (text) => {
        const answer = readJsonText(text)
        const providerImageId = memberOf(answer, 'imageId')
        const hash = memberOf(answer, 'hash')
        if (!isInt32(providerImageId)) return undefined
        return { providerImageId, providerImageHash: isRecordable(hash) ? hash : null, sent: passed() }
      })
    },

    process: (providerCaseId, signal) =>
      call({ path: `/case/${providerCaseId}/process`, method: 'POST' }, signal, (text) => {
        const checksum = memberOf(readJsonText(text), 'checksum')
        return isRecordable(checksum) ? { checksum } : undefined
      }),

    result: (providerCaseId, checksum, signal) =>
      call(
        { path: `/case/${providerCaseId}/result?checksum=${encodeURIComponent(checksum)}` },
        signal,
        (text, response) => {
          JSON.parse(text)
          return { text, aiProvider: isSimulated(response) ? simulatorName : configuration.providerName }
        },
      ),

    async identify(signal) {
      const sent = await send(`${base}/login`, { method: 'HEAD' }, signal)
      if (sent.kind === 'ok') await sent.value.discard()
    },

    server: () => server,

    async close() {
      const held = session
      session = null
      if (held !== null && !held.hasEnded) await logout(held)
      await Promise.all(loggingOut)
    },
  }
}

function failed(
  classification: Extract<ProviderAnswer<never>, { kind: 'failed' }>['classification'],
  status: number | null,
  isUnknown = false,
  retryAfterMs = 0,
): Extract<ProviderAnswer<never>, { kind: 'failed' }> {
  return { kind: 'failed', classification, status, isUnknown, retryAfterMs }
}

/** An event has room for it, and an address can contain it. */
function isRecordable(checksum: unknown): checksum is string {
  return typeof checksum === 'string' && checksum.length <= longestChecksum && checksum.isWellFormed()
}

function isSimulated({ headers }: EgressResponse): boolean {
  return headers[simulatorHeader] !== undefined
}

/** The class of an answer without success; null for a success. The caller handles a 401. */
function refusalOf({ status, headers }: EgressResponse, now: Date): ProviderAnswer<never> | null {
  if (status >= 200 && status < 300) return null
  const isTransient = status >= 500 || status === 429
  const classification = isTransient ? 'provider_upstream_transient' : 'provider_client_error'
  return failed(classification, status, false, readRetryAfter(headers['retry-after'], now))
}

/** Undefined if the answer broke off or does not have the agreed form. */
async function readAnswer<Value>(response: EgressResponse, read: Read<Value>): Promise<Value | undefined> {
  try {
    return read(await response.text(), response)
  } catch (error) {
    if (error instanceof EgressError || error instanceof SyntaxError) return undefined
    throw error
  }
}

function form(members: Record<string, string>): { readonly body: string; readonly headers: Record<string, string> } {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return { body: new URLSearchParams(members).toString(), headers }
}

/** Streams the image. If its source breaks off, the request breaks off too. */
function multipart(
  upload: ImageUpload,
  source: Readable,
): { readonly body: Readable; readonly headers: Record<string, string> } {
  const data = new FormData()
  data.append('caseId', String(upload.providerCaseId))
  data.append('imageType', upload.imageType)
  if (upload.deviceManufacturer !== undefined) data.append('deviceManufacturer', upload.deviceManufacturer)
  if (upload.deviceModel !== undefined) data.append('deviceModel', upload.deviceModel)
  if (upload.correlationId !== null) data.append('correlationId', upload.correlationId)
  const known = upload.bytes === null ? {} : { knownLength: upload.bytes }
  data.append('image', source, { filename: 'image', contentType: upload.contentType, ...known })
  const body = new PassThrough()
  const breakOff = (error: Error) => body.destroy(error)
  source.on('error', breakOff)
  data.on('error', breakOff)
  body.on('close', () => source.destroy())
  data.pipe(body)
  return { body, headers: data.getHeaders() }
}
