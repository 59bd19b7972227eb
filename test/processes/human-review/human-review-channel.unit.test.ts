import { describe, expect, it } from 'vitest'
import { humanReviewChannel } from '../../../processes/human-review/human-review.channel.ts'
import type { HumanReviewTaskEvent } from '../../../streams/human-review-task/events.ts'
import { recorded } from '../../support/given-projector.ts'
import { at, ids } from '../../streams/facts.ts'
import { clinicians, ownTask, taskFact, taskId } from '../../streams/human-review-facts.ts'
import { storeOf } from '../../support/store-of.ts'

const opened = taskFact('HumanReviewTaskOpened')
const opinion = taskFact('HumanReviewOpinionGiven')
const decided = taskFact('HumanReviewTaskDecided')

async function published(event: HumanReviewTaskEvent, store = storeOf([opened, opinion, decided].map(ownTask), 1)) {
  const [stored] = recorded([ownTask(event)])
  if (stored === undefined) throw new Error('no event')
  return (await humanReviewChannel.translate[event.type]?.(stored, { store })) ?? []
}

const task = {
  task_id: taskId,
  ai_review_id: ids.review,
  case_id: ids.case,
  product_id: ids.product,
  assessment_id: ids.assessment,
}
const { ada } = clinicians

describe('the human-review channel', () => {
  it.each([
    ['human_review.task.opened', opened, { status: 'open' }],
    ['human_review.task.claimed', taskFact('HumanReviewTaskClaimed'), { status: 'claimed', user_id: ada }],
    [
      'human_review.task.released',
      taskFact('HumanReviewTaskReleased'),
      { status: 'open', reason: 'requested', user_id: ada },
    ],
    [
      'human_review.task.released',
      taskFact('HumanReviewTaskReleased', { reason: 'lease_expired' }),
      { status: 'open', reason: 'lease_expired' },
    ],
    ['human_review.task.opinion_given', opinion, { status: 'open', user_id: ada }],
    [
      'human_review.task.decided',
      decided,
      { status: 'decided', user_id: ada, agrees_with_ai: false, decided_at: at(90) },
    ],
    [
      'human_review.task.cancelled',
      taskFact('HumanReviewTaskCancelled'),
      { status: 'cancelled', reason: 'superseded' },
    ],
  ] as const)('publishes %s with ids only', async (type, event, members) => {
    expect(await published(event)).toEqual([
      { type, data: { ...task, ...members }, occurredAt: expect.any(String), schemaVersion: 1 },
    ])
  })

  it.each([
    taskFact('HumanReviewNotSelected'),
    taskFact('HumanReviewConsentConfirmed'),
    taskFact('HumanReviewReleaseUnneeded'),
  ])('publishes nothing for $type', async (event) => {
    expect(await published(event)).toEqual([])
  })

  it('stops at a task that was never opened', async () => {
    await expect(published(opinion, storeOf([]))).rejects.toThrow('lacks the events before it')
  })
})
