import { humanReviewChannelStream } from '../../streams/channels/human-review.ts'
import { humanReviewTasks, type HumanReviewTask } from '../../streams/human-review-task/aggregate.ts'
import { defineChannel } from '../../engine/relay/channel.ts'

/** The life of each task. Opinions and notes are on no channel. */
export const humanReviewChannel = defineChannel({
  stream: humanReviewChannelStream,
  sources: [humanReviewTasks],
  translate: {
    HumanReviewTaskOpened: ({ data }, publish) => [
      publish('human_review.task.opened', data.openedAt, { ...idsOf(data), status: 'open' }),
    ],
    HumanReviewTaskClaimed: async ({ data }, publish, state) => [
      publish('human_review.task.claimed', data.claimedAt, {
        ...idsOf(await state()),
        status: 'claimed',
        user_id: data.userId,
      }),
    ],
    HumanReviewTaskReleased: async ({ data }, publish, state) => [
      publish('human_review.task.released', data.releasedAt, {
        ...idsOf(await state()),
        status: 'open',
        reason: data.reason,
        ...(data.reason === 'requested' ? { user_id: data.userId } : {}),
      }),
    ],
    HumanReviewOpinionGiven: async ({ data }, publish, state) => [
      publish('human_review.task.opinion_given', data.givenAt, {
        ...idsOf(await state()),
        status: 'open',
        user_id: data.userId,
      }),
    ],
    HumanReviewTaskDecided: async ({ data }, publish, state) => {
      const task = await state(({ status }) => status === 'decided')
      const last = task.opinions.at(-1)
      if (last === undefined) throw new Error('a task was decided without an opinion')
      const { agreesWithAi, decidedAt } = data
      return [
        publish('human_review.task.decided', decidedAt, {
          ...idsOf(task),
          status: 'decided',
          user_id: last.userId,
          agrees_with_ai: agreesWithAi,
          decided_at: decidedAt,
        }),
      ]
    },
    HumanReviewTaskCancelled: async ({ data }, publish, state) => [
      publish('human_review.task.cancelled', data.cancelledAt, {
        ...idsOf(await state()),
        status: 'cancelled',
        reason: data.reason,
      }),
    ],
  },
})

function idsOf(task: Pick<HumanReviewTask, 'taskId' | 'aiReviewId' | 'caseId' | 'productId' | 'assessmentId'>) {
  const { taskId, aiReviewId, caseId, productId, assessmentId } = task
  return {
    task_id: taskId,
    ai_review_id: aiReviewId,
    case_id: caseId,
    product_id: productId,
    assessment_id: assessmentId,
  }
}
