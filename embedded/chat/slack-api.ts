import { randomBytes } from 'node:crypto'
import { jsonOf } from '../../platform/kit/json-reading.ts'
import { controlList, isSame } from '../children/remote-control.ts'
import type { FaultQueue } from '../receivers/fault-queue.ts'
import type { KeptRecords } from '../receivers/kept-records.ts'

/**
 * What happens to the next calls of `chat.postMessage`. A status below 300 without an error only delays the true
 * answer. `drop` keeps the message and loses the answer.
 */
export type ChatFault = {
  status: number
  error?: string
  retry_after?: number
  delay_ms: number
  drop?: boolean
  times: number
}

/** Throws an `InvalidControl` that names the member. */
export const parseChatFaults = controlList<ChatFault>({
  type: 'object',
  additionalProperties: false,
  anyOf: ['status', 'error', 'delay_ms', 'drop'].map((member) => ({ required: [member] })),
  properties: {
    status: { type: 'integer', minimum: 200, maximum: 599, default: 200 },
    error: { type: 'string', minLength: 1, maxLength: 100 },
    retry_after: { type: 'integer', minimum: 0, maximum: 86_400 },
    delay_ms: { type: 'integer', minimum: 0, maximum: 600_000, default: 0 },
    drop: { type: 'boolean' },
    times: { type: 'integer', minimum: 1, maximum: 1_000_000, default: 1 },
  },
})

export type ChatCall = { method: string; token: string; contentType: string; body: string; now: number }

/** `null` as body: the connection is dropped. */
export type ChatAnswer = { status: number; body: object | null; headers?: Record<string, string>; delayMs: number }

const mostTextCharacters = 40_000

/** The methods of Slack's Web API that the platform calls. Errors are HTTP 200 with `ok: false`, as there. */
export function answerChatCall(
  messages: KeptRecords,
  faults: FaultQueue<ChatFault>,
  botToken: string,
  { method, token, contentType, body, now }: ChatCall,
): ChatAnswer | undefined {
  if (method === 'api.test') return answer({ ok: true })
  if (method !== 'auth.test' && method !== 'chat.postMessage') return undefined
  if (!isSame(token, botToken)) return answer({ ok: false, error: token === '' ? 'not_authed' : 'invalid_auth' })
  if (method === 'auth.test') return answer({ ok: true, team: 'embedded', user: 'platform', bot_id: 'B0EMBEDDED' })

  const fault = faults.take()
  const isRefusal = fault !== undefined && (fault.status >= 300 || fault.error !== undefined)
  if (isRefusal) {
    const { status, error, retry_after, delay_ms } = fault
    const headers: Record<string, string> = retry_after === undefined ? {} : { 'retry-after': String(retry_after) }
    return { status, body: { ok: false, error: error ?? 'internal_error' }, headers, delayMs: delay_ms }
  }
  const { channel, text, ...rest } = argumentsOf(contentType, body)
  if (channel === undefined || channel === '') return answer({ ok: false, error: 'channel_not_found' })
  if (text === undefined || text === '') return answer({ ok: false, error: 'no_text' })
  if (text.length > mostTextCharacters) return answer({ ok: false, error: 'msg_too_long' })
  const ts = `${Math.floor(now / 1000)}.${String(randomBytes(4).readUInt32BE() % 1_000_000).padStart(6, '0')}`
  const message = { channel, text, ts, client_msg_id: rest['client_msg_id'] ?? null }
  messages.add(message)
  const delayMs = fault?.delay_ms ?? 0
  return { ...answer(fault?.drop === true ? null : { ok: true, channel, ts, message: { text, ts } }), delayMs }
}

function answer(body: object | null): ChatAnswer {
  return { status: 200, body, delayMs: 0 }
}

/** A form, as the official library sends, or JSON. */
function argumentsOf(contentType: string, body: string): Record<string, string> {
  const value: unknown = /^application\/json\b/i.test(contentType)
    ? jsonOf(body)
    : Object.fromEntries(new URLSearchParams(body))
  if (typeof value !== 'object' || value === null) return {}
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
