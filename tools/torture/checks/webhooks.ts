import { at } from '../../../app/demo/members.ts'
import { placeOf, text, type Fact, type Checked, type Finding } from '../facts.ts'
import { deliveriesOf, decisive, remembered, roundEnds, roundsOf } from './rounds.ts'
import { hasStoodFrom, isLetGo, subscribedIn, type Due, type Subscribed } from './subscriptions.ts'

/** The receiver's record of one webhook, written before the answer. */
export interface ReceivedLine {
  /** Path of an address that belongs to only one subscription, now or earlier. */
  readonly path: string
  /** `webhook-id`. */
  readonly id: string
  readonly assessmentId: string
  /** `webhook-event-type`. */
  readonly type: string
  /** Status of the answer. */
  readonly status: number
}

const isTaken = ({ status }: ReceivedLine) => status < 300

/**
 * Each end and each decision of an assessment reached each subscription that was active then: at least once, accepted,
 * and always under one id. It went to an address of that time or a later one. A subscription that was disabled or deleted later is
 * excepted. A requested redelivery comes again. Nothing else arrives.
 */
export function checkWebhooks(log: readonly Fact[], received: readonly ReceivedLine[]): Checked {
  const subscribed = subscribedIn(log)
  const findings = [
    ...missing(subscribed, received),
    ...uncalledFor(subscribed, received),
    ...misrecorded(subscribed, log, received),
  ]
  return {
    check: `webhooks at least once under one id (${received.length} received)`,
    examined: subscribed.due.length,
    findings,
  }
}

/** Number of deliveries without a recorded outcome. */
export function deliveriesWithoutOutcome(log: readonly Fact[]): number {
  const ended = new Set(
    log
      .filter(({ type }) => roundEnds.includes(type))
      .map((fact) => `${text(fact, 'subscriptionId')} ${text(fact, 'eventId')}`),
  )
  return subscribedIn(log).due.filter(({ subscriptionId, end }) => !ended.has(`${subscriptionId} ${end.id}`)).length
}

function addressesOf({ subscriptions }: Subscribed) {
  return new Map(
    [...subscriptions.values()].flatMap(({ id, addresses }) =>
      addresses.map(({ path, until }) => [path, { id, until }] as const),
    ),
  )
}

function keyOf({ subscriptionId, assessmentId, type }: Omit<Due, 'end' | 'place'>): string {
  return `${subscriptionId} ${assessmentId} ${type}`
}

function missing(subscribed: Subscribed, received: readonly ReceivedLine[]): readonly Finding[] {
  const addresses = addressesOf(subscribed)
  const about = Map.groupBy(received, ({ path, ...line }) =>
    keyOf({ subscriptionId: addresses.get(path)?.id ?? path, ...line }),
  )
  return subscribed.due.flatMap((due): Finding[] => {
    const lines = about.get(keyOf(due)) ?? []
    const ids = new Set(lines.map(({ id }) => id))
    const where = `${due.subscriptionId} about ${placeOf(due.end)}`
    const subscription = subscribed.subscriptions.get(due.subscriptionId)
    const mayMiss = subscription !== undefined && isLetGo(subscription, due.place)
    const untaken =
      lines.length === 0 ? 'a webhook that never arrived' : 'a webhook that was refused and not sent again'
    return [
      ...(mayMiss || lines.some(isTaken) ? [] : [{ what: untaken, where }]),
      ...(ids.size > 1 ? [{ what: `a webhook under ${ids.size} ids: ${[...ids].join(', ')}`, where }] : []),
    ]
  })
}

function uncalledFor(subscribed: Subscribed, received: readonly ReceivedLine[]): readonly Finding[] {
  const addresses = addressesOf(subscribed)
  const due = new Map(subscribed.due.map((one) => [keyOf(one), one]))
  const byId = new Map<string, string>()
  return received.flatMap(({ path, assessmentId, type, id }): Finding[] => {
    const address = addresses.get(path)
    const asked = due.get(keyOf({ subscriptionId: address?.id ?? path, assessmentId, type }))
    const where = `${path} ${assessmentId} under ${id}`
    const webhook = asked === undefined ? `${path} ${assessmentId} ${type}` : keyOf(asked)
    const other = byId.get(id) ?? webhook
    byId.set(id, webhook)
    return [
      ...(asked === undefined ? [{ what: 'a webhook that no subscription requested', where }] : []),
      ...(asked !== undefined && address !== undefined && address.until < asked.place
        ? [{ what: 'a webhook to a replaced address', where }]
        : []),
      ...(other === webhook ? [] : [{ what: `one webhook id for two webhooks, the other ${other}`, where }]),
    ]
  })
}

/** Compares the recorded deliveries with the received webhooks and the subscriptions. */
function misrecorded(
  { subscriptions, due }: Subscribed,
  log: readonly Fact[],
  received: readonly ReceivedLine[],
): readonly Finding[] {
  const places = new Map(log.map(({ id }, place) => [id, place]))
  const dueAt = new Map(due.map(({ subscriptionId, end, place }) => [`${subscriptionId} ${end.id}`, place]))
  const taken = Map.groupBy(received.filter(isTaken), ({ id }) => id)
  return [...deliveriesOf(log).values()].flatMap((facts): Finding[] => {
    const delivered = facts.filter(({ type }) => type === 'WebhookDelivered')
    const untaken = delivered.slice(taken.get(delivered.map((fact) => text(fact, 'deliveryId'))[0] ?? '')?.length ?? 0)
    const ofRounds = roundsOf(facts).flatMap((round, index, rounds): Finding[] => {
      const end = decisive(round).findLast(({ type }) => roundEnds.includes(type))
      const [first] = round
      const subscription = subscriptions.get(end === undefined ? '' : text(end, 'subscriptionId'))
      if (end === undefined || first === undefined || subscription === undefined) return []
      const isAgain = first.type === 'WebhookRedeliveryRequested'
      const since = isAgain ? places.get(first.id) : dueAt.get(`${subscription.id} ${text(end, 'eventId')}`)
      const wasActive = since !== undefined && !isLetGo(subscription, since, places.get(end.id))
      const endedAt = places.get(end.id) ?? Infinity
      const asked = round.filter((fact) => fact.type === remembered && (places.get(fact.id) ?? Infinity) < endedAt)
      const isWanted = asked.some(({ data }) => hasStoodFrom(subscription, at(data, 'endpointRevision'), endedAt))
      const isLast = index === rounds.length - 1
      if (end.type === 'WebhookDeliveryCancelled' && isWanted && isLast)
        return [{ what: 'requested again, but cancelled', where: placeOf(end) }]
      if (end.type === 'WebhookDeliveryCancelled' && wasActive)
        return [{ what: 'cancelled, but its subscription was active', where: placeOf(end) }]
      return end.type === 'WebhookDeliveryFailed' && isAgain && wasActive
        ? [{ what: 'requested again, but not accepted', where: placeOf(end) }]
        : []
    })
    return [
      ...untaken.map((fact) => ({ what: 'recorded as delivered, but not accepted', where: placeOf(fact) })),
      ...ofRounds,
    ]
  })
}
