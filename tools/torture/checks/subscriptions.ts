import { at } from '../../../app/demo/members.ts'
import { text, type Fact } from '../facts.ts'

/** A subscription according to the log. A place is the index of an event in the whole log. */
export interface Subscription {
  readonly id: string
  readonly status: 'active' | 'disabled' | 'deleted'
  readonly url: string
  readonly eventTypes: readonly unknown[]
  /** Paths of its addresses, each with the place at which it was replaced. No other subscription has them. */
  readonly addresses: readonly { readonly path: string; readonly until: number }[]
  /**
   * Places at which it was disabled or deleted, with their revisions. A delivery pending there is cancelled, unless its
   * attempt is running.
   */
  readonly letGo: readonly LettingGo[]
}

interface LettingGo {
  readonly place: number
  readonly revision: bigint
}

/** A webhook that a subscription must receive. */
export interface Due {
  readonly subscriptionId: string
  readonly assessmentId: string
  readonly type: string
  /** End or decision of an assessment, at a place where the subscription was active. */
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
  AssessmentHumanReviewDecided: 'assessment.reviewed',
}

/**
 * The subscriptions and their due webhooks. The end of an assessment, and the decision of its human review, go to the
 * subscriptions that are active at that place in the log.
 */
export function subscribedIn(log: readonly Fact[]): Subscribed {
  const subscriptions = new Map<string, Subscription>()
  const due: Due[] = []
  for (const [place, fact] of log.entries()) {
    const type = publicTypes[fact.type]
    if (type !== undefined) {
      const asking = [...subscriptions.values()].filter(
        ({ status, eventTypes }) => status === 'active' && eventTypes.includes(type),
      )
      due.push(
        ...asking.map(({ id: subscriptionId }) => ({
          subscriptionId,
          assessmentId: text(fact, 'assessmentId'),
          type,
          end: fact,
          place,
        })),
      )
    }
    const id = text(fact, 'subscriptionId')
    const next = followed(subscriptions.get(id), id, fact, place)
    if (next !== undefined) subscriptions.set(id, next)
  }
  return { subscriptions, due }
}

/**
 * Whether a delivery pending at a place may have been cancelled later, because its subscription was disabled or
 * deleted.
 */
export function isLetGo({ letGo }: Pick<Subscription, 'letGo'>, since: number, until = Infinity): boolean {
  return letGo.some(({ place }) => place > since && place < until)
}

/** Whether the subscription was neither disabled nor deleted between a revision and a place. */
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
