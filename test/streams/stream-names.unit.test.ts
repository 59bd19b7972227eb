import { describe, expect, it } from 'vitest'
import { aiReviewSlotStream } from '../../streams/ai-review-slot/stream.ts'
import { assessmentStream } from '../../streams/assessment/stream.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { consentTypeIdOf, consentTypeStream } from '../../streams/consent-type/stream.ts'
import { reservationStream } from '../../streams/reservation/stream.ts'
import { categoryOf } from '../../streams/store/catalogue.ts'
import { parseOwnedStream } from '../../streams/stream-name.ts'
import { deliveryIdOf, webhookDeliveryStream } from '../../streams/webhook-delivery/stream.ts'
import { webhookRecoveryStream } from '../../streams/webhook-recovery/stream.ts'
import { webhookSubscriptionsStream } from '../../streams/webhook-subscriptions/stream.ts'
import { hash, ids } from './facts.ts'
import { recovery } from './webhook-facts.ts'

describe('the name of a stream', () => {
  it.each([
    [assessmentStream(ids.org, ids.assessment), 'assessment', ids.assessment],
    [aiReviewSlotStream(ids.org, ids.case, ids.product), 'ai_review_slot', `${ids.case}.${ids.product}`],
    [reservationStream(ids.org, hash('e')), 'reservation', hash('e')],
    [webhookDeliveryStream(ids.org, ids.delivery), 'webhook_delivery', ids.delivery],
    [webhookRecoveryStream(ids.org, recovery), 'webhook_recovery', recovery],
  ])('%s tells category, organisation and id', (stream, category, id) => {
    expect(parseOwnedStream(stream)).toEqual({ category, orgId: ids.org, id })
    expect(categoryOf(stream)).toBe(category)
  })

  it('of another organisation is another stream', () => {
    expect(assessmentStream(ids.otherOrg, ids.assessment)).not.toBe(assessmentStream(ids.org, ids.assessment))
  })

  it.each([
    '',
    'assessment',
    `assessment-${ids.org}`,
    `assessment-${ids.org}-`,
    `-${ids.org}-x`,
    'ai_review.events',
    webhookSubscriptionsStream(ids.org),
  ])('that no organisation owns an aggregate under, %s, is refused', (stream) => {
    expect(() => parseOwnedStream(stream)).toThrow('not an owned stream')
  })

  it('begins with a category that is the prefix of no other', () => {
    const prefixes = catalogue.categories.map((category) => `${category}-`)
    for (const prefix of prefixes) expect(prefixes.filter((other) => other.startsWith(prefix))).toEqual([prefix])
  })
})

describe('an id that follows from what it names', () => {
  it('is the same for the same consent type code in an organisation, and for no other', () => {
    const id = consentTypeIdOf(ids.org, 'ai_analysis')
    expect(id).toBe('15ebbd0b-7ad4-5d52-9fd1-ca10ba064bc7')
    expect(consentTypeIdOf(ids.otherOrg, 'ai_analysis')).not.toBe(id)
    expect(consentTypeIdOf(ids.org, 'ai_analysis_2')).not.toBe(id)
    expect(consentTypeStream(ids.org, id)).toContain(id)
  })

  it('is one delivery for a subscription and an event', () => {
    const id = deliveryIdOf(ids.subscription, ids.event)
    expect(deliveryIdOf(ids.subscription, ids.event)).toBe(id)
    expect(new Set([id, deliveryIdOf(ids.subscription, ids.case), deliveryIdOf(ids.case, ids.event)]).size).toBe(3)
  })
})
