import { assessments, hasEnded, type ExistingAssessment } from '../../streams/assessment/aggregate.ts'
import { assessmentChannelStream } from '../../streams/channels/assessment.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import { defineChannel } from '../../engine/relay/channel.ts'

export interface AssessmentChannelDependencies {
  readonly store: Pick<EventStore, 'load' | 'loadCached'>
}

/** The end of every assessment, and each decision of its human reviews. Only webhooks contain the record. */
export const assessmentChannel = defineChannel({
  stream: assessmentChannelStream,
  sources: [assessments],
  translate: {
    AssessmentCompleted: async (event, publish, deps: AssessmentChannelDependencies) => {
      const { case_id, ...ids } = await idsOf(event, deps)
      if (case_id === null) throw new Error('an assessment without a case was completed')
      const { completedAt } = event.data
      const end = { error_code: null, ended_at: completedAt }
      return [publish('assessment.completed', completedAt, { ...ids, case_id, status: 'completed', ...end })]
    },
    AssessmentFailed: async (event, publish, deps) => {
      const ids = await idsOf(event, deps)
      const { code, failedAt } = event.data
      return [
        publish('assessment.failed', failedAt, { ...ids, status: 'failed', error_code: code, ended_at: failedAt }),
      ]
    },
    AssessmentHumanReviewDecided: async (event, publish, deps) => {
      const state = await stateAt(event, deps)
      if (!hasEnded(state) || state.caseId === null) throw new Error('an assessment was reviewed before its end')
      const { taskId: task_id, aiReviewId: ai_review_id, agreesWithAi: agrees_with_ai, decidedAt } = event.data
      const end =
        state.status === 'completed'
          ? { error_code: null, ended_at: state.completedAt }
          : { error_code: state.code, ended_at: state.failedAt }
      const of = { ...namesIn(state), case_id: state.caseId, status: state.status, ...end, task_id, ai_review_id }
      return [publish('assessment.reviewed', decidedAt, { ...of, agrees_with_ai, decided_at: decidedAt })]
    },
  },
})

type Place = Pick<RecordedEvent, 'stream' | 'revision'>

/** The case is null if the uploads were never submitted. */
async function idsOf(event: Place, deps: AssessmentChannelDependencies) {
  const state = await stateAt(event, deps)
  return { ...namesIn(state), case_id: 'caseId' in state ? state.caseId : null }
}

function namesIn({ assessmentId, patientId, productId }: ExistingAssessment) {
  return { assessment_id: assessmentId, patient_id: patientId, product_id: productId }
}

/** The state at the event or later. */
async function stateAt(event: Place, { store }: AssessmentChannelDependencies): Promise<ExistingAssessment> {
  const target = assessments.at(event.stream)
  const cached = await store.loadCached(target)
  const isBehind = cached.revision === 'no_stream' || cached.revision < event.revision
  const { state } = isBehind ? await store.load(target) : cached
  if (state.status === 'absent') throw new Error('an event of an assessment that was never requested')
  return state
}
