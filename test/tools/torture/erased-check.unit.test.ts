import { expect, test } from 'vitest'
import { ErasureStep } from '../../../streams/patient-erasure/events.ts'
import type { ApiAnswer } from '../../support/raw-api.ts'
import { checkErasures, erasuresUnderWay, ofLiving, type Left } from '../../../tools/torture/checks/erased.ts'
import { exampleLog, streamOf } from '../../../tools/torture/example-log.ts'

type Entry = readonly [string, string, Readonly<Record<string, unknown>>]

const erasure = streamOf('patient_erasure', 'p1')
const assessment = streamOf('assessment', 'a1')
const other = streamOf('assessment', 'a2')
const image = (owner: string) => `images/2026-03-01/org/${owner}/i/0a1b`
const started: Entry = [erasure, 'PatientErasureStarted', { patientId: 'p1' }]
const steps: readonly Entry[] = ErasureStep.enum.map((step) => [
  erasure,
  'PatientErasureStepDone',
  { patientId: 'p1', step },
])
const ended: Entry = [erasure, 'SubjectErased', { patientId: 'p1' }]
const requested: readonly Entry[] = [
  [assessment, 'AssessmentRequested', { patientId: 'p1', assessmentId: 'a1' }],
  [assessment, 'AssessmentSubmitted', { assessmentId: 'a1', images: [{ key: image('a1') }] }],
  [other, 'AssessmentRequested', { patientId: 'p2', assessmentId: 'a2' }],
  [other, 'AssessmentSubmitted', { assessmentId: 'a2', images: [{ key: image('a2') }] }],
]
const whole = [...requested, started, ...steps, ended]
const nothingLeft: Left = { objects: [image('a2'), 'erasures/org/p1.json'], keys: new Set(['org/p2']) }

async function said(log: readonly Entry[], left: Partial<Left> = {}, status = 410, items: readonly object[] = []) {
  const call = async (path: string): Promise<ApiAnswer> =>
    path.includes('/patients/')
      ? { status, headers: new Headers(), body: {} }
      : { status: 200, headers: new Headers(), body: { data: path.includes('/cases') ? items : [] } }
  const { findings } = await checkErasures({ call }, exampleLog(...log), { ...nothingLeft, ...left })
  return findings.map(({ what }) => what)
}

test('accepts an erasure that leaves nothing but its entry of the ledger', async () => {
  expect(await said(whole)).toEqual([])
})

test('finds a missing step, a second one, and a missing end', async () => {
  const all = ErasureStep.enum.join(', ')
  expect(await said([...requested, started, ...steps.slice(1), ended])).toEqual([
    `the steps ${ErasureStep.enum.slice(1).join(', ')}`,
  ])
  expect(await said([...requested, started, ...steps, ...steps.slice(-1), ended])).toEqual([
    `the steps ${all}, vault_rewritten`,
  ])
  expect(await said(whole.slice(0, -1))).toEqual(['no end'])
  expect(erasuresUnderWay(exampleLog(...whole.slice(0, -1)))).toEqual([erasure])
})

test('finds a key, an object and an answer that are left, and a list with the patient', async () => {
  expect(await said(whole, { keys: new Set(['org/p1']) })).toEqual(['a key that exists'])
  expect(await said(whole, { objects: [image('a2'), image('a1')] })).toEqual(['an object that exists'])
  expect(await said(whole, {}, 200)).toEqual(['answered 200 instead of 410'])
  expect(await said(whole, {}, 410, [{ id: 'c1', patient_id: 'p1' }])).toEqual([
    'a list with an erased patient: /v1/clinical-api/cases',
  ])
})

test('finds an image of another patient that is gone', async () => {
  expect(await said(whole, { objects: [] })).toEqual([`an image that is gone: ${image('a2')}`])
})

test('what is about an erased patient is not in the log of the others', () => {
  expect(ofLiving(exampleLog(...whole)).map(({ stream }) => stream)).toEqual([other, other])
})
