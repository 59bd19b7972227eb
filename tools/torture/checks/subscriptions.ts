import { at } from '../../../app/demo/api-client.ts'
import { text, type Fact } from '../facts.ts'

/** A subscription as the log tells of it; a place is that of an event among all of the log. */
export interface Subscription {
  readonly id: string
  readonly status: 'active' | 'disabled' | 'deleted'
  readonly url: string
  readonly eventTypes: readonly unknown[]
  /** Paths of its addresses, which no other subscription has, each with the place where it was given up. */
  readonly addresses: readonly { readonly path: string; readonly until: number }[]
  /** Places where it was disabled or deleted, each with its revision: what was pending then is cancelled, or was under way. */
  readonly letGo: readonly LettingGo[]
}

interface LettingGo {
  readonly place: number
  readonly revision: bigint
}

/** A webhook that a subscription is due. */
export interface Due {
  readonly subscriptionId: string
  readonly assessmentId: string
  /** Of an assessment, at a place where the subscription stood. */
  readonly end: Fact
  readonly place: number
}

export interface Subscribed {
  readonly subscriptions: ReadonlyMap<string, Subscription>
  readonly due: readonly Due[]
}

const publicTypes: Readonly<Record<string, string>> = {
  AssessmentCompleted: 'assessment.completed',
  AssessmentFailed: 'assessment.failed',
}

/** Who was subscribed to what, and what is due to whom: an end is told to whom it finds active, by the order of the log. */
export function subscribedIn(log: readonly Fact[]): Subscribed {
  const subscriptions = new Map<string, Subscription>()
  const due: Due[] = []
  for (const [place, fact] of log.entries()) {
    const told = publicTypes[fact.type]
    if (told !== undefined) {
      const asking = [...subscriptions.values()].filter(
        ({ status, eventTypes }) => status === 'active' && eventTypes.includes(told),
      )
      due.push(
        ...asking.map(({ id }) => ({ subscriptionId: id, assessmentId: text(fact, 'assessmentId'), end: fact, place })),
      )
    }
    const id = text(fact, 'subscriptionId')
    const next = followed(subscriptions.get(id), id, fact, place)
    if (next !== undefined) subscriptions.set(id, next)
  }
  return { subscriptions, due }
}

/** Whether what was pending at a place may have been cancelled since: its subscription was disabled or deleted after that. */
export function isLetGo({ letGo }: Pick<Subscription, 'letGo'>, since: number, until = Infinity): boolean {
  return letGo.some(({ place }) => place > since && place < until)
}

/** Whether a place has been reached without its being let go since the revision at which it was found. */
export function hasStoodFrom({ letGo }: Pick<Subscription, 'letGo'>, revision: unknown, until: number): boolean {
  return typeof revision === 'number' && letGo.every((one) => one.place > until || one.revision < BigInt(revision))
}

function followed(before: Subscription | undefined, id: string, fact: Fact, place: number): Subscription | undefined {
  if (fact.type === 'WebhookSubscribed')
    return { id, status: 'active', addresses: [addressOf(fact)], letGo: [], ...asked(fact) }
  if (before === undefined) return undefined
  switch (fact.type) {
    case 'WebhookSubscriptionChanged': {
      const isMoved = text(fact, 'url') !== before.url
      const addresses = isMoved ? [...givenUp(before, place), addressOf(fact)] : before.addresses
      return { ...before, ...asked(fact), addresses }
    }
    case 'WebhookSubscriptionEnabled':
      return { ...before, status: 'active' }
    case 'WebhookSubscriptionDisabled':
      return { ...before, status: 'disabled', letGo: [...before.letGo, { place, revision: fact.revision }] }
    case 'WebhookSubscriptionDeleted':
      return {
        ...before,
        status: 'deleted',
        letGo: [...before.letGo, { place, revision: fact.revision }],
        addresses: givenUp(before, place),
      }
    default:
      return undefined
  }
}

function asked(fact: Fact): Pick<Subscription, 'url' | 'eventTypes'> {
  const eventTypes = at(fact.data, 'eventTypes')
  return { url: text(fact, 'url'), eventTypes: Array.isArray(eventTypes) ? eventTypes : [] }
}

function addressOf(fact: Fact) {
  return { path: new URL(text(fact, 'url')).pathname, until: Infinity }
}

function givenUp({ addresses }: Subscription, place: number): Subscription['addresses'] {
  return addresses.map(({ path, until }) => ({ path, until: Math.min(until, place) }))
}
