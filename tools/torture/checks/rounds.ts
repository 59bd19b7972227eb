import { categoryOf, type Fact } from '../facts.ts'

/** Ends of a round of a delivery. */
export const roundEnds: readonly string[] = ['WebhookDelivered', 'WebhookDeliveryFailed', 'WebhookDeliveryCancelled']
const cancelled = 'WebhookDeliveryCancelled'
/** What came of an attempt that was under way when its delivery was cancelled: written down after that. */
const outcomes: readonly string[] = ['WebhookDelivered', 'WebhookDeliveryFailed', 'WebhookDeliveryAttemptFailed']
/** Asked for again where no round begins: at any time, and nothing comes of it. */
export const remembered = 'WebhookRedeliveryUnneeded'

/** A stream's facts, those of a delivery by its rounds: what had ended begins another one when it is asked for again. */
export function roundsOf(facts: readonly Fact[]): readonly (readonly Fact[])[] {
  const rounds: Fact[][] = []
  for (const fact of facts) {
    const current = rounds.at(-1)
    if (current === undefined || fact.type === 'WebhookRedeliveryRequested') rounds.push([fact])
    else current.push(fact)
  }
  return rounds
}

/** The facts of a round that may change what becomes of it. */
export function decisive(round: readonly Fact[]): readonly Fact[] {
  const facts = round.filter(({ type }) => type !== remembered)
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
