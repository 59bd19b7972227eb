import { assessments } from '../../streams/assessment/aggregate.ts'
import { assessmentChannelStream } from '../../streams/channels/assessment.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import type { RecordedEvent } from '../../streams/store/events.ts'
import { defineChannel } from '../relay/channel.ts'

export interface AssessmentChannelDependencies {
  readonly store: Pick<EventStore, 'load' | 'loadCached'>
}

/** The end of every assessment, once. Only the organisation's webhooks receive the results. */
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
  },
})

/** The case is null if the uploads were never submitted. */
async function idsOf(event: Pick<RecordedEvent, 'stream' | 'revision'>, { store }: AssessmentChannelDependencies) {
  const target = assessments.at(event.stream)
  const cached = await store.loadCached(target)
  const isBehind = cached.revision === 'no_stream' || cached.revision < event.revision
  const { state } = isBehind ? await store.load(target) : cached
  if (state.status === 'absent') throw new Error('an event of an assessment that was never requested')
  const { assessmentId, patientId, productId } = state
  const caseId = 'caseId' in state ? state.caseId : null
  return { assessment_id: assessmentId, patient_id: patientId, case_id: caseId, product_id: productId }
}
