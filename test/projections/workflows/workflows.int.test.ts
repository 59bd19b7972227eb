import { describe, expect, it } from 'vitest'
import { workflowsProjector } from '../../../projections/workflows/workflows.projector.ts'
import { workflowDefinitions } from '../../../streams/workflow-definition/aggregate.ts'
import { workflowInstances } from '../../../streams/workflow-instance/aggregate.ts'
import type { DomainEvent } from '../../../engine/store/events.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'
import { at, ids } from '../../streams/facts.ts'
import { definitionFact, instanceFact, lesionSteps } from '../../streams/workflow-facts.ts'

const ofDefinition = (event: DomainEvent) => ({
  ...event,
  stream: workflowDefinitions.of(ids.org, ids.workflowDefinition).stream,
})
const own = (event: DomainEvent) => ({
  ...event,
  stream: workflowInstances.of(ids.org, ids.workflowInstance).stream,
})
const begun = [instanceFact('WorkflowInstanceStarted'), instanceFact('WorkflowStepParked')]
const rowsOf = (...events: DomainEvent[]) => rowsAfter(workflowsProjector, recorded(events.map(own)))

const instance = {
  workflow_instance_id: ids.workflowInstance,
  org_id: ids.org,
  workflow_definition_id: ids.workflowDefinition,
  definition_version: 1,
  case_id: ids.case,
  patient_id: ids.patient,
  state: 'parked',
  parked_step_id: 'intake',
  parked_step_kind: 'collect-questions',
  parked_at: at(1),
  assessment_id: null,
  failure_code: null,
  started_at: at(1),
  updated_at: at(1),
  stream_revision: '1',
}
const left = { parked_step_id: null, parked_step_kind: null, parked_at: null }
const output = { workflow_instance_id: ids.workflowInstance, step_id: 'intake', org_id: ids.org, values: null }

describe('the workflows read model', () => {
  it('has every version of a definition, and the newest of each', async () => {
    const second = definitionFact('WorkflowDefinitionPublished', {
      version: 2,
      startStepId: 'photos',
      publishedAt: at(9),
    })
    const { workflow_definitions: newest, workflow_versions: versions } = await rowsAfter(
      workflowsProjector,
      recorded([definitionFact('WorkflowDefinitionPublished'), second].map(ofDefinition)),
    )
    const row = { workflow_definition_id: ids.workflowDefinition, org_id: ids.org, name: 'Changed lesion' }
    const two = { ...row, version: 2, start_step_id: 'photos', published_at: at(9), stream_revision: '1' }
    expect(newest).toEqual([two])
    const one = { ...row, version: 1, start_step_id: 'intake', published_at: at(0), stream_revision: '0' }
    expect(versions).toEqual([
      { ...one, steps: lesionSteps },
      { ...two, steps: lesionSteps },
    ])
  })

  it('has the step at which an instance waits, and the latest output of each step', async () => {
    expect(await rowsOf(...begun)).toMatchObject({ workflow_instances: [instance], workflow_outputs: [] })
    const again = instanceFact('WorkflowStepAdvanced', { output: { answers: { note: 'later' } }, advancedAt: at(3) })
    const rows = await rowsOf(...begun, instanceFact('WorkflowStepAdvanced'), again)
    expect(rows['workflow_instances']).toEqual([
      { ...instance, ...left, state: 'running', updated_at: at(3), stream_revision: '3' },
    ])
    expect(rows['workflow_outputs']).toEqual([{ ...output, output: { answers: { note: 'later' } } }])
  })

  it('has another revision alone after an advance that was not needed', async () => {
    const { workflow_instances: rows } = await rowsOf(...begun, instanceFact('WorkflowAdvanceUnneeded'))
    expect(rows).toEqual([{ ...instance, stream_revision: '2' }])
  })

  it('has no answers of an erased patient', async () => {
    const erased = [
      instanceFact('WorkflowStepAdvanced', { output: null }),
      instanceFact('WorkflowOutputProduced', { values: null }),
    ]
    expect((await rowsOf(...begun, ...erased))['workflow_outputs']).toEqual([
      { ...output, step_id: 'assessed', output: null },
      { ...output, output: null },
    ])
  })

  it.each([
    ['WorkflowInstanceCompleted', { state: 'completed', updated_at: at(20) }],
    ['WorkflowInstanceFailed', { state: 'failed', failure_code: 'no-next-step', updated_at: at(3) }],
    ['WorkflowInstanceCancelled', { state: 'cancelled', updated_at: at(5) }],
  ] as const)('has the end of an instance after %s', async (type, members) => {
    const { workflow_instances: rows } = await rowsOf(...begun, instanceFact(type))
    expect(rows).toEqual([{ ...instance, ...left, ...members, stream_revision: '2' }])
  })

  it('has the assessment of an instance', async () => {
    const story = [instanceFact('WorkflowAssessmentRequested'), instanceFact('WorkflowAssessmentAssigned')]
    const { workflow_instances: rows } = await rowsOf(...begun, ...story)
    const waiting = { ...left, state: 'running', assessment_id: ids.assessment, updated_at: at(4) }
    expect(rows).toEqual([{ ...instance, ...waiting, stream_revision: '3' }])
  })
})
