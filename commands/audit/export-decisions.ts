import { repeated, type Decision } from '../../engine/commands/decision.ts'
import type { StoredBytes } from '../../platform/storage/stream-upload.ts'
import type { AuditExport, AuditExportState } from '../../streams/audit-export/aggregate.ts'
import type { AuditExportEvent } from '../../streams/audit-export/events.ts'

export type RequestExport = Omit<Extract<AuditExportEvent, { type: 'AuditExportRequested' }>['data'], 'requestedAt'> & {
  readonly now: Date
}

/** The ZIP file is kept for so long. */
const keptMs = 24 * 3_600_000

export function exportOf({ exports }: AuditExportState, exportId: string): AuditExport | undefined {
  return exports.find((one) => one.exportId === exportId)
}

export function runningExport({ exports }: AuditExportState): AuditExport | undefined {
  return exports.find(({ status }) => status === 'running')
}

/** The export of a repeated request, also after it was removed. */
export function knownExport(state: AuditExportState, exportId: string): AuditExport | undefined {
  return exportOf(state, exportId) ?? state.removed.get(exportId)
}

/** A patient has one running export: while it runs, a further request gets it. */
export function requestExport(
  { now, ...command }: RequestExport,
  state: AuditExportState,
): Decision<AuditExportEvent, 'idempotency-key-reused'> {
  const existing = knownExport(state, command.exportId)
  if (existing !== undefined) return repeated(command, existing)
  if (runningExport(state) !== undefined) return []
  return [{ type: 'AuditExportRequested', data: { ...command, requestedAt: now.toISOString() } }]
}

interface EndExport {
  readonly exportId: string
  readonly now: Date
}

export function finishExport(
  { exportId, stored, now }: EndExport & { readonly stored: StoredBytes },
  state: AuditExportState,
): Decision<AuditExportEvent> {
  const one = exportOf(state, exportId)
  if (one?.status !== 'running') return []
  const { key: objectKey, sha256, bytes } = stored
  const expiresAt = new Date(now.getTime() + keptMs).toISOString()
  const { patientId } = one
  const data = { exportId, patientId, objectKey, sha256, bytes, finishedAt: now.toISOString(), expiresAt }
  return [{ type: 'AuditExportFinished', data }]
}

export function failExport(
  { exportId, errorCode, now }: EndExport & { readonly errorCode: string },
  state: AuditExportState,
): Decision<AuditExportEvent> {
  const one = exportOf(state, exportId)
  if (one?.status !== 'running') return []
  const data = { exportId, patientId: one.patientId, errorCode, failedAt: now.toISOString() }
  return [{ type: 'AuditExportFailed', data }]
}

/** After its objects were removed. */
export function removeExport({ exportId, now }: EndExport, state: AuditExportState): Decision<AuditExportEvent> {
  const one = exportOf(state, exportId)
  if (one === undefined || one.status === 'running') return []
  return [{ type: 'AuditExportRemoved', data: { exportId, removedAt: now.toISOString() } }]
}
