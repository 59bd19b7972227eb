import { describe, expect, test } from 'vitest'
import { checkTasks, tasksUnderWay } from '../../../tools/torture/checks/human-review.ts'
import { streamOf, exampleLog, type ExampleEvent } from '../../../tools/torture/example-log.ts'

const start = Date.parse('2026-11-01T10:00:00Z')
const instant = (seconds: number) => new Date(start + seconds * 1_000).toISOString()
/** Reviews that get one opinion, and two. */
const [single, double] = ['review 1', 'review 2']

const review = (type: string, aiReviewId = single): ExampleEvent => [
  streamOf('ai_review', aiReviewId),
  `AiReview${type}`,
  { aiReviewId },
]
const consent = (decision: string): ExampleEvent => [
  streamOf('consent', 'p1'),
  'ConsentRecorded',
  { patientId: 'p1', decision },
]
const task = (type: string, data = {}, taskId = 't1'): ExampleEvent => [
  streamOf('humanreviewtask', taskId),
  `HumanReview${type}`,
  { taskId, ...data },
]
const opened = (aiReviewId = single, taskId = 't1'): ExampleEvent =>
  task('TaskOpened', { aiReviewId, patientId: 'p1', opinionsRequired: aiReviewId === double ? 2 : 1 }, taskId)
const claimed = (userId = 'ada', data = {}): ExampleEvent =>
  task('TaskClaimed', { userId, leaseUntil: instant(5), ...data })
const released = (data = {}): ExampleEvent => task('TaskReleased', { userId: 'ada', reason: 'requested', ...data })
const lapsed = (seconds = 5): ExampleEvent => released({ reason: 'lease_expired', releasedAt: instant(seconds) })
const lesionOf = (outcome: string) => [{ lesionNumber: 1, outcome }]
const opinion = (userId = 'ada', opinionsRequired = 1, seconds = 1, lesions = lesionOf('confirm')): ExampleEvent =>
  task('OpinionGiven', { userId, opinionsRequired, lesions, givenAt: instant(seconds) })
const decided = task('TaskDecided', { opinion: 1, agreesWithAi: true })
const twice = (required: number, ...opinions: readonly (readonly object[])[]): readonly ExampleEvent[] => [
  review('Completed', double),
  opened(double),
  ...opinions.flatMap((lesions, index): ExampleEvent[] => {
    const userId = ['ada', 'bob', 'eve'][index] ?? ''
    const one = task('OpinionGiven', {
      userId,
      opinionsRequired: index === 0 ? 2 : required,
      lesions,
      givenAt: instant(1),
    })
    return [claimed(userId), one]
  }),
]
const cancelled = (reason: string): ExampleEvent => task('TaskCancelled', { reason })
const given = [review('Completed'), opened()]
const policy: ExampleEvent = ['humanreviewpolicy-o1', 'HumanReviewPolicySet']
const what = (...events: readonly ExampleEvent[]) =>
  checkTasks(exampleLog(policy, ...events)).findings.map((finding) => finding.what)

