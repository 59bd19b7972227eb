import { controlList } from '../children/remote-control.ts'

/**
 * A stage of SMTP: the greeting, the login, the sender, a recipient, the command DATA, and `dot`, the end of the
 * message.
 */
export const stages = ['greeting', 'auth', 'mail', 'rcpt', 'data', 'dot'] as const
export type Stage = (typeof stages)[number]

/**
 * What happens at a stage instead of the normal answer. A delay without one of the others only delays it. At `dot` a
 * hanging or dropped connection loses the answer and not the mail: the mail box keeps it.
 */
export type MailFault = {
  stage: Stage
  reply?: number | string
  hang?: boolean
  drop?: boolean
  delay_ms: number
  times: number
}

/** Throws an `InvalidControl` that names the member. */
export const parseMailFaults = controlList<MailFault>({
  type: 'object',
  additionalProperties: false,
  required: ['stage'],
  anyOf: ['reply', 'hang', 'drop', 'delay_ms'].map((member) => ({ required: [member] })),
  properties: {
    stage: { enum: stages },
    reply: {
      anyOf: [
        { type: 'integer', minimum: 400, maximum: 599 },
        { type: 'string', pattern: '^[45][0-9]{2}( [ -~]{1,400})?$' },
      ],
    },
    hang: { type: 'boolean' },
    drop: { type: 'boolean' },
    delay_ms: { type: 'integer', minimum: 0, maximum: 600_000, default: 0 },
    times: { type: 'integer', minimum: 1, maximum: 1_000_000, default: 1 },
  },
})

/** A refusal as smtp-server takes it. It adds the enhanced status code itself. */
export function refusalBy(reply: number | string): Error & { responseCode: number } {
  const [, code = '450', text = ''] = /^(\d{3}) ?(?:\d\.\d{1,3}\.\d{1,3} ?)?(.*)$/.exec(String(reply)) ?? []
  return Object.assign(new Error(text === '' ? 'Refused on request' : text), { responseCode: Number(code) })
}
