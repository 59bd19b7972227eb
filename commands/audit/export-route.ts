import { Type } from 'typebox'
import { ExportRecord, toExportRecord } from '../../contracts/audit/export.ts'
import { accepted } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { onceByKey } from '../../engine/commands/once-by-key.ts'
import { Uuid } from '../../platform/http/members.ts'
import { problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { auditExportsProjector } from '../../projections/audit/audit-exports.projector.ts'
import { auditExports, type AuditExport } from '../../streams/audit-export/aggregate.ts'
import { patients } from '../../streams/patient/aggregate.ts'
import { requireLivingPatient, unknownPatient, type KnownPatients } from '../clinical/require-patient.ts'
import { knownExport, requestExport, runningExport } from './export-decisions.ts'

const RequestExportBody = Type.Object({ patient_id: Uuid }, { $id: 'RequestExportBody', additionalProperties: false })

export function exportWriteRoute(app: ServiceApp, deps: CommandDependencies & KnownPatients): void {
  commandRoute(app, deps, {
    method: 'POST',
    path: '/exports',
    operationId: 'requestExport',
    summary: 'Export everything about a patient',
    description:
      'Answers with the running export of the patient, if there is one. `GET /v1/audit/exports/{id}` has the address of the ZIP file when it has finished.',
    access: { scopes: ['audit:export', 'audit:read-phi'], alsoOfActor: true },
    body: RequestExportBody,
    reply: accepted(ExportRecord, ({ id }) => `/exports/${id}`),
    readBy: [auditExportsProjector],
    problems: ['patient-not-found', 'subject-erased', 'read-model-behind'],
    handle: async ({ tenant, body, keyed, now, context, run }) => {
      const patientId = body.patient_id.toLowerCase()
      await requireLivingPatient(deps, tenant, patientId)
      const { state } = await deps.store.loadCached(patients.of(tenant, patientId))
      if (state.status !== 'registered' && !(await deps.isKnownPatient(tenant, patientId)))
        throw unknownPatient('/patient_id')
      // The stream is that of the patient, so the key alone would give exports of two patients one id.
      const exportId = keyed.idOf(patientId)
      const command = { exportId, organisationId: tenant, patientId, fingerprint: keyed.fingerprint, now }
      const target = auditExports.of(tenant, patientId)
      const hasHappened = async () => knownExport((await deps.store.load(target)).state, exportId) !== undefined
      const owner = { orgId: tenant, ownerId: exportId, ownerStream: target.stream, hasHappened }
      const done = await onceByKey(deps, keyed, owner, context, () =>
        run(target, (state) => requestExport(command, state)),
      )
      const found = knownExport(done.state, exportId) ?? runningExport(done.state)
      if (found === undefined) throw problem('internal-error')
      return { ...done, record: recordOf(found) }
    },
  })
}

/** Without the address: the GET has it. */
function recordOf(one: AuditExport): ExportRecord {
  const absent = { finishedAt: null, errorCode: null, bytes: null, sha256: null, expiresAt: null, downloadUrl: null }
  return toExportRecord({
    ...absent,
    ...one,
    orgId: one.organisationId,
    finishedAt: one.status === 'running' ? null : one.status === 'failed' ? one.failedAt : one.finishedAt,
  })
}
