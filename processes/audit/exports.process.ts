import { defineProcess, keyedStep, step } from '../../engine/processes/define-process.ts'
import type { AuditExportEvent } from '../../streams/audit-export/events.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { ExportPayload, giveUp, removeObjects, writeZip } from './exports.steps.ts'

/** An export that is not written by then failed. */
const longestMs = 6 * 3_600_000

/**
 * Writes the ZIP file of each export, and removes it after its time. The key is the export. Exports of an organisation are
 * written one after another.
 */
export const exportsProcess = defineProcess<AuditExportEvent, ProcessDependencies>()({
  name: 'exports',
  version: 1,
  concurrency: ({ configuration: { stepTimeoutMs } }) => ({ workers: 2, perKey: 1, stepTimeoutMs }),
  steps: {
    write: keyedStep(ExportPayload, writeZip),
    'give-up': step(ExportPayload, giveUp),
    remove: step(ExportPayload, removeObjects),
  },
  on: {
    AuditExportRequested: ({ data: { exportId, organisationId, patientId, requestedAt } }, todo) => [
      todo.schedule('write', exportId, { at: requestedAt, concurrencyKey: organisationId, payload: { patientId } }),
      todo.schedule('give-up', exportId, {
        at: new Date(Date.parse(requestedAt) + longestMs).toISOString(),
        payload: { patientId },
      }),
    ],
    AuditExportFinished: ({ data: { exportId, patientId, expiresAt } }, todo) => [
      todo.clear(exportId),
      todo.schedule('remove', exportId, { at: expiresAt, payload: { patientId } }),
    ],
    AuditExportFailed: ({ data: { exportId, patientId, failedAt } }, todo) => [
      todo.clear(exportId),
      todo.schedule('remove', exportId, { at: failedAt, payload: { patientId } }),
    ],
    AuditExportRemoved: ({ data: { exportId } }, todo) => [todo.clear(exportId)],
  },
})
