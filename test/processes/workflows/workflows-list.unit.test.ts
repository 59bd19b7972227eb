import { describe, expect, it } from 'vitest'
import { textAt } from '../../../app/demo/members.ts'
import { assessmentsProcess } from '../../../processes/assessments/assessments.process.ts'
import { workflowsProcess } from '../../../processes/workflows/workflows.process.ts'
import { assessmentChannelStream } from '../../../streams/channels/assessment.ts'
import { clinicalChannelStream } from '../../../streams/channels/clinical.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { workflowInstances } from '../../../streams/workflow-instance/aggregate.ts'
import { todosAfter } from '../../support/given-process.ts'
import { recorded, type GivenEvent } from '../../support/given-projector.ts'
import { assessmentPublicFact, clinicalPublicFact } from '../../streams/channel-facts.ts'
import { assessmentFact, at, caseFact, ids } from '../../streams/facts.ts'
import { instanceFact } from '../../streams/workflow-facts.ts'

const own = (event: GivenEvent): GivenEvent => ({
  ...event,
  stream: workflowInstances.of(ids.org, textAt(event.data, 'workflowInstanceId')).stream,
})
const clinical = (event: GivenEvent): GivenEvent => ({ ...event, stream: clinicalChannelStream.name })
const published = (event: GivenEvent): GivenEvent => ({ ...event, stream: assessmentChannelStream.name })

const opened = clinical(
  clinicalPublicFact('clinical.case.opened', {
    workflow_instance_id: ids.workflowInstance,
    workflow_definition_id: ids.workflowDefinition,
    workflow_definition_version: 3,
  }),
)
const closed = clinical(clinicalPublicFact('clinical.case.closed'))
const started = own(instanceFact('WorkflowInstanceStarted'))
const requested = own(instanceFact('WorkflowAssessmentRequested'))
const assigned = own(instanceFact('WorkflowAssessmentAssigned'))
const ends = ['WorkflowInstanceCompleted', 'WorkflowInstanceFailed', 'WorkflowInstanceCancelled'] as const

function steps(...given: GivenEvent[]) {
  return todosAfter(workflowsProcess, recorded(given)).map(
    ({ key, step, dueAt }) => `${step} ${key === ids.workflowInstance ? '' : key}${dueAt.toISOString()}`,
  )
}

describe('the due steps of a workflow instance', () => {
  it('are its start, until it has started', () => {
    expect(steps(opened)).toEqual([`start ${at(0)}`])
    const { caseId, workflowDefinitionId } = instanceFact('WorkflowInstanceStarted').data
    const [todo] = todosAfter(workflowsProcess, recorded([opened]))
    expect(todo?.payload).toMatchObject({ caseId, workflowDefinitionId, version: 3 })
    expect(steps(opened, started)).toEqual([])
    expect(steps(clinical(clinicalPublicFact('clinical.case.opened')))).toEqual([])
  })

  it('are the assessment of its output step, and then its end', () => {
    expect(steps(started, requested)).toEqual([`assign ${at(3)}`])
    expect(steps(started, requested, assigned)).toEqual([])
    for (const type of ['assessment.completed', 'assessment.failed'] as const) {
      const ended = published(assessmentPublicFact(type, { case_id: ids.case }))
      expect(steps(started, requested, assigned, ended)).toEqual([`follow ${at(19)}`])
      expect(steps(started, ended)).toEqual([])
      // The end of the assessment may come before the instance knows which assessment it is.
      expect(steps(started, requested, ended, assigned)).toEqual([`follow ${at(19)}`])
    }
    expect(steps(started, requested, assigned, published(assessmentPublicFact('assessment.failed')))).toEqual([])
  })

  it('are the end of every open instance of a closed case, also of one that starts later', () => {
    const other = own(instanceFact('WorkflowInstanceStarted', { workflowInstanceId: ids.event }))
    const ofOtherCase = own(
      instanceFact('WorkflowInstanceStarted', { workflowInstanceId: ids.claim, caseId: ids.event }),
    )
    expect(steps(started, other, ofOtherCase, closed)).toEqual([`cancel ${ids.event}${at(40)}`, `cancel ${at(40)}`])
    expect(steps(opened, closed, started)).toEqual([`cancel ${at(1)}`])
  })

  it.each(ends)('are none after %s', (type) => {
    const ended = own(instanceFact(type))
    expect(steps(started, requested, closed, ended)).toEqual([])
    expect(steps(started, requested, ended, closed)).toEqual([])
    expect(steps(started, requested, ended, published(assessmentPublicFact('assessment.completed')))).toEqual([])
  })
})

it('an assigned assessment is due to be created, until it is submitted', () => {
  const stream = cases.of(ids.org, ids.case).stream
  const assignment = { ...caseFact('CaseAssessmentAssigned'), stream }
  const todos = (...given: GivenEvent[]) => todosAfter(assessmentsProcess, recorded(given)).map(({ step }) => step)
  expect(todos(assignment)).toEqual(['create-collected'])
  const created = ['AssessmentRequested', 'AssessmentSubmitted'] as const
  const story = created.map((type) => ({ ...assessmentFact(type), stream: `assessment-${ids.org}-${ids.assessment}` }))
  expect(todos(assignment, ...story)).toEqual(['expire', 'request-review'])
})
