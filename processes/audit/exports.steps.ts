import { Type, type Static } from 'typebox'
import { exportOf, failExport, finishExport, removeExport } from '../../commands/audit/export-decisions.ts'
import type { ExportOrder } from '../../contracts/audit/export.ts'
import { appends } from '../../engine/processes/attempt.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import { Problem } from '../../platform/http/problems.ts'
import { auditExports } from '../../streams/audit-export/aggregate.ts'
import type { ProcessStep } from '../dependencies.ts'
import { exportPrefix } from './export-runs.ts'

export const ExportPayload = Type.Object({ patientId: Type.String() })
type ExportPayload = Static<typeof ExportPayload>

/**
 * Writes the ZIP file. This takes longer than a step may, so the writing goes on between the runs of the step. If the
 * instance dies, another one begins again under another key.
 */
export const writeZip: ProcessStep<ExportPayload> = async (todo, { store, exports, failpoint }, step) => {
  const order = orderOf(todo)
  const { exportId } = order
  const target = exportsOf(order)
  const { state } = await store.load(target)
  if (exportOf(state, exportId)?.status !== 'running') {
    await exports.end(exportId)
    return { kind: 'done' }
  }
  const written = await exports.written(order, step).catch((error: unknown) => {
    if (error instanceof Problem && error.code === 'subject-erased') return error
    throw error
  })
  if (written === undefined) return { kind: 'done', continues: true }
  failpoint('export-written')
  const ended = { exportId, now: step.now() }
  const context = todo.command('exports.write')
  const outcome = await (written instanceof Problem
    ? appends(store, target, (now) => failExport({ ...ended, errorCode: 'SUBJECT_ERASED' }, now), context)
    : appends(store, target, (now) => finishExport({ ...ended, stored: written }, now), context))
  await exports.end(exportId)
  return outcome
}

export const giveUp: ProcessStep<ExportPayload> = async (todo, { store, exports }, step) => {
  const order = orderOf(todo)
  const { exportId } = order
  await exports.end(exportId)
  const ended = { exportId, errorCode: 'TIMED_OUT', now: step.now() }
  const decide = (state: Parameters<typeof failExport>[1]) => failExport(ended, state)
  return appends(store, exportsOf(order), decide, todo.command('exports.give-up'))
}

/** Removes the ZIP file in every version, and what interrupted writings left. */
export const removeObjects: ProcessStep<ExportPayload> = async (todo, { store, objects }, step) => {
  const order = orderOf(todo)
  const { exportId } = order
  const prefix = exportPrefix(order)
  await objects.abandonParts(prefix)
  await objects.removeVersions(prefix)
  const decide = (state: Parameters<typeof removeExport>[1]) => removeExport({ exportId, now: step.now() }, state)
  return appends(store, exportsOf(order), decide, todo.command('exports.remove'))
}

function orderOf({ key, orgId, payload: { patientId } }: Todo<ExportPayload>): ExportOrder {
  return { exportId: key, tenant: orgId, patientId }
}

/** One stream has all exports of a patient. */
function exportsOf({ tenant, patientId }: ExportOrder) {
  return auditExports.of(tenant, patientId)
}
