import { describe, expect, it } from 'vitest'
import { workflowChannel } from '../../../processes/workflows/workflows.channel.ts'
import { workflowInstances } from '../../../streams/workflow-instance/aggregate.ts'
import type { WorkflowInstanceEvent } from '../../../streams/workflow-instance/events.ts'
import type { DomainEvent } from '../../../engine/store/events.ts'
import { recorded } from '../../support/given-projector.ts'
import { ids } from '../../streams/facts.ts'
import { instanceFact } from '../../streams/workflow-facts.ts'
import { storeOf } from '../../support/store-of.ts'

const { stream } = workflowInstances.of(ids.org, ids.workflowInstance)
const begun = instanceFact('WorkflowInstanceStarted')

async function published(event: DomainEvent, story: readonly WorkflowInstanceEvent[] = [begun]) {
  const [stored] = recorded([{ ...event, stream }])
  if (stored === undefined) throw new Error('no event')
  const store = storeOf(story.map((one) => ({ ...one, stream })))
  return (await workflowChannel.translate[event.type]?.(stored, { store })) ?? []
}

const instance = {
  workflow_instance_id: ids.workflowInstance,
  workflow_definition_id: ids.workflowDefinition,
  definition_version: 1,
  case_id: ids.case,
}

describe('the workflow channel', () => {
  it.each([
    ['workflow.instance.started', begun, { state: 'running' }],
    ['workflow.instance.parked', instanceFact('WorkflowStepParked'), { state: 'parked', step_id: 'intake' }],
    [
      'workflow.instance.completed',
      instanceFact('WorkflowInstanceCompleted'),
      { state: 'completed', step_id: 'assessed' },
    ],
    [
      'workflow.instance.failed',
      instanceFact('WorkflowInstanceFailed'),
      { state: 'failed', step_id: 'is-changed', error_code: 'no-next-step' },
    ],
    ['workflow.instance.cancelled', instanceFact('WorkflowInstanceCancelled'), { state: 'cancelled' }],
  ] as const)('publishes %s', async (type, event, members) => {
    expect(await published(event)).toEqual([
      { type, data: { ...instance, ...members }, occurredAt: expect.any(String), schemaVersion: 1 },
    ])
  })

  it.each([
    'WorkflowStepAdvanced',
    'WorkflowAdvanceUnneeded',
    'WorkflowOutputProduced',
    'WorkflowAssessmentRequested',
    'WorkflowAssessmentAssigned',
  ] as const)('publishes nothing for %s', async (type) => {
    expect(await published(instanceFact(type))).toEqual([])
  })

  it('stops at an instance that was never started', async () => {
    await expect(published(instanceFact('WorkflowStepParked'), [])).rejects.toThrow('lacks the events before it')
  })
})
