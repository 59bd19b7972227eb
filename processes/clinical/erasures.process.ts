import { defineProcess, Nothing, step } from '../../engine/processes/define-process.ts'
import type { TodoList } from '../../engine/processes/todo-list.ts'
import type { PatientErasureEvent } from '../../streams/patient-erasure/events.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { deleteLateObjects, deleteObjects } from './erased-objects.steps.ts'
import { destroyKeys, rewriteVault, writeLedger } from './erased-keys.steps.ts'
import { endWork, releaseIdentifiers, unlinkAccount } from './erased-work.steps.ts'
import { complete } from './erasures.steps.ts'

const steps = {
  'end-work': step(Nothing, endWork),
  'release-identifiers': step(Nothing, releaseIdentifiers),
  'unlink-account': step(Nothing, unlinkAccount),
  'delete-objects': step(Nothing, deleteObjects),
  'delete-late-objects': step(Nothing, deleteLateObjects),
  'destroy-keys': step(Nothing, destroyKeys),
  'write-ledger': step(Nothing, writeLedger),
  'rewrite-vault': step(Nothing, rewriteVault),
  complete: step(Nothing, complete),
}

/** What follows each step. A step that follows several waits for all of them. */
const after = {
  work_ended: ['end-work', 'destroy-keys'],
  identifiers_released: ['release-identifiers', 'destroy-keys'],
  account_unlinked: ['unlink-account', 'destroy-keys'],
  objects_deleted: ['delete-objects', 'delete-late-objects'],
  late_objects_deleted: ['delete-late-objects', 'destroy-keys'],
  keys_destroyed: ['destroy-keys', 'write-ledger', 'rewrite-vault'],
  ledger_written: ['write-ledger', 'complete'],
  vault_rewritten: ['rewrite-vault', 'complete'],
} as const

const first = ['end-work', 'release-identifiers', 'unlink-account', 'delete-objects'] as const

/** Two organisations may have a patient with one id. */
function keyOf({ orgId }: TodoList<typeof steps>, patientId: string): string {
  return `${orgId}/${patientId}`
}

/**
 * Erases a patient: first everything beside the events, then the key that opens them. Each step is repeated until its
 * event is in the stream of the erasure, so a crash anywhere ends in a complete erasure.
 */
export const erasuresProcess = defineProcess<PatientErasureEvent, ProcessDependencies>()({
  name: 'erasures',
  version: 1,
  steps,
  on: {
    PatientErasureStarted: ({ data: { patientId, startedAt } }, todo) =>
      first.map((name) => todo.schedule(name, keyOf(todo, patientId), { at: startedAt })),
    PatientErasureStepDone: ({ data: { patientId, step: done, doneAt } }, todo) => {
      const key = keyOf(todo, patientId)
      const [ended, ...next] = after[done]
      return [
        todo.clear(key, ended),
        ...next.map((name) => todo.schedule(name, key, { at: doneAt, existing: 'replace' })),
      ]
    },
    SubjectErased: ({ data: { patientId } }, todo) => [todo.clear(keyOf(todo, patientId))],
  },
})
