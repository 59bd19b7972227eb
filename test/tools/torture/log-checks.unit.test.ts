import { describe, expect, test } from 'vitest'
import { checkChannel, missingOn } from '../../../tools/torture/checks/channels.ts'
import { checkRevisions, checkSameOrder, checkSubscriber } from '../../../tools/torture/checks/log.ts'
import type { Fact } from '../../../tools/torture/facts.ts'
import { streamOf, exampleLog } from '../../../tools/torture/example-log.ts'

const [review, other] = [streamOf('ai_review', 'r1'), streamOf('ai_review', 'r2')]
const channel = 'ai_review.events'
const published = (type: string, cause: string) => [channel, type, {}, { $causationId: cause }] as const

const whole = exampleLog(
  [review, 'AiReviewStarted'],
  [other, 'AiReviewStarted'],
  published('ai_review.started', 'event-0'),
  [review, 'AiReviewCallAttempted'],
  [review, 'AiReviewCompleted'],
  published('ai_review.started', 'event-1'),
  published('ai_review.completed', 'event-4'),
)
const without = (log: readonly Fact[], place: number) => log.filter((_, index) => index !== place)
const changed = (log: readonly Fact[], place: number, change: Partial<Fact>) =>
  log.map((fact, index) => (index === place ? { ...fact, ...change } : fact))
const said = ({ findings }: { readonly findings: readonly { readonly what: string }[] }) =>
  findings.map(({ what }) => what)

describe('the check of revisions', () => {
  test('accepts a complete log', () => expect(checkRevisions(whole)).toMatchObject({ examined: 7, findings: [] }))

  test('finds a gap in a stream', () => {
    expect(said(checkRevisions(without(whole, 3)))).toEqual(['a stream continues with revision 2 instead of 1'])
  })

  test('finds a stream that begins late, and an event that occurs twice', () => {
    expect(said(checkRevisions(without(whole, 1)))).toEqual([])
    expect(said(checkRevisions(changed(whole, 1, { revision: 1n })))).toEqual([
      'a stream continues with revision 1 instead of 0',
    ])
    expect(said(checkRevisions(changed(whole, 4, { id: 'event-1' })))).toEqual([
      expect.stringContaining('occurs twice in the log'),
    ])
  })
})

describe('the check of the order', () => {
  test('accepts two equal readings', () =>
    expect(checkSameOrder('equal', whole, [...whole])).toMatchObject({ examined: 7, findings: [] }))

  test('accepts a later reading that is longer', () => {
    expect(checkSameOrder('later', whole, [...whole, ...exampleLog([review, 'AiReviewSuperseded'])])).toMatchObject({
      examined: 7,
      findings: [],
    })
  })

  test("accepts a subscriber's events, which may exceed the earlier reading", () => {
    const longer = [...whole, ...exampleLog([review, 'AiReviewSuperseded'])]
    expect(checkSubscriber(whole, whole, longer)).toMatchObject({ examined: 7, findings: [] })
    expect(checkSubscriber(whole, longer, longer)).toMatchObject({ examined: 8, findings: [] })
    expect(said(checkSubscriber(longer, whole, longer))).toEqual(['a subscriber received 7 of 8 events'])
    expect(checkSubscriber(whole, [...whole, ...whole.slice(-1)], whole).findings).toHaveLength(1)
    expect(checkSubscriber(whole, [...whole, ...whole.slice(-1)], longer).findings).toHaveLength(1)
  })

  test.each<readonly [string, readonly Fact[]]>([
    ['lacks an event', without(whole, 2)],
    ['lacks the last event', without(whole, 6)],
    [
      'has two events the other way round',
      [whole[1], whole[0], ...whole.slice(2)].filter((fact) => fact !== undefined),
    ],
    ['has an event elsewhere', changed(whole, 3, { position: '31/31' })],
    ['has other data', changed(whole, 3, { data: { call: 'case' } })],
  ])('finds a reading that %s', (_, reading) => {
    expect(checkSameOrder('different', whole, reading).findings).toHaveLength(1)
  })
})

describe('the check of a channel', () => {
  test('accepts one event for each source event, in order', () =>
    expect(checkChannel(channel, whole)).toMatchObject({ examined: 3, findings: [] }))

  test('finds a missing event', () => {
    expect(said(checkChannel(channel, without(whole, 5)))).toEqual([`${channel} lacks an event`])
    expect(missingOn(channel, without(whole, 5)).map(({ id }) => id)).toEqual(['event-1'])
  })

  test('finds a second event of one source event', () => {
    expect(said(checkChannel(channel, [...whole, ...exampleLog(published('ai_review.started', 'event-1'))]))).toEqual([
      `${channel} contains a second event of event-1`,
    ])
  })

  test('finds an event without a source', () => {
    expect(said(checkChannel(channel, [...whole, ...exampleLog(published('ai_review.started', 'event-3'))]))).toEqual([
      `${channel} contains an event without a source`,
    ])
  })

  test('finds events out of order', () => {
    const swapped = changed(
      changed(whole, 5, { metadata: { $causationId: 'event-4' }, type: 'ai_review.completed' }),
      6,
      { metadata: { $causationId: 'event-1' }, type: 'ai_review.started' },
    )
    expect(said(checkChannel(channel, swapped))).toEqual([`${channel} is out of order`])
  })

  test('finds an event of another type than its source', () => {
    expect(said(checkChannel(channel, changed(whole, 6, { type: 'ai_review.failed' })))).toEqual([
      `${channel} contains ai_review.failed instead of ai_review.completed`,
    ])
  })

  test('of consents compares the decision', () => {
    const log = exampleLog(
      [streamOf('consent', 'p1'), 'ConsentRecorded', { decision: 'withdrawn' }],
      ['consent.events', 'consent.granted', {}, { $causationId: 'event-0' }],
    )
    expect(said(checkChannel('consent.events', log))).toEqual([
      'consent.events contains consent.granted instead of consent.withdrawn',
    ])
    expect(checkChannel('consent.events', changed(log, 1, { type: 'consent.withdrawn' }))).toMatchObject({
      examined: 1,
      findings: [],
    })
  })
})
