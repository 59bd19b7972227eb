import { describe, expect, test } from 'vitest'
import { operations, type Acknowledged, type LoadSummary, type Operation } from '../../../tools/torture/acknowledged.ts'
import { checkAcknowledged, checkUnacknowledged } from '../../../tools/torture/checks/acknowledged.ts'
import { checkApi } from '../../../tools/torture/checks/api.ts'
import { checkWorkflows, workflowsUnderWay } from '../../../tools/torture/checks/workflows.ts'
import { streamOf, exampleLog, type ExampleEvent } from '../../../tools/torture/example-log.ts'

const said = ({ findings }: { readonly findings: readonly { readonly what: string }[] }) =>
  findings.map(({ what }) => what)

const inCase = (type: string, data: object = {}): ExampleEvent => [
  streamOf('case', 'c1'),
  type,
  { caseId: 'c1', ...data },
]
const opened = inCase('CaseOpened', { assessmentId: null, workflow: { workflowInstanceId: 'i1' } })
const ofInstance = (type: string, data: object = {}, id = 'i1'): ExampleEvent => [
  streamOf('workflow_instance', id),
  `Workflow${type}`,
  { workflowInstanceId: id, ...data },
]
const started = (id = 'i1') => ofInstance('InstanceStarted', { caseId: 'c1', fingerprint: null }, id)
const parked = (stepId: string) => ofInstance('StepParked', { stepId })
const advanced = (stepId: string) => ofInstance('StepAdvanced', { stepId })
const produced = ofInstance('OutputProduced', { stepId: 'assessed' })
const requested = ofInstance('AssessmentRequested')
const assignedToCase = inCase('CaseAssessmentAssigned', { assessmentId: 'a1' })
const ofAssessment = (type: string, data: object = {}): ExampleEvent => [
  streamOf('assessment', 'a1'),
  `Assessment${type}`,
  { assessmentId: 'a1', ...data },
]
const created = ofAssessment('Requested', { mode: 'collected' })
const assigned = ofInstance('AssessmentAssigned', { assessmentId: 'a1' })
const completed = ofInstance('InstanceCompleted')
const failed = ofInstance('InstanceFailed', { code: 'assessment-failed' })
const cancelled = ofInstance('InstanceCancelled', { reason: 'requested' })

const begun = [opened, started(), parked('intake')]
const waiting = [...begun, advanced('intake'), produced, requested]
const assessing = [...waiting, assignedToCase, assigned, created]
const whole = [...assessing, ofAssessment('Completed'), completed]

describe('the check of workflows', () => {
  test.each<readonly [string, readonly ExampleEvent[]]>([
    ['an instance that ends with its assessment', whole],
    ['an instance that fails with it', [...assessing, ofAssessment('Failed'), failed]],
    ['an instance that waits for its client', begun],
    [
      'a step that is parked again',
      [...begun, advanced('intake'), parked('intake'), advanced('intake'), produced, completed],
    ],
    ['a cancelled instance, and the assessment that goes on', [...waiting, assignedToCase, cancelled, created]],
    ['an instance that is cancelled with its case', [...begun, inCase('CaseClosed'), cancelled]],
  ])('accepts %s', (_, events) => {
    const log = exampleLog(...events)
    expect(checkWorkflows(log)).toMatchObject({ examined: 1, findings: [] })
    expect(workflowsUnderWay(log)).toEqual([])
  })

  test.each<readonly [string, readonly ExampleEvent[], string]>([
    ['a case that started none', [opened], 'a case without its instance'],
    ['a second start', [...begun, started()], 'an instance that started twice'],
    ['an event before the start', [cancelled], 'an event before the start'],
    ['an event of an unknown type', [...begun, ofInstance('StepSkipped')], 'an event of an unknown type'],
    ['an event after the end', [...whole, cancelled], 'an event of an instance that is completed'],
    [
      'an advance at another step',
      [...begun, advanced('photos'), parked('intake')],
      'an advance of a step that is not parked',
    ],
    ['an instance that moves no further', [...begun, advanced('intake')], 'an instance that stopped between two steps'],
    ['an instance that waits', waiting, 'an instance that waits for its assessment'],
    ['an open instance of a closed case', [...begun, inCase('CaseClosed')], 'an open instance of a closed case'],
    ['an end before the assessment', [...waiting, completed], 'an end without the awaited assessment'],
    ['an assessment without an assignment', [created], 'a collected assessment that no case has'],
    ['an assignment without an assessment', [assignedToCase], 'an assessment that was never made'],
    ['an assessment that was made twice', [...whole, created], 'an assessment that was made twice'],
    ['a second assessment of the case', [...whole, assignedToCase], 'a second assessment of a case'],
    [
      'another assessment than that of the case',
      [...waiting, ofInstance('AssessmentAssigned', { assessmentId: 'a2' }), cancelled],
      'another assessment than that of the case',
    ],
    [
      'another end than that of the assessment',
      [...assessing, ofAssessment('Completed'), failed],
      'failed, but its assessment is completed',
    ],
    ['an end before that of the assessment', [...assessing, completed], 'completed, but its assessment is open'],
  ])('finds %s', (_, events, what) => expect(said(checkWorkflows(exampleLog(...events)))).toEqual([what]))
})

describe('acknowledged writes of workflows', () => {
  const acknowledged = (operation: Operation, id: string): Acknowledged => {
    return { operation, key: `${operation} ${id}`, status: 200, id, position: null, at: 0 }
  }
  const unanswered = Object.fromEntries(operations.map((operation) => [operation, 0])) as Record<Operation, number>
  const load: LoadSummary = { sent: 3, repeated: 0, answers: {}, unanswered }
  const twice = exampleLog(...begun, advanced('intake'), parked('intake'), advanced('intake'), produced, completed)

  test('contain each advance once, however often its step is parked', () => {
    const both = [acknowledged('case', 'c1'), acknowledged('advance', 'i1 1'), acknowledged('advance', 'i1 2')]
    expect(checkAcknowledged(both, exampleLog(...begun, advanced('intake'))).findings).toHaveLength(1)
    expect(said(checkAcknowledged(both, twice))).toEqual([])
    expect(said(checkUnacknowledged(both, load, twice))).toEqual([])
    expect(said(checkUnacknowledged(both.slice(0, 2), load, twice))).toEqual(['in the log, but never acknowledged'])
  })

  test('lack what a workflow does by itself', () => {
    const byItself = [created, ofInstance('InstanceCancelled', { reason: 'case_closed' }), started()]
    expect(said(checkUnacknowledged([], load, exampleLog(...byItself)))).toEqual([])
    const requestedToo = [ofInstance('InstanceStarted', { fingerprint: 'f' }), cancelled]
    expect(said(checkUnacknowledged([], load, exampleLog(...requestedToo)))).toHaveLength(2)
  })

  test('are compared with the API by state, step, assessment, error and outputs', async () => {
    const record = {
      state: 'failed',
      parked_step: null,
      assessment_id: 'a1',
      error: { code: 'assessment-failed' },
      outputs: { intake: {}, assessed: {} },
    }
    const log = exampleLog(...assessing, ofAssessment('Failed'), failed)
    const api = (body: unknown) => ({ call: async () => ({ status: 200, headers: new Headers(), body }) })
    expect(await checkApi(api(record), [], log)).toMatchObject({ examined: 1, findings: [] })
    for (const change of [{ state: 'running' }, { assessment_id: null }, { error: null }, { outputs: { intake: {} } }])
      expect(said(await checkApi(api({ ...record, ...change }), [], log))).toHaveLength(1)
  })
})
