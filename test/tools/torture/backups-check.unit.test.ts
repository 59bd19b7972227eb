import { expect, test } from 'vitest'
import { checkBackup, lostBackups, type RestoredCopy } from '../../../tools/torture/checks/backups.ts'
import { exampleLog, streamOf } from '../../../tools/torture/example-log.ts'

const image = { key: 'images/2026-11-29/patient-1/a', sha256: 'aa' }
const raw = { key: 'raw/b', sha256: 'bb', contentSha256: 'cc' }
const erasedImage = { key: 'images/2026-11-29/patient-2/c', sha256: 'dd' }

const original = exampleLog(
  [streamOf('patient', 'patient-1'), 'PatientRegistered', { patientId: 'patient-1' }],
  [streamOf('case', 'case-1'), 'ImageAdded', { patientId: 'patient-1', image }],
  [streamOf('case', 'case-2'), 'ImageAdded', { patientId: 'patient-2', image: erasedImage }],
  [streamOf('ai_review', 'review-1'), 'AiReviewCompleted', { patientId: 'patient-1', rawResponse: raw }],
  [streamOf('patient_erasure', 'patient-2'), 'PatientErasureStarted', { patientId: 'patient-2' }],
  [streamOf('patient', 'patient-3'), 'PatientRegistered', { patientId: 'patient-3' }],
)
const position = original[3]?.position ?? ''
const [restoredEvent] = exampleLog(['backups', 'BackupRestored'])
const ofRestore = { ...restoredEvent!, position: '999/999' }

const whole: RestoredCopy = {
  id: 'backup-1',
  position,
  faults: [],
  log: [...original.slice(0, 4), ofRestore],
  objects: new Map([
    [image.key, image.sha256],
    [raw.key, raw.sha256],
  ]),
  keys: new Set(['org/patient-1']),
  rows: [{ table: 'patients.patients', rows: new Map([['patient-1', 'row']]) }],
  rebuilt: [{ table: 'patients.patients', rows: new Map([['patient-1', 'row']]) }],
}
const found = (copy: Partial<RestoredCopy>) => checkBackup({ ...whole, ...copy }, original).map(({ what }) => what)

test('finds nothing in a backup whose objects are whole but for those of a patient who was erased since', () => {
  expect(found({})).toEqual([])
})

test('finds a backup whose command ended well and that the place does not have', () => {
  expect(lostBackups(['backup-1', 'backup-2'], ['backup-2', 'of-a-killed-command'])).toEqual([
    { what: 'a backup that was made is gone', where: 'backup backup-1' },
  ])
})

test('finds an object that was left out, and one with other bytes', () => {
  expect(found({ objects: new Map([[raw.key, 'ee']]) })).toEqual([
    `an object that is gone: ${image.key}`,
    `an object with another hash: ${raw.key}`,
  ])
})

test('finds an event behind the position, one that is missing, and one that differs', () => {
  expect(found({ log: original.slice(0, 5) })).toEqual(['an event behind the position'])
  expect(found({ log: original.slice(0, 3) })).toEqual(['3 of 4 events'])
  const changed = original.slice(0, 4).map((fact) => (fact.type === 'PatientRegistered' ? { ...fact, data: {} } : fact))
  expect(found({ log: changed })).toEqual(['event 0 of 4 and 4 differs'])
})

test('finds rows that a rebuild does not have, and what the restore has named', () => {
  expect(found({ rebuilt: [{ table: 'patients.patients', rows: new Map([['patient-1', 'other']]) }] })).toEqual([
    'a row with other values than in a rebuild',
  ])
  expect(found({ faults: ['an event is not signed'] })).toEqual(['an event is not signed'])
})

test('finds the key of a patient who was erased after the backup', () => {
  expect(checkBackup({ ...whole, keys: new Set(['org/patient-2', 'org/patient-3']) }, original)).toEqual([
    { what: 'the key of an erased patient', where: 'backup backup-1: org/patient-2' },
  ])
})
