import { accessLogs } from '../../streams/access-log/aggregate.ts'
import { accessMonths } from '../../streams/access-month/aggregate.ts'
import { aiReviewAccesses } from '../../streams/ai-review-access/aggregate.ts'
import { auditExports } from '../../streams/audit-export/aggregate.ts'
import { operationsStream } from '../../streams/operations/aggregate.ts'
import { writeProbes } from '../../streams/write-probe/aggregate.ts'
import { accessLogFact, accessMonthFact } from '../../test/streams/access-log-facts.ts'
import { patientErasures } from '../../streams/patient-erasure/aggregate.ts'
import { ErasureStep } from '../../streams/patient-erasure/events.ts'
import { erasureFact } from '../../test/streams/patient-erasure-facts.ts'
import { exportFact } from '../../test/streams/audit-export-facts.ts'
import { accessFact } from '../../test/streams/ai-review-facts.ts'
import { operationsFact, writeProbeFact } from '../../test/streams/facts.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import type { Story } from './story.ts'

/**
 * Somebody sees a record, once or more often. Now and then the retention of a month is over. The probe stands for events
 * that no projector reads.
 */
export function seeRecord(story: Story, random: SeededRandom, text: string): void {
  const orgId = random.pick(story.organisations)
  const at = story.instant(random)
  const month = `2026-0${1 + random.below(3)}`
  const accessId = story.id(random)
  const patientIds = story.patients.filter(() => random.oneIn(3)).map(({ id }) => id)
  const seen = accessLogFact('AccessRecorded', {
    accessId,
    organisationId: orgId,
    at: `${month}${at.slice(7)}`,
    patientIds: [...new Set(patientIds)],
    subjectUserId: random.oneIn(5) ? story.id(random) : null,
    sourceAddress: text,
    addressKey: `access_log@${month}`,
  })
  const again = accessLogFact('AccessRepeated', { accessId, count: 2 + random.below(9), lastAt: at })
  const { stream } = accessLogs.of(orgId, `${month}-01`, story.id(random))
  // The access of a count may be gone.
  story.append(orgId, stream, ...(random.oneIn(8) ? [] : [seen]), again)
  exportPatient(story, accessId, at)
  if (accessId.charCodeAt(0) % 2 === 0) erasePatient(story)
  if (accessId.charCodeAt(0) % 2 === 1)
    story.append(orgId, operationsStream.stream, operationsFact('OperatorActionRecorded', { actionId: accessId, at }))
  if (random.oneIn(4))
    story.append(orgId, accessMonths.of(`${month}.${at}`).stream, accessMonthFact('AccessMonthEnded', { month }))
  if (random.oneIn(4)) story.append(orgId, writeProbes.of(story.id(random)).stream, writeProbeFact('WriteProbed'))
}

/** Everything about a patient is exported. Half of the exports fail. Nothing is random, so that the story stays as it was. */
function exportPatient(story: Story, exportId: string, at: string): void {
  const [patient] = story.patients
  if (patient === undefined) return
  const { id: patientId, orgId } = patient
  const end = exportId.charCodeAt(0) % 2 === 0 ? 'AuditExportFinished' : 'AuditExportFailed'
  story.append(
    orgId,
    auditExports.of(orgId, patientId).stream,
    exportFact('AuditExportRequested', { exportId, organisationId: orgId, patientId, requestedAt: at }),
    exportFact(end, { exportId, patientId }),
    exportFact('AuditExportRemoved', { exportId }),
  )
}

/** Somebody asks for the erasure of a patient, and it runs to its end. Nothing is random here either. */
function erasePatient(story: Story): void {
  const [patient] = story.patients
  if (patient === undefined) return
  const { id: patientId, orgId } = patient
  const owned = { patientId, organisationId: orgId }
  story.append(
    orgId,
    patientErasures.of(orgId, patientId).stream,
    erasureFact('LegalHoldPlaced', owned),
    erasureFact('LegalHoldReleased', { patientId }),
    erasureFact('PatientErasureRequested', owned),
    erasureFact('PatientErasureJoined', { patientId }),
    erasureFact('PatientErasureCancelled', { patientId }),
    erasureFact('PatientErasureRequested', owned),
    erasureFact('PatientErasureApproved', { patientId }),
    erasureFact('PatientErasureStarted', owned),
    erasureFact('PatientErasureStepFailed', { patientId }),
    ...ErasureStep.enum.map((step) => erasureFact('PatientErasureStepDone', { patientId, step })),
    erasureFact('SubjectErased', owned),
  )
}

/** A client reads the response of the provider. */
export function readRawResponse(story: Story, random: SeededRandom): void {
  if (story.reviews.length === 0) return
  const { id: aiReviewId, orgId } = random.pick(story.reviews)
  const read = accessFact('AiReviewRawRead', { aiReviewId, readAt: story.instant(random) })
  story.append(orgId, aiReviewAccesses.of(orgId, aiReviewId).stream, read)
}
