import { describe, it } from 'vitest'
import { createCollectedAssessment } from '../../../commands/assessments/create-collected.ts'
import { assignAssessment, closeCase } from '../../../commands/clinical/close-case.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { images } from '../../../streams/image/aggregate.ts'
import { given } from '../../support/given-decider.ts'
import { assessmentFact, at, caseFact, ids } from '../../streams/facts.ts'
import { imageFact, ownImage } from '../../streams/image-facts.ts'

const opened = caseFact('CaseOpened', { assessmentId: null })
const closed = caseFact('CaseClosed')
const assigned = caseFact('CaseAssessmentAssigned', { imageIds: [ownImage] })

describe('closing a case', () => {
  const command = { now: new Date(at(40)) }

  it('happens once', () => {
    given(cases, opened).when(closeCase, command).thenEvents([closed])
    given(cases).when(closeCase, command).thenRefused('not-found')
  })

  it('is refused in review', () => {
    const started = caseFact('CaseHumanReviewStarted')
    const ended = caseFact('CaseHumanReviewEnded')
    given(cases, opened, started).when(closeCase, command).thenRefused('case-in-review')
    given(cases, opened, started, ended).when(closeCase, command).thenEvents([closed])
  })

  it('leaves findings that come later', () => {
    const { state } = given(cases, opened, closed, caseFact('CaseFindingRecorded'))
    if (state.status !== 'closed') throw new Error(`the case is ${state.status}`)
  })
})

describe('the assessment of a case', () => {
  const { assignedAt: _, ...members } = assigned.data
  const command = { ...members, now: new Date(at(2)) }

  it('is the first one that is requested', () => {
    given(cases, opened).when(assignAssessment, command).thenEvents([assigned])
    given(cases, opened, assigned)
      .when(assignAssessment, { ...command, assessmentId: ids.event })
      .thenNothing()
    given(cases, opened, assigned, closed).when(assignAssessment, command).thenNothing()
    given(cases, caseFact('CaseOpened')).when(assignAssessment, command).thenNothing()
    given(cases, opened, closed).when(assignAssessment, command).thenRefused('case-closed')
    given(cases).when(assignAssessment, command).thenRefused('not-found')
  })

  it('is created once, from the case and its received images', () => {
    const { state: ofCase } = given(cases, opened, assigned)
    const { state: image } = given(images, imageFact('ImageDeclared'), imageFact('ImageReceived'))
    if (ofCase.status === 'absent' || ofCase.assigned === null || image.status !== 'received')
      throw new Error('the story has no collected image')
    const { object, width, height } = image
    given(assessments)
      .when(createCollectedAssessment, {
        ofCase: { ...ofCase, assigned: ofCase.assigned },
        images: [image],
        now: new Date(at(2)),
        deadlineMs: 3_600_000,
      })
      .thenEvents([
        assessmentFact('AssessmentRequested', {
          finding: { findingType: 'lesion', bodySiteId: null },
          clinicalContext: null,
          customFields: null,
          fingerprint: null,
          mode: 'collected',
          images: [{ imageId: ownImage, captureType: 'macroscopic', mimeType: 'image/jpeg' }],
          requestedAt: at(2),
        }),
        assessmentFact('AssessmentSubmitted', {
          images: [{ imageId: ownImage, object, width, height }],
          submittedAt: at(2),
          deadlineAt: at(3602),
          request: null,
        }),
        assessmentFact('AssessmentReviewRequested', {
          images: [{ imageId: ownImage, imageType: 'MACROSCOPIC', objectKey: object.key }],
          isCaseOpen: true,
          requestedAt: at(2),
        }),
      ])
  })
})
