import { humanReviewChannelStream } from '../../streams/channels/human-review.ts'
import { humanReviewTasks, type HumanReviewTask } from '../../streams/human-review-task/aggregate.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import { defineChannel } from '../../engine/relay/channel.ts'
import { loadSufficient } from '../../engine/commands/execute.ts'

export interface HumanReviewChannelDependencies {
  readonly store: Pick<EventStore, 'load' | 'presume'>
}

/** The life of each task. Opinions and notes are on no channel. */
export const humanReviewChannel = defineChannel({
  stream: humanReviewChannelStream,
  sources: [humanReviewTasks],
  translate: {
    HumanReviewTaskOpened: ({ data }, publish) => [
      publish('human_review.task.opened', data.openedAt, { ...idsOf(data), status: 'open' }),
    ],
    HumanReviewTaskClaimed: async (event, publish, deps: HumanReviewChannelDependencies) => [
      publish('human_review.task.claimed', event.data.claimedAt, {
        ...idsOf(await taskOf(event, deps)),
        status: 'claimed',
        user_id: event.data.userId,
      }),
    ],
    HumanReviewTaskReleased: async (event, publish, deps) => [
      publish('human_review.task.released', event.data.releasedAt, {
        ...idsOf(await taskOf(event, deps)),
        status: 'open',
        reason: event.data.reason,
        ...(event.data.reason === 'requested' ? { user_id: event.data.userId } : {}),
      }),
    ],
    HumanReviewOpinionGiven: async (event, publish, deps) => [
      publish('human_review.task.opinion_given', event.data.givenAt, {
        ...idsOf(await taskOf(event, deps)),
        status: 'open',
        user_id: event.data.userId,
      }),
    ],
    HumanReviewTaskDecided: async (event, publish, deps) => {
      const task = await taskOf(event, deps, ({ status }) => status === 'decided')
      const last = task.opinions.at(-1)
      if (last === undefined) throw new Error('a task was decided without an opinion')
      const { agreesWithAi, decidedAt } = event.data
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
    HumanReviewTaskCancelled: async (event, publish, deps) => [
      publish('human_review.task.cancelled', event.data.cancelledAt, {
        ...idsOf(await taskOf(event, deps)),
        status: 'cancelled',
        reason: event.data.reason,
      }),
    ],
  },
})

/** The first event of the stream fixes the ids, so any cached state with it will do, unless more is needed. */
async function taskOf(
  { stream }: Pick<RecordedEvent, 'stream'>,
  { store }: HumanReviewChannelDependencies,
  suffices: (task: HumanReviewTask) => boolean = () => true,
): Promise<HumanReviewTask> {
  const state = await loadSufficient(
    store,
    humanReviewTasks.at(stream),
    (task) => task.status !== 'absent' && suffices(task),
  )
  if (state.status === 'absent') throw new Error('an event of a task that was never opened')
  return state
}

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
