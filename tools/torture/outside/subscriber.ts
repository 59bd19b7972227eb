import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer } from '../../../test/support/raw-api.ts'
import type { Operation } from '../acknowledged.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import type { PatientClient, Write } from './api.ts'

const subscriptions = '/v1/clinical-api/webhook-subscriptions'

export interface SubscriberOptions {
  readonly name: string
  readonly client: PatientClient
  readonly random: SeededRandom
  /** URL of the webhook receiver. */
  readonly receiverUrl: string
}

type Send = (write: Omit<Write, 'key'>) => Promise<ApiAnswer | undefined>

interface Subscription {
  readonly id: string
  isActive: boolean
  /** Disabled at most once, so that each request is identifiable in the log. */
  wasDisabled: boolean
}

/**
 * The subscription of one user. The user creates it, moves it, disables and enables it, requests redeliveries, deletes
 * it, and starts again.
 */
export class Subscriber {
  readonly #options: SubscriberOptions
  readonly #send: Send
  readonly #askedAgain = new Set<string>()
  #subscription: Subscription | undefined
  #addresses = 0

  constructor(options: SubscriberOptions, send: Send) {
    this.#options = options
    this.#send = send
  }

  /** Performs at most one action. */
  async tend(): Promise<void> {
    const subscription = this.#subscription
    if (subscription === undefined) return this.#subscribe()
    if (!subscription.isActive) return this.#switch(subscription, 'enable')
    const next = this.#options.random.below(10)
    if (next < 2) return this.#move(subscription)
    if (next < 3 && !subscription.wasDisabled) return this.#switch(subscription, 'disable')
    if (next < 5) return this.#delete(subscription)
    if (next < 8) return this.#redeliver(subscription)
  }

  /** An address that no other subscription has or had. */
  #newAddress(): string {
    this.#addresses += 1
    return `${this.#options.receiverUrl}/${this.#options.name}-${this.#addresses}`
  }

  #eventTypes(): readonly string[] {
    const ends = ['assessment.completed', 'assessment.failed']
    return this.#options.random.oneIn(3) ? ['assessment.failed'] : [...ends, 'assessment.reviewed']
  }

  async #subscribe(): Promise<void> {
    const body = {
      url: this.#newAddress(),
      event_types: this.#eventTypes(),
      payload_mode: this.#options.random.oneIn(2) ? 'thin' : 'full',
    }
    const made = await this.#send({
      operation: 'subscription',
      path: subscriptions,
      request: { body },
      idOf: (answered) => textAt(answered, 'id'),
    })
    if (made !== undefined) this.#subscription = { id: textAt(made.body, 'id'), isActive: true, wasDisabled: false }
  }

  async #move({ id }: Subscription): Promise<void> {
    await this.#change('readdress', id, { url: this.#newAddress(), event_types: this.#eventTypes() }, 'url')
  }

  async #switch(subscription: Subscription, operation: 'disable' | 'enable'): Promise<void> {
    const isActive = operation === 'enable'
    const answer = await this.#change(operation, subscription.id, { status: isActive ? 'active' : 'disabled' }, 'id')
    if (answer !== undefined) Object.assign(subscription, { isActive, wasDisabled: true })
  }

  #change(operation: Operation, id: string, body: unknown, idMember: string): Promise<ApiAnswer | undefined> {
    return this.#send({
      operation,
      path: `${subscriptions}/${id}`,
      request: { method: 'PATCH', body },
      idOf: (answered) => textAt(answered, idMember),
    })
  }

  async #delete({ id }: Subscription): Promise<void> {
    const deleted = await this.#send({
      operation: 'unsubscribe',
      path: `${subscriptions}/${id}`,
      request: { method: 'DELETE' },
      idOf: () => id,
      doneStatus: 404,
    })
    if (deleted !== undefined) this.#subscription = undefined
  }

  /** Requests one of the last deliveries again, whatever its result. */
  async #redeliver({ id }: Subscription): Promise<void> {
    const { client, random } = this.#options
    const data = at((await client.ask(`${subscriptions}/${id}/deliveries?limit=20`))?.body, 'data')
    const ids = (Array.isArray(data) ? data : [])
      .map((delivery) => textAt(delivery, 'id'))
      .filter((one) => !this.#askedAgain.has(one))
    const chosen = ids[random.below(Math.max(1, ids.length))]
    if (chosen === undefined) return
    this.#askedAgain.add(chosen)
    await this.#send({
      operation: 'redeliver',
      path: `${subscriptions}/${id}/deliveries/${chosen}/redeliver`,
      request: { method: 'POST' },
      idOf: (answered) => textAt(answered, 'id'),
    })
  }
}
