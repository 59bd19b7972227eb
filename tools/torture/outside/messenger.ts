import { textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer } from '../../../test/support/raw-api.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import type { PatientClient, Write } from './api.ts'

const notifications = '/v1/notifications'
const rules = `${notifications}/admin/subscriptions`

/** Mails of the first category are never sent twice. Those of the second may be, after a crash during the call. */
const mailTemplates = { operational: 'torture-mail', transactional: 'torture-needed' } as const
const chatTemplate = 'torture-chat'
const bodyTemplate = 'Torture'

function saveTemplate(code: string, content: object): Omit<Write, 'key'> {
  const body = { phi: false, bodyTemplate, ...content }
  const path = `${notifications}/admin/templates/${code}`
  return { operation: 'template', path, request: { method: 'PUT', body }, idOf: (answered) => textAt(answered, 'code') }
}

function createRule(eventType: string, templateCode: string, recipientRule: object): Omit<Write, 'key'> {
  const request = { body: { eventType, templateCode, recipientRule } }
  return { operation: 'rule', path: rules, request, idOf: (answered) => textAt(answered, 'id') }
}

/** Templates, and rules for which the load causes events: a mail, chat messages, and a failure for want of a user. */
export async function createRules(client: PatientClient): Promise<void> {
  const chat = { type: 'slackChannel', channel: 'C0TORTURE' }
  const writes = [
    ...Object.entries(mailTemplates).map(([category, code]) => saveTemplate(code, { category, subject: bodyTemplate })),
    saveTemplate(chatTemplate, { channel: 'slack', category: 'operational' }),
    createRule('users.membership.added', mailTemplates.operational, { type: 'user', path: 'userId' }),
    createRule('users.role.changed', mailTemplates.transactional, { type: 'user', path: 'userId' }),
    createRule('users.suspended', mailTemplates.operational, { type: 'user', path: 'nobody' }),
    createRule('assessment.completed', chatTemplate, chat),
    createRule('notification.failed', chatTemplate, chat),
  ]
  for (const [index, write] of writes.entries())
    if ((await client.write({ ...write, key: `rules-${index}` })) === undefined)
      throw new Error(`the ${write.operation} at ${write.path} was refused`)
}

type Send = (write: Omit<Write, 'key'>) => Promise<ApiAnswer | undefined>

export interface MessengerOptions {
  readonly name: string
  readonly random: SeededRandom
}

/** Sends notifications on request, and creates and deletes templates and rules. */
export class Messenger {
  readonly #options: MessengerOptions
  readonly #send: Send
  #codes = 0
  #ruleId: string | undefined

  constructor(options: MessengerOptions, send: Send) {
    this.#options = options
    this.#send = send
  }

  /** Performs one action. */
  async tend(): Promise<void> {
    const next = this.#options.random.below(10)
    if (next >= 3) return this.#notify()
    if (this.#ruleId === undefined) return this.#rule()
    const id = this.#ruleId
    const request = { method: 'DELETE' }
    const path = `${rules}/${id}`
    const deleted = await this.#send({ operation: 'unrule', path, request, idOf: () => id, doneStatus: 404 })
    if (deleted !== undefined) this.#ruleId = undefined
  }

  async #rule(): Promise<void> {
    const { name, random } = this.#options
    this.#codes += 1
    const code = `torture-${name}-${this.#codes}`
    const saved = await this.#send(saveTemplate(code, { channel: 'slack', category: 'operational' }))
    if (saved === undefined) return
    const eventType = random.oneIn(2) ? 'consent.granted' : 'clinical.patient.registered'
    const made = await this.#send(createRule(eventType, code, { type: 'slackChannel', channel: 'C0TORTURE' }))
    if (made !== undefined) this.#ruleId = textAt(made.body, 'id')
  }

  async #notify(): Promise<void> {
    const { name, random } = this.#options
    const isMail = !random.oneIn(3)
    const recipient = isMail
      ? { type: 'email', ref: `${name}@example.org` }
      : { type: 'slackChannel', ref: 'C0TORTURE' }
    const mail = random.oneIn(2) ? mailTemplates.operational : mailTemplates.transactional
    const body = { templateCode: isMail ? mail : chatTemplate, recipient, variables: {} }
    await this.#send({
      operation: 'notify',
      path: notifications,
      request: { body },
      idOf: (answered) => textAt(answered, 'id'),
    })
  }
}
