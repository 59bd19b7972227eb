import { readModels } from '../../../projections/registry.ts'
import { formatPosition } from '../../../platform/kit/positions.ts'
import type { FillJob, LogJobDone, LogProcess } from './jobs.ts'
import { endOf, type Written } from './log.ts'
import type { World } from './world.ts'

/** Expected rows of a read model after the main job, from the number of written events. */
const rowsByEvents: Readonly<Record<string, { readonly type: string; readonly each: number }>> = {
  'assessments.assessments': { type: 'AssessmentRequested', each: 1 },
  'assessments.assessments completed': { type: 'AssessmentCompleted', each: 1 },
  'assessments.assessment_images': { type: 'AssessmentSubmitted', each: 2 },
  'ai_reviews.ai_reviews': { type: 'AiReviewRequested', each: 1 },
  'ai_reviews.ai_reviews completed': { type: 'AiReviewCompleted', each: 1 },
  'ai_reviews.ai_review_images': { type: 'AiReviewImageSent', each: 1 },
  'ai_reviews.ai_review_results': { type: 'AiReviewCompleted', each: 1 },
  'ai_reviews.ai_review_lesions': { type: 'AiReviewCompleted', each: 1 },
  'cases.cases': { type: 'CaseOpened', each: 1 },
  'images.image_owners': { type: 'AssessmentRequested', each: 1 },
  'images.images': { type: 'AssessmentSubmitted', each: 2 },
  'consent_records.consent_records': { type: 'ConsentRecorded', each: 1 },
  'patients.patients': { type: 'PatientRegistered', each: 1 },
  'patients.patient_identifiers': { type: 'PatientRegistered', each: 1 },
  'webhook_deliveries.deliveries': { type: 'WebhookDeliveryScheduled', each: 1 },
  'webhook_deliveries.attempts': { type: 'WebhookDeliveryAttempted', each: 1 },
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
    const rule = rowsByEvents[table]
    const expected = rule === undefined ? 0 : (byType.get(rule.type) ?? 0) * rule.each
    if (count !== expected) throw new Error(`${table} has ${count} rows instead of ${expected}`)
  }
}

/** Events per second of a reading. Throws unless it has passed every event. */
export function rateOf({ events, milliseconds }: LogJobDone, expected: number): number {
  if (events !== expected) throw new Error(`${events} of ${expected} events arrived`)
  return (events * 1000) / milliseconds
}
