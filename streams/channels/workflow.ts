import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Id } from '../../engine/aggregates/types.ts'
import { WorkflowName } from '../workflow-definition/steps.ts'
import { WorkflowFailureCode } from '../workflow-instance/events.ts'
import { defineChannelStream, publicData } from '../../engine/aggregates/channel-stream.ts'

const instance = {
  org_id: Id,
  workflow_instance_id: Id,
  workflow_definition_id: Id,
  definition_version: Type.Integer({ minimum: 1 }),
  case_id: Id,
}

/** Stream of the public workflow events. They contain ids of the definition, and no answers. */
export const workflowChannelStream = defineChannelStream({
  name: 'workflow.events',
  organisationMember: 'org_id',
  events: {
    started: defineEvent('workflow.instance.started', publicData({ ...instance, state: Type.Literal('running') })),
    parked: defineEvent(
      'workflow.instance.parked',
      publicData({ ...instance, state: Type.Literal('parked'), step_id: WorkflowName }),
    ),
    completed: defineEvent(
      'workflow.instance.completed',
      publicData({ ...instance, state: Type.Literal('completed'), step_id: WorkflowName }),
    ),
    failed: defineEvent(
      'workflow.instance.failed',
      publicData({
        ...instance,
        state: Type.Literal('failed'),
        step_id: WorkflowName,
        error_code: WorkflowFailureCode,
      }),
    ),
    cancelled: defineEvent(
      'workflow.instance.cancelled',
      publicData({ ...instance, state: Type.Literal('cancelled') }),
    ),
  },
})

export type WorkflowChannelEvent = EventOf<typeof workflowChannelStream.events>
