import {
  LogLevel,
  type FetchFunction,
  type Logger,
  WebAPIPlatformError,
  WebAPIRequestError,
  WebClient,
} from '@slack/web-api'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import { jsonOf } from '../../platform/kit/json-reading.ts'
import { hasControlCharacter } from '../../platform/kit/mail-address.ts'
import { EgressError } from '../../platform/outbound/egress-error.ts'
import type { Egress } from '../../platform/outbound/egress.ts'
import { memberOf, readRetryAfter } from '../../platform/outbound/outside-answers.ts'
import {
  sendFailure,
  unansweredCall,
  unconfiguredSender,
  unknownDelivery,
  type NotificationSender,
  type OutgoingChat,
  type SendErrorCode,
  type SendOutcome,
} from './notification-sender.ts'

type ChatConfiguration = Pick<Configuration, 'slackApiUrl' | 'slackBotToken' | 'stepTimeoutMs'>

const maxBytes = 256 * 1024

/** An HTTP answer without the agreed body. */
class HttpAnswer extends Error {
  readonly status: number
  readonly retryAfterMs: number
  constructor(status: number, retryAfterMs: number) {
    super(`status ${status}`)
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

/** The library logs addresses and texts of answers. */
const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  setLevel: () => undefined,
  getLevel: () => LogLevel.ERROR,
  setName: () => undefined,
}

/** Posts messages by the Slack Web API. Its requests go through egress: no redirects, our limits, our circuit. */
export function createChatSender(
  egress: Egress,
  { slackApiUrl, slackBotToken, stepTimeoutMs }: ChatConfiguration,
  now: () => Date,
): NotificationSender<OutgoingChat> {
  return slackApiUrl === undefined || slackBotToken === undefined
    ? unconfiguredSender('slack', 'SLACK_API_URL and SLACK_BOT_TOKEN')
    : createSlackSender(egress, { url: slackApiUrl, token: slackBotToken, timeoutMs: stepTimeoutMs }, now)
}

interface SlackSettings {
  readonly url: string
  readonly token: string
  readonly timeoutMs: number
}

function createSlackSender(
  egress: Egress,
  { url: slackApiUrl, token, timeoutMs }: SlackSettings,
  now: () => Date,
): NotificationSender<OutgoingChat> {
  /** One client for each call, because a client takes no signal for a call. It costs 0.05 ms. */
  function clientFor(signal: AbortSignal): WebClient {
    const fetch: FetchFunction = async (url, { headers = {}, body } = {}) => {
      const response = await egress.request(url, {
        purpose: 'chat',
        method: 'POST',
        headers,
        body: typeof body === 'string' ? body : null,
        timeoutMs,
        maxBytes,
        signal,
      })
      const { status, headers: answered } = response
      const retryAfterMs = readRetryAfter(answered['retry-after'], now())
      if (status === 200) {
        const text = await response.text()
        if (isApiAnswer(text)) return new Response(text, { headers: inSeconds(retryAfterMs) })
      }
      await response.discard()
      throw new HttpAnswer(status, retryAfterMs)
    }
    return new WebClient(token, {
      slackApiUrl,
      fetch,
      logger: silent,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      allowAbsoluteUrls: false,
    })
  }

  return {
    providerName: 'slack',
    openForMs: () => egress.openForMs(slackApiUrl, 'chat'),
    async send({ notificationId, channel, text }, signal) {
      if (channel === '' || channel.length > 255 || hasControlCharacter(channel))
        return sendFailure('invalid_recipient', 'the channel is not the name or id of one channel')
      try {
        const answer = await clientFor(signal).apiCall('chat.postMessage', {
          channel,
          text,
          // Slack shows a message with a known id only once.
          client_msg_id: notificationId,
          link_names: false,
          unfurl_links: false,
          unfurl_media: false,
        })
        const ts = memberOf(answer, 'ts')
        const response = { status: 200, code: null }
        return { kind: 'sent', providerMessageId: typeof ts === 'string' ? ts.slice(0, 255) : null, response }
      } catch (error) {
        return classifyChatFailure(error)
      }
    },
    async isReachable(signal) {
      return clientFor(signal)
        .auth.test()
        .then(
          () => true,
          () => false,
        )
    },
    close: async () => undefined,
  }
}

/** The library reads the wait of a rate limit from this header. */
function inSeconds(retryAfterMs: number): Record<string, string> {
  return retryAfterMs === 0 ? {} : { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) }
}

