import { describe, expect, it } from 'vitest'
import { assessmentsProjector } from '../../../projections/assessments/assessments.projector.ts'
import { assessmentEvents } from '../../../streams/assessment/events.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'
import { assessmentFact as fact, at, ids } from '../../streams/facts.ts'

const requested = fact('AssessmentRequested')
const submitted = fact('AssessmentSubmitted')
const reviewRequested = fact('AssessmentReviewRequested')

const row = {
  assessment_id: ids.assessment,
  org_id: ids.org,
  patient_id: ids.patient,
  case_id: ids.case,
  status: 'processing',
  external_reference: 'canary-reference',
  result: null,
  failure_code: null,
  review: null,
  created_at: at(0),
  updated_at: at(0),
  stream_revision: '2',
}

describe('the assessments read model', () => {
  it('contains the request and its images in order, and asks for uploads only after the next event', async () => {
    const { assessments, assessment_images: images } = await rowsAfter(assessmentsProjector, recorded([requested]))
    expect(assessments).toEqual([{ ...row, case_id: null, stream_revision: '0' }])
    expect(images).toEqual([
      { assessment_id: ids.assessment, image_id: ids.image, ordinal: 0, capture_type: 'dermoscopic', object_key: null },
      { assessment_id: ids.assessment, image_id: ids.secondImage, ordinal: 1, capture_type: 'other', object_key: null },
    ])
  })

  it('follows an assessment with awaited images to its end without them', async () => {
    const awaited = fact('AssessmentUploadsAwaited')
    const { assessments: waiting } = await rowsAfter(assessmentsProjector, recorded([requested, awaited]))
    expect(waiting).toEqual([{ ...row, case_id: null, status: 'awaiting_images', stream_revision: '1' }])

    const expired = fact('AssessmentFailed', { aiReviewId: null, code: 'UPLOAD_WINDOW_EXPIRED', failedAt: at(86_400) })
    const { assessments: over, assessment_images: images } = await rowsAfter(
      assessmentsProjector,
      recorded([requested, awaited, expired]),
    )
    expect(over).toEqual([
      { ...row, case_id: null, status: 'failed', failure_code: 'UPLOAD_WINDOW_EXPIRED', updated_at: at(86_400) },
    ])
    expect(images?.map((image) => image['object_key'])).toEqual([null, null])
  })

  it('contains the case and the places of the images after the submit', async () => {
    const { assessments, assessment_images: images } = await rowsAfter(
      assessmentsProjector,
      recorded([requested, submitted, reviewRequested]),
    )
    expect(assessments).toEqual([row])
    expect(images?.map((image) => image['object_key'])).toEqual(submitted.data.images.map(({ object }) => object.key))
  })

  it('contains the result or the reason of the failure', async () => {
    const completed = fact('AssessmentCompleted')
    const { assessments: done } = await rowsAfter(
      assessmentsProjector,
      recorded([requested, submitted, reviewRequested, completed]),
    )
    const { aiProvider: ai_provider, outcome, completedAt: completed_at } = completed.data
    expect(done).toEqual([
      {
        ...row,
        status: 'completed',
        result: { ai_provider, outcome, completed_at },
        updated_at: at(30),
        stream_revision: '3',
      },
    ])

    const failed = fact('AssessmentFailed', { aiReviewId: null, code: 'ANALYSIS_TIMEOUT' })
    const { assessments: over } = await rowsAfter(assessmentsProjector, recorded([requested, submitted, failed]))
    expect(over).toEqual([{ ...row, status: 'failed', failure_code: 'ANALYSIS_TIMEOUT', updated_at: at(30) }])
  })

  it('contains the human review beside the end', async () => {
    const reviewed = async (...events: readonly ReturnType<typeof fact>[]) => {
      const all = [requested, submitted, fact('AssessmentFailed'), fact('AssessmentHumanReviewOpened'), ...events]
      return (await rowsAfter(assessmentsProjector, recorded(all)))['assessments']
    }
    const open = { status: 'open', decided_at: null, agrees_with_ai: null }
    const failed = { ...row, status: 'failed', failure_code: 'ANALYSIS_FAILED' }
    expect(await reviewed()).toEqual([{ ...failed, review: open, updated_at: at(60), stream_revision: '3' }])
    const decided = { status: 'decided', decided_at: at(90), agrees_with_ai: false }
    const ended = { ...failed, stream_revision: '4' }
    expect(await reviewed(fact('AssessmentHumanReviewDecided'))).toEqual([
      { ...ended, review: decided, updated_at: at(90) },
    ])
    expect(await reviewed(fact('AssessmentHumanReviewCancelled'))).toEqual([
      { ...ended, review: { ...open, status: 'cancelled' }, updated_at: at(100) },
    ])
    // The task of an older review changes only the revision.
    expect(await reviewed(fact('AssessmentHumanReviewDecided', { isNewest: false }))).toEqual([
      { ...ended, review: open, updated_at: at(60) },
    ])
  })

  it('changes only the rows of its own assessment', async () => {
    const id = ids.event
    const events = [
      requested,
      { ...fact('AssessmentRequested', { assessmentId: id, organisationId: ids.otherOrg }), stream: 'other' },
      submitted,
    ]
    const { assessments, assessment_images: images } = await rowsAfter(assessmentsProjector, recorded(events))
    expect(assessments?.map((each) => [each['assessment_id'], each['org_id'], each['status']])).toEqual([
      [id, ids.otherOrg, 'processing'],
      [ids.assessment, ids.org, 'processing'],
    ])
    expect(images?.filter((image) => image['object_key'] === null)).toHaveLength(2)
  })

  it('follows the revision of the stream for every event type, because If-Match uses it', () => {
    expect(Object.keys(assessmentsProjector.handlers).toSorted()).toEqual(Object.keys(assessmentEvents).toSorted())
  })

  it('stops at an event of an unknown assessment', async () => {
    await expect(rowsAfter(assessmentsProjector, recorded([submitted]))).rejects.toThrow('patch of a missing row')
  })
})
