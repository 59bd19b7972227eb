import { describe, expect, it } from 'vitest'
import { aiReviewSlots } from '../../streams/ai-review-slot/aggregate.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { consentTypeIdOf, consentTypes } from '../../streams/consent-type/aggregate.ts'
import { reservations } from '../../engine/commands/reservation/aggregate.ts'
import { categoryOf } from '../../engine/store/catalogue.ts'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import { deliveryIdOf, webhookDeliveries } from '../../streams/webhook-delivery/aggregate.ts'
import { webhookRecoveries } from '../../streams/webhook-recovery/aggregate.ts'
import { webhookSubscriptions } from '../../streams/webhook-subscriptions/aggregate.ts'
import { hash, ids } from './facts.ts'
import { recovery } from './webhook-facts.ts'

describe('the name of a stream', () => {
  it.each([
    [assessments.of(ids.org, ids.assessment).stream, 'assessment', ids.assessment],
    [aiReviewSlots.of(ids.org, ids.case, ids.product).stream, 'ai_review_slot', `${ids.case}.${ids.product}`],
    [reservations.of(ids.org, hash('e')).stream, 'reservation', hash('e')],
    [webhookDeliveries.of(ids.org, ids.delivery).stream, 'webhook_delivery', ids.delivery],
    [webhookRecoveries.of(ids.org, recovery).stream, 'webhook_recovery', recovery],
  ])('%s contains category, organisation and id', (stream, category, id) => {
    expect(parseOwnedStream(stream)).toEqual({ category, orgId: ids.org, id })
    expect(categoryOf(stream)).toBe(category)
  })

  it('of another organisation is another stream', () => {
    expect(assessments.of(ids.otherOrg, ids.assessment).stream).not.toBe(assessments.of(ids.org, ids.assessment).stream)
  })

  it.each([
    '',
    'assessment',
    `assessment-${ids.org}`,
    `assessment-${ids.org}-`,
    `-${ids.org}-x`,
    'ai_review.events',
    webhookSubscriptions.of(ids.org).stream,
  ])('that no organisation owns is refused: %s', (stream) => {
    expect(() => parseOwnedStream(stream)).toThrow('not an owned stream')
  })

  it('leads to the same target as the ids that it contains', () => {
    const target = assessments.of(ids.org, ids.assessment)
    expect(assessments.at(target.stream)).toEqual(target)
  })

  it('of another category is refused', () => {
    expect(() => assessments.at(webhookDeliveries.of(ids.org, ids.delivery).stream)).toThrow(
      'not a stream of assessment',
    )
  })

  it('starts with a category that is the prefix of no other', () => {
    const prefixes = catalogue.categories.map((category) => `${category}-`)
    for (const prefix of prefixes) expect(prefixes.filter((other) => other.startsWith(prefix))).toEqual([prefix])
  })
})

describe('a derived id', () => {
  it('is the same for the same consent type code in an organisation, and for no other', () => {
    const id = consentTypeIdOf(ids.org, 'ai_analysis')
    expect(id).toBe('15ebbd0b-7ad4-5d52-9fd1-ca10ba064bc7')
    expect(consentTypeIdOf(ids.otherOrg, 'ai_analysis')).not.toBe(id)
    expect(consentTypeIdOf(ids.org, 'ai_analysis_2')).not.toBe(id)
    expect(consentTypes.of(ids.org, id).stream).toContain(id)
  })

  it('is one delivery for a subscription and an event', () => {
    const id = deliveryIdOf(ids.subscription, ids.event)
    expect(deliveryIdOf(ids.subscription, ids.event)).toBe(id)
    expect(new Set([id, deliveryIdOf(ids.subscription, ids.case), deliveryIdOf(ids.case, ids.event)]).size).toBe(3)
  })
})
