import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { assessmentChannel } from '../../streams/channels/assessment.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import type { DomainEvent, RecordedEvent } from '../../streams/store/events.ts'
import type { ChannelDefinition } from '../relay/channel.ts'

export interface AssessmentChannelDependencies {
  readonly store: Pick<EventStore, 'load' | 'loadCached'>
}

type DataOf<Event extends DomainEvent, Type extends Event['type']> = Extract<Event, { type: Type }>['data']

/** The end of every assessment, once; what came out goes to the organisation's webhooks alone. */
export const assessmentEventsChannel: ChannelDefinition<AssessmentChannelDependencies> = {
  stream: assessmentChannel,
  sources: [`${assessments.category}-`],
  organisationMember: 'org_id',
  translate: {
    AssessmentCompleted: async (event, deps) => {
      const { completedAt } = event.data as DataOf<AssessmentEvent, 'AssessmentCompleted'>
      const data = {
        ...(await assessmentOf(event, deps)),
        status: 'completed',
        error_code: null,
        ended_at: completedAt,
      }
      return [{ type: 'assessment.completed', occurredAt: completedAt, data }]
    },

    AssessmentFailed: async (event, deps) => {
      const { code, failedAt } = event.data as DataOf<AssessmentEvent, 'AssessmentFailed'>
      const data = { ...(await assessmentOf(event, deps)), status: 'failed', error_code: code, ended_at: failedAt }
      return [{ type: 'assessment.failed', occurredAt: failedAt, data }]
    },
  },
}

/** The ids of the assessment, the case being one that its submission made. */
async function assessmentOf(event: RecordedEvent, { store }: AssessmentChannelDependencies) {
  const target = assessments.at(event.stream)
  const cached = await store.loadCached(target)
  const isBehind = cached.revision === 'no_stream' || cached.revision < event.revision
  const { state } = isBehind ? await store.load(target) : cached
  if (state.status === 'absent') throw new Error('an event of an assessment that was never requested')
  const { organisationId, assessmentId, patientId, productId } = state
  const caseId = 'caseId' in state ? state.caseId : null
  return {
    org_id: organisationId,
    assessment_id: assessmentId,
    patient_id: patientId,
    case_id: caseId,
    product_id: productId,
  }
}
