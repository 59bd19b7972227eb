import { Type } from 'typebox'
import { ReleaseReason, TaskCancelReason } from '../human-review-task/events.ts'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Id, Instant, Nullable } from '../../engine/aggregates/types.ts'
import { defineChannelStream, publicData } from '../../engine/aggregates/channel-stream.ts'

const task = {
  org_id: Id,
  task_id: Id,
  ai_review_id: Id,
  case_id: Id,
  product_id: Id,
  assessment_id: Nullable(Id),
}

/** Stream of the public human-review events. They contain ids, and no code and no note. */
export const humanReviewChannelStream = defineChannelStream({
  name: 'human_review.events',
  organisationMember: 'org_id',
  events: {
    opened: defineEvent('human_review.task.opened', publicData({ ...task, status: Type.Literal('open') })),
    claimed: defineEvent(
      'human_review.task.claimed',
      publicData({ ...task, status: Type.Literal('claimed'), user_id: Id }),
    ),
    released: defineEvent(
      'human_review.task.released',
      publicData({
        ...task,
        status: Type.Literal('open'),
        reason: ReleaseReason,
        /** Only if the user released the task. */
        user_id: Type.Optional(Id),
      }),
    ),
    opinionGiven: defineEvent(
      'human_review.task.opinion_given',
      publicData({ ...task, status: Type.Literal('open'), user_id: Id }),
    ),
    decided: defineEvent(
      'human_review.task.decided',
      publicData({
        ...task,
        status: Type.Literal('decided'),
        /** Of the last opinion. */
        user_id: Id,
        agrees_with_ai: Type.Boolean(),
        decided_at: Instant,
      }),
    ),
    cancelled: defineEvent(
      'human_review.task.cancelled',
      publicData({ ...task, status: Type.Literal('cancelled'), reason: TaskCancelReason }),
    ),
  },
})

export type HumanReviewChannelEvent = EventOf<typeof humanReviewChannelStream.events>
