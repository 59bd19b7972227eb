import { expect, it } from 'vitest'
import { erasuresProcess } from '../../../processes/clinical/erasures.process.ts'
import type { ErasureStep, PatientErasureEvent } from '../../../streams/patient-erasure/events.ts'
import { ids } from '../../streams/facts.ts'
import { erasureFact as fact, ofErasure } from '../../streams/patient-erasure-facts.ts'
import { todosAfter } from '../../support/given-process.ts'
import { recorded } from '../../support/given-projector.ts'

const rows = (...events: readonly PatientErasureEvent[]) =>
  todosAfter(erasuresProcess, recorded(events.map((event) => ofErasure(event))))
const stepsOf = (...events: readonly PatientErasureEvent[]) => rows(...events).map(({ step }) => step)
const done = (...steps: readonly ErasureStep[]) => steps.map((step) => fact('PatientErasureStepDone', { step }))
const first = ['delete-objects', 'end-work', 'release-identifiers', 'unlink-account']
const beside = ['work_ended', 'identifiers_released', 'account_unlinked', 'objects_deleted'] as const
const before = [...beside, 'late_objects_deleted'] as const

it('nothing is due before the start, and four steps after it', () => {
  expect(stepsOf(fact('PatientErasureRequested'))).toEqual([])
  expect(stepsOf(fact('PatientErasureStarted'))).toEqual(first)
  expect(new Set(rows(fact('PatientErasureStarted')).map(({ key }) => key))).toEqual(
    new Set([`${ids.org}/${ids.patient}`]),
  )
})

it('objects are deleted again after the first time, and the keys are destroyed in the end', () => {
  const started = fact('PatientErasureStarted')
  expect(stepsOf(started, ...done('objects_deleted'))).toContain('delete-late-objects')
  expect(stepsOf(started, ...done(...beside))).toEqual(['delete-late-objects', 'destroy-keys'])
  expect(stepsOf(started, ...done(...before))).toEqual(['destroy-keys'])
  expect(stepsOf(started, ...done(...before, 'keys_destroyed'))).toEqual(['rewrite-vault', 'write-ledger'])
})

it('the last event follows all steps, and nothing is due after it', () => {
  const all = done(...before, 'keys_destroyed', 'ledger_written', 'vault_rewritten')
  expect(stepsOf(fact('PatientErasureStarted'), ...all)).toEqual(['complete'])
  expect(stepsOf(fact('PatientErasureStarted'), ...all, fact('SubjectErased'))).toEqual([])
})

it('a failed try changes nothing in the list', () => {
  expect(stepsOf(fact('PatientErasureStarted'), fact('PatientErasureStepFailed'))).toEqual(first)
})
