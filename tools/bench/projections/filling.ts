import { readModels } from '../../../projections/registry.ts'
import { formatPosition } from '../../../platform/kit/positions.ts'
import type { FillJob, LogJobDone, LogProcess } from './jobs.ts'
import { endOf, type Written } from './log.ts'
import type { World } from './world.ts'

/** Expected rows of a read model after the main job, from the number of written events of each type. */
const rowsByEvents: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'assessments.assessments': { AssessmentRequested: 1 },
  'assessments.assessments completed': { AssessmentCompleted: 1 },
  'assessments.assessment_images': { AssessmentSubmitted: 2 },
  'ai_reviews.ai_reviews': { AiReviewRequested: 1 },
  'ai_reviews.ai_reviews completed': { AiReviewCompleted: 1 },
  'ai_reviews.ai_review_images': { AiReviewImageSent: 1 },
  'ai_reviews.ai_review_results': { AiReviewCompleted: 1 },
  'ai_reviews.ai_review_lesions': { AiReviewCompleted: 1 },
  'cases.cases': { CaseOpened: 1 },
  'images.image_owners': { AssessmentRequested: 1 },
  'images.images': { AssessmentSubmitted: 2 },
  'consent_records.consent_records': { ConsentRecorded: 1 },
  'patients.patients': { PatientRegistered: 1 },
  'webhook_deliveries.deliveries': { WebhookDeliveryScheduled: 1 },
  'webhook_deliveries.attempts': { WebhookDeliveryAttempted: 1 },
  // The record and the consents of a patient.
  // Of an assessment: its stream is of three subjects, its case's of two, its review's of three and its slot's of two.
  'audit_subjects.subject_streams': { PatientRegistered: 2, AssessmentRequested: 10 },
  'audit_subjects.stream_ends': { PatientRegistered: 2, AssessmentRequested: 5 },
  'audit_subjects.followers': { WebhookDeliveryScheduled: 1 },
}

export const allModels = readModels.map(({ name }) => name)

/** A job that fills read models with everything that was written. */
export async function fillOf({ addresses, store }: World, models: readonly string[]): Promise<FillJob> {
  return { kind: 'fill', addresses, models, upTo: formatPosition(await endOf(store)) }
}

/** Runs the job and compares its result with the written events. */
export async function filled(process: LogProcess, job: FillJob, written: Written): Promise<LogJobDone> {
  const done = await process.run(job)
  expectRows(done, written)
  return done
}

/** Throws when a table does not have the rows that follow from the events. */
function expectRows({ rows }: LogJobDone, { byType }: Written): void {
  for (const [table, count] of Object.entries(rows)) {
    const rule = Object.entries(rowsByEvents[table] ?? {})
    const expected = rule.reduce((sum, [type, each]) => sum + (byType.get(type) ?? 0) * each, 0)
    if (count !== expected) throw new Error(`${table} has ${count} rows instead of ${expected}`)
  }
}

/** Events per second of a reading. Throws unless it has passed every event. */
export function rateOf({ events, milliseconds }: LogJobDone, expected: number): number {
  if (events !== expected) throw new Error(`${events} of ${expected} events arrived`)
  return (events * 1000) / milliseconds
}
