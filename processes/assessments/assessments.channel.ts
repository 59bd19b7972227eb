import { assessments, hasEnded, type EndedAssessment } from '../../streams/assessment/aggregate.ts'
import { assessmentChannelStream } from '../../streams/channels/assessment.ts'
import { defineChannel } from '../../engine/relay/channel.ts'

/** The end of every assessment, and each decision of its human reviews. Only webhooks contain the record. */
export const assessmentChannel = defineChannel({
  stream: assessmentChannelStream,
  sources: [assessments],
  translate: {
    AssessmentCompleted: async ({ data: { completedAt } }, publish, state) => {
      const { case_id, ...ids } = idsOf(await state(hasEnded))
      if (case_id === null) throw new Error('an assessment without a case was completed')
      const end = { error_code: null, ended_at: completedAt }
      return [publish('assessment.completed', completedAt, { ...ids, case_id, status: 'completed', ...end })]
    },
    AssessmentFailed: async ({ data: { code, failedAt } }, publish, state) => {
      const ids = idsOf(await state(hasEnded))
      return [
        publish('assessment.failed', failedAt, { ...ids, status: 'failed', error_code: code, ended_at: failedAt }),
      ]
    },
    AssessmentHumanReviewDecided: async ({ data }, publish, state) => {
      const ended = await state(hasEnded)
      const { case_id, ...ids } = idsOf(ended)
      if (case_id === null) throw new Error('an assessment without a case was reviewed')
      const { taskId: task_id, aiReviewId: ai_review_id, agreesWithAi: agrees_with_ai, decidedAt } = data
      const end =
        ended.status === 'completed'
          ? { error_code: null, ended_at: ended.completedAt }
          : { error_code: ended.code, ended_at: ended.failedAt }
      const of = { ...ids, case_id, status: ended.status, ...end, task_id, ai_review_id }
      return [publish('assessment.reviewed', decidedAt, { ...of, agrees_with_ai, decided_at: decidedAt })]
    },
  },
})

/** The case is null if the uploads were never submitted. */
function idsOf({ assessmentId, patientId, productId, caseId }: EndedAssessment) {
  return { assessment_id: assessmentId, patient_id: patientId, product_id: productId, case_id: caseId }
}