/** Anything else comes from another server, for example a proxy. */
function isApiAnswer(text: string): boolean {
  return typeof memberOf(jsonOf(text), 'ok') === 'boolean'
}

const unreadable = unknownDelivery('Slack gave an unreadable answer')

/** The codes that Slack documents for `chat.postMessage`, by the class of the failure. */
const codes: readonly (readonly [SendErrorCode, readonly string[]])[] = [
  ['invalid_recipient', ['channel_not_found', 'is_archived', 'not_in_channel', 'team_not_found']],
  [
    'provider_auth_failed',
    [
      'access_denied',
      'accesslimited',
      'account_inactive',
      'ekm_access_denied',
      'enterprise_is_restricted',
      'invalid_auth',
      'missing_scope',
      'no_permission',
      'not_allowed_token_type',
      'not_authed',
      'org_login_required',
      'team_access_not_granted',
      'token_expired',
      'token_revoked',
      'two_factor_setup_required',
    ],
  ],
  ['provider_429', ['message_limit_exceeded', 'rate_limited', 'ratelimited']],
  ['provider_5xx', ['fatal_error', 'internal_error', 'request_timeout', 'service_unavailable', 'team_added_to_org']],
  [
    'provider_4xx',
    [
      'as_user_not_supported',
      'attachment_payload_limit_exceeded',
      'cannot_reply_to_message',
      'channel_type_not_supported',
      'deprecated_endpoint',
      'duplicate_channel_not_found',
      'duplicate_message_not_found',
      'invalid_arg_name',
      'invalid_arguments',
      'invalid_array_arg',
      'invalid_blocks',
      'invalid_blocks_format',
      'invalid_charset',
      'invalid_form_data',
      'invalid_json',
      'invalid_metadata_format',
      'invalid_metadata_schema',
      'invalid_post_type',
      'json_not_object',
      'markdown_text_conflict',
      'messages_tab_disabled',
      'metadata_must_be_sent_from_app',
      'metadata_too_large',
      'method_deprecated',
      'missing_file_data',
      'missing_post_type',
      'msg_blocks_too_long',
      'msg_too_long',
      'no_text',
      'restricted_action',
      'restricted_action_non_threadable_channel',
      'restricted_action_read_only_channel',
      'restricted_action_thread_locked',
      'restricted_action_thread_only_channel',
      'slack_connect_canvas_sharing_blocked',
      'slack_connect_file_link_sharing_blocked',
      'slack_connect_lists_sharing_blocked',
      'too_many_attachments',
      'too_many_contact_cards',
      'upgrade_required',
    ],
  ],
]

const classes: ReadonlyMap<string, SendErrorCode> = new Map(
  codes.flatMap(([errorCode, names]) => names.map((name) => [name, errorCode] as const)),
)

function classifyChatFailure(error: unknown): SendOutcome {
  if (error instanceof WebAPIPlatformError) return refused(error)
  const cause = error instanceof WebAPIRequestError ? error.original : error
  if (cause instanceof EgressError) return unansweredCall('Slack', cause)
  if (!(cause instanceof HttpAnswer)) return sendFailure('provider_4xx', 'the message cannot be sent')
  const { status, retryAfterMs } = cause
  if (status === 200) return unreadable
  const response = { status, code: null }
  return sendFailure(classOfStatus(status), `Slack answered ${status}`, { response, retryAfterMs })
}

function refused({ data }: WebAPIPlatformError): SendOutcome {
  const { error: code, response_metadata: metadata } = data
  if (typeof code !== 'string' || !/^[a-z0-9_]{1,64}$/.test(code)) return unreadable
  const errorCode = classes.get(code)
  const retryAfterMs = (metadata?.retryAfter ?? 0) * 1000
  const answer = { response: { status: 200, code }, retryAfterMs }
  return sendFailure(errorCode ?? 'provider_4xx', `Slack answered ${code}`, {
    ...answer,
    isUnclear: errorCode === undefined,
  })
}

function classOfStatus(status: number): SendErrorCode {
  if (status === 429) return 'provider_429'
  if (status >= 500) return 'provider_5xx'
  return status === 401 || status === 403 ? 'provider_auth_failed' : 'provider_4xx'
}
