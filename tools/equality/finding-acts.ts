import { decisionBatches, endHumanReview, startHumanReview } from '../../commands/clinical/human-reviews.ts'
import { recordFindings as findingsOf } from '../../commands/clinical/record-findings.ts'
import { supersedeDiagnoses as supersededOf } from '../../commands/clinical/supersede-diagnoses.ts'
import { cases } from '../../streams/case/aggregate.ts'
import type { CaseEvent } from '../../streams/case/events.ts'
import { humanReviewTaskId } from '../../streams/human-review-task/aggregate.ts'
import type { Decision } from '../../engine/commands/decision.ts'
import { lesion } from '../../test/streams/ai-review-facts.ts'
import { caseFact, ids } from '../../test/streams/facts.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import type { Act } from './clinical-acts.ts'
import { supersede } from './review-acts.ts'
import type { Analysis, Story } from './story.ts'

/** Records findings and diagnoses of a completed review in its case. */
export const recordFindings: Act = (story, random, text) => {
  const due = story.analyses.filter(({ isRecorded }) => !isRecorded)
  if (due.length > 0) record(story, random, random.pick(due), text)
}

/** Supersedes the diagnoses of a superseded review. Records missing findings of that review first. */
export const supersedeDiagnoses: Act = (story, random, text) => {
  const analyses = story.analyses.filter(({ areSuperseded }) => !areSuperseded)
  if (analyses.length === 0) return
  const analysis = random.pick(analyses)
  const { review } = analysis
  if (review.status !== 'superseded') supersede(story, random, review, { ...review, eventId: null })
  if (analysis.supersededById === null) return
  if (!analysis.isRecorded) record(story, random, analysis, text)
  analysis.areSuperseded = true
  const lesions = analysis.lesionNumbers.map((lesionNumber) => ({ ...lesion, lesionNumber }))
  const of = { aiReviewId: review.id, supersededById: analysis.supersededById }
  const command = {
    ...of,
    batch: { lesions, before: 0 },
    diagnosisCount: lesions.length,
    now: new Date(story.instant(random)),
  }
  append(story, analysis, supersededOf(command, stateOf(story, analysis)))
}

/** Starts the human review of a completed review in its case, and ends most of them. */
export const reviewFindings: Act = (story, random, text) => {
  const recorded = story.analyses.filter(({ isRecorded }) => isRecorded)
  if (recorded.length === 0) return
  const analysis = random.pick(recorded)
  const { review, lesionNumbers } = analysis
  const ids = { taskId: humanReviewTaskId(review.id), aiReviewId: review.id }
  const now = new Date(story.instant(random))
  append(story, analysis, startHumanReview({ ...ids, productId: review.productId, now }, stateOf(story, analysis)))
  if (random.oneIn(3)) return
  const codes = { icd10: { code: text, term: text }, snomed: { code: null, term: null }, category: text }
  const lesions = lesionNumbers.map((lesionNumber) => ({ lesionNumber, ...codes }))
  const decided = lesions.map((lesion) => ({
    ...lesion,
    outcome: random.pick(['confirm', 'correct', 'reject'] as const),
  }))
  const task = { ...ids, lesions, decision: random.oneIn(4) ? null : { lesions: decided } }
  for (const batch of decisionBatches(task))
    append(story, analysis, endHumanReview({ task, batch, now }, stateOf(story, analysis)))
}

function record(story: Story, random: SeededRandom, analysis: Analysis, text: string): void {
  analysis.isRecorded = true
  const { review, lesionNumbers } = analysis
  if (!story.casesOfReviews.has(review.caseId)) openCase(story, random, analysis, text)
  const lesions = lesionNumbers.map((lesionNumber) => ({
    ...lesion,
    lesionNumber,
    category: random.oneIn(3) ? null : text,
    coordinates: random.oneIn(2) ? null : lesion.coordinates,
  }))
  const bodySiteId = random.oneIn(2) ? null : ids.bodySite
  const command = {
    aiReviewId: review.id,
    batch: { lesions, before: 0 },
    lesionCount: lesions.length,
    bodySiteId,
    now: new Date(story.instant(random)),
  }
  append(story, analysis, findingsOf(command, stateOf(story, analysis)))
}

function openCase(
  story: Story,
  random: SeededRandom,
  { review: { orgId, caseId, patient } }: Analysis,
  text: string,
): void {
  story.casesOfReviews.add(caseId)
  const said = patient === undefined || patient.readsAsNull ? null : text
  const phi = { externalReference: said, clinicalContext: said === null ? null : { [text]: text } }
  const of = { caseId, organisationId: orgId, patientId: patient?.id ?? ids.patient, assessmentId: null }
  story.append(
    orgId,
    cases.of(orgId, caseId).stream,
    caseFact('CaseOpened', { ...of, openedAt: story.instant(random), ...phi }),
  )
}

function stateOf(story: Story, { review: { orgId, caseId } }: Analysis) {
  const recorded = story.appends
    .filter(({ stream }) => stream === cases.of(orgId, caseId).stream)
    .flatMap(({ events }) => events)
  return (recorded as CaseEvent[]).reduce(cases.evolve, cases.initialState)
}

function append(story: Story, { review: { orgId, caseId } }: Analysis, decision: Decision<CaseEvent, string>): void {
  if ('refused' in decision) throw new Error(`a story refused: ${decision.refused}`)
  story.append(orgId, cases.of(orgId, caseId).stream, ...decision)
}
