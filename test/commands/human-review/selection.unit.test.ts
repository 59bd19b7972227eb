import { createHash, createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { setPolicy } from '../../../commands/human-review/policy.ts'
import { selectionOf, type CompletedReview } from '../../../commands/human-review/selection.ts'
import { humanReviewPolicies } from '../../../streams/human-review-policy/aggregate.ts'
import { given } from '../../support/given-decider.ts'
import { at, ids } from '../../streams/facts.ts'
import { policyFact, rule } from '../../streams/human-review-facts.ts'

const review: CompletedReview = {
  aiReviewId: ids.review,
  lesions: [
    { category: 'MALIGNANT', priority: 4, referralFlag: 'NO' },
    { category: 'BENIGN', priority: 1, referralFlag: 'YES' },
    { category: null, priority: null, referralFlag: null },
  ],
  imageQuality: [{ quality: 'IMAGE_QUALITY_SUITABLE' }, { quality: null }],
}
const key = Buffer.alloc(32, 1)
const names = (...rules: Parameters<typeof selectionOf>[0]) => selectionOf(rules, review, key)?.selectedBy

describe('a rule selects a review', () => {
  it.each([
    ['always', rule({ always: true }), ['always']],
    ['by a category', rule({ categories: ['BENIGN', 'OTHER'] }), ['categories']],
    ['by a priority that is not above the limit', rule({ priorityAtMost: 1 }), ['priority_at_most']],
    ['by a referral flag', rule({ referralFlags: ['YES'] }), ['referral_flags']],
    ['by the quality of one image', rule({ imageQualities: ['IMAGE_QUALITY_SUITABLE'] }), ['image_qualities']],
    [
      'by two selectors of one lesion',
      rule({ categories: ['BENIGN'], priorityAtMost: 1 }),
      ['categories', 'priority_at_most'],
    ],
    ['by its id, if the share is everything', rule({ share: 1 }), ['share']],
  ])('%s', (_, selecting, selected) => {
    expect(names(selecting)).toEqual(selected)
  })

  it.each([
    ['without rules', []],
    ['without selectors', [rule()]],
    ['of another category', [rule({ categories: ['OTHER'] })]],
    ['if two lesions share the selectors between them', [rule({ categories: ['MALIGNANT'], priorityAtMost: 2 })]],
    ['if no priority is low enough', [rule({ priorityAtMost: 0 })]],
    ['if one selector does not hold', [rule({ always: true, imageQualities: ['IMAGE_QUALITY_UNSUITABLE'] })]],
    ['if its place is not below the share', [rule({ share: 1e-9 })]],
  ])('not %s', (_, rules) => {
    expect(names(...rules)).toBeUndefined()
  })

  it('without lesions only by what is not about lesions', () => {
    const empty = { ...review, lesions: [] }
    expect(selectionOf([rule({ priorityAtMost: 9 })], empty, key)).toBeUndefined()
    expect(selectionOf([rule({ always: true })], empty, key)?.selectedBy).toEqual(['always'])
  })

  it('with all selectors and the most opinions of the rules that hold', () => {
    const rules = [
      rule({ share: 1, opinions: 2 }),
      rule({ categories: ['BENIGN'] }),
      rule({ categories: ['OTHER'], priorityAtMost: 9 }),
    ]
    expect(selectionOf(rules, review, key)).toEqual({ selectedBy: ['categories', 'share'], opinionsRequired: 2 })
  })

  const manyIds = Array.from({ length: 1_000 }, (_, n) => `0190b0a0-0000-7000-8000-${n.toString(16).padStart(12, '0')}`)
  const chosenBy = (shareKey: Uint8Array) => (id: string) =>
    selectionOf([rule({ share: 0.25 })], { ...review, aiReviewId: id }, shareKey) !== undefined

  it('by a share of the ids: the same ones in every run, whatever their letter case', () => {
    const count = manyIds.filter(chosenBy(key)).length
    expect(count).toBeGreaterThan(200)
    expect(count).toBeLessThan(300)
    expect(manyIds.map((id) => id.toUpperCase()).filter(chosenBy(key))).toHaveLength(count)
  })

  it('by a share that nobody can compute without the key', () => {
    const [id] = manyIds
    const place =
      createHmac('sha256', key)
        .update(id ?? '')
        .digest()
        .readUInt32BE(0) /
      2 ** 32
    const of = (share: number) => selectionOf([rule({ share })], { ...review, aiReviewId: id ?? '' }, key)
    expect(of(place)).toBeUndefined()
    expect(of(place + 1e-6)?.selectedBy).toEqual(['share'])
    const plain = manyIds.filter((one) => createHash('sha256').update(one).digest().readUInt32BE(0) < 2 ** 30)
    for (const other of [Buffer.alloc(32, 2), Buffer.alloc(32)]) {
      const chosen = manyIds.filter(chosenBy(other))
      for (const known of [manyIds.filter(chosenBy(key)), plain])
        expect(chosen.filter((one) => known.includes(one)).length).toBeLessThan(chosen.length / 2)
    }
  })
})

describe('a policy', () => {
  const { updatedAt: _, ...data } = policyFact('HumanReviewPolicySet').data
  const command = { ...data, now: new Date(at(0)) }

  it('is set, counted, and not set again if it is the same', () => {
    const state = given(humanReviewPolicies)
      .when(setPolicy, command)
      .thenEvents([policyFact('HumanReviewPolicySet')])
    expect(state).toMatchObject({ version: 1, leaseSeconds: 900 })
  })

  it('is set if only the lease or one member of a rule differs', () => {
    for (const changes of [{ leaseSeconds: 901 }, { rules: [rule({ ...data.rules[0], opinions: 2 })] }, { rules: [] }])
      given(humanReviewPolicies, policyFact('HumanReviewPolicySet'))
        .when(setPolicy, { ...command, ...changes })
        .thenEvents([policyFact('HumanReviewPolicySet', changes)])
  })
})