describe('the check of tasks', () => {
  test.each<readonly [string, readonly ExampleEvent[]]>([
    ['a decision', [...given, claimed(), claimed(), opinion(), decided]],
    ['a lease that ends, and a release', [...given, claimed(), lapsed(), claimed('bob'), released({ userId: 'bob' })]],
    ['a review that is superseded', [...given, review('Superseded'), cancelled('superseded')]],
    [
      'a consent that is withdrawn',
      [consent('granted'), ...given, consent('withdrawn'), cancelled('consent_withdrawn')],
    ],
    ['a decision before the withdrawal', [...given, claimed(), opinion(), decided, consent('withdrawn')]],
    [
      'two opinions',
      [
        review('Completed', double),
        opened(double),
        claimed(),
        opinion('ada', 2),
        claimed('bob'),
        opinion('bob', 2),
        decided,
      ],
    ],
    [
      'two corrections, which are sealed, that agree',
      [...twice(2, lesionOf('correct'), lesionOf('correct')), task('TaskDecided', { opinion: 1, agreesWithAi: false })],
    ],
    [
      'a third opinion',
      [
        ...twice(3, lesionOf('correct'), lesionOf('correct'), lesionOf('confirm')),
        task('TaskDecided', { opinion: 3, agreesWithAi: true }),
      ],
    ],
  ])('accepts %s', (_, events) => {
    expect(what(...events)).toEqual([])
    expect(tasksUnderWay(exampleLog(policy, ...events))).toEqual([])
  })

  test.each<readonly [string, readonly ExampleEvent[], string]>([
    ['a lost task', [review('Completed')], 'a completed review without a task'],
    ['a doubled task', [...given, opened(single, 't2')], 'a second task of a review'],
    ['a task too early', [opened(), review('Completed')], 'a task of a review that has not completed'],
    [
      'a wrong rule',
      [review('Completed', double), task('TaskOpened', { aiReviewId: double, opinionsRequired: 3 })],
      'another number of opinions than the policy demands',
    ],
    [
      'a lost claim',
      [...given, claimed(), claimed('bob'), released({ userId: 'bob' })],
      'a claim of a task that another user holds',
    ],
    ['a release of nothing', [...given, released()], 'a release without a claim'],
    ['a short lease', [...given, claimed(), lapsed(4)], 'a lease that ended too early'],
    ['an endless lease', [...given, claimed()], 'a claim whose lease has not ended'],
    ['a late opinion', [...given, claimed(), opinion('ada', 1, 5), decided], 'an opinion without a claim'],
    ['a foreign opinion', [...given, claimed(), opinion('bob'), decided], 'an opinion without a claim'],
    [
      'a user who decides alone',
      [
        review('Completed', double),
        opened(double),
        claimed(),
        opinion('ada', 2),
        claimed(),
        opinion('ada', 2),
        decided,
      ],
      'a second opinion of a user',
    ],
    ['a second decision', [...given, claimed(), opinion(), decided, decided], 'an event after the end of a task'],
    [
      'an early decision',
      [...given, claimed(), opinion('ada', 2), decided],
      'a decision with another number of opinions than required',
    ],
    [
      'a needless third opinion',
      twice(3, lesionOf('confirm'), lesionOf('confirm')),
      'a third opinion, although two agree, or none, although they differ',
    ],
    [
      'a missing third opinion',
      [...twice(2, lesionOf('confirm'), lesionOf('reject')), decided],
      'a third opinion, although two agree, or none, although they differ',
    ],
    [
      'a wrong decision',
      [
        ...twice(3, lesionOf('confirm'), lesionOf('reject'), lesionOf('confirm')),
        task('TaskDecided', { opinion: 1, agreesWithAi: true }),
      ],
      'another opinion than the deciding one',
    ],
    [
      'a wrong agreement',
      [...given, claimed(), opinion('ada', 1, 1, lesionOf('reject')), decided],
      'another agreement with the AI than decided',
    ],
    ['a task of a superseded review', [...given, review('Superseded')], 'a task of a superseded review'],
    ['a task without consent', [...given, consent('denied')], 'a task without consent'],
    ['an unfounded cancellation', [...given, cancelled('consent_withdrawn')], 'a cancellation without its reason'],
    [
      'a repeated request',
      [...given, claimed('ada', { request: { key: 'k' } }), claimed('ada', { request: { key: 'k' } }), released()],
      'a second event of one request',
    ],
  ])('finds %s', (_, events, finding) => expect(what(...events)).toEqual([finding]))

  test('counts a missing task as work under way, if a policy selects the review', () => {
    expect(tasksUnderWay(exampleLog(policy, review('Completed')))).toHaveLength(1)
    expect(tasksUnderWay(exampleLog(review('Completed'), policy))).toEqual([])
  })
})
