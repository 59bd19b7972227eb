import { categoryOf, type Fact } from '../facts.ts'

/** Ends of a round of a delivery. */
export const roundEnds: readonly string[] = ['WebhookDelivered', 'WebhookDeliveryFailed', 'WebhookDeliveryCancelled']
const cancelled = 'WebhookDeliveryCancelled'
/** The result of an attempt that was running when its delivery was cancelled. It is recorded after the cancellation. */
const outcomes: readonly string[] = ['WebhookDelivered', 'WebhookDeliveryFailed', 'WebhookDeliveryAttemptFailed']
/** A redelivery request that starts no round. It can come at any time and has no effect. */
export const remembered = 'WebhookRedeliveryUnneeded'

/**
 * The events of a stream. For a delivery, one list per round: a redelivery of an ended delivery starts another round.
 */
export function roundsOf(facts: readonly Fact[]): readonly (readonly Fact[])[] {
  const rounds: Fact[][] = []
  for (const fact of facts) {
    const current = rounds.at(-1)
    if (current === undefined || fact.type === 'WebhookRedeliveryRequested') rounds.push([fact])
    else current.push(fact)
  }
  return rounds
}

/** The human review of an assessment follows its end, and does not change it. */
const afterwards: readonly string[] = [
  'AssessmentHumanReviewOpened',
  'AssessmentHumanReviewDecided',
  'AssessmentHumanReviewCancelled',
]

/** The events of a round that can change its result. */
export function decisive(round: readonly Fact[]): readonly Fact[] {
  const facts = round.filter(({ type }) => type !== remembered && !afterwards.includes(type))
  const at = facts.findIndex(({ type }) => type === cancelled)
  const late = at === -1 ? undefined : facts.find(({ type }, place) => place > at && outcomes.includes(type))
  return facts.filter((fact) => fact !== late)
}

/** The deliveries of a log by their streams. */
export function deliveriesOf(log: readonly Fact[]): ReadonlyMap<string, readonly Fact[]> {
  return Map.groupBy(
    log.filter((fact) => categoryOf(fact) === 'webhook_delivery'),
    ({ stream }) => stream,
  )
}
