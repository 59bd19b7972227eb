import { defineProjector, defineTable } from '../../engine/projections/projector.ts'
import { upsertRow } from '../../engine/projections/row-changes.ts'
import {
  FailureOfWork,
  OperatorAction,
  OperatorActor,
  ProjectionOrder,
  type OperationsEvent,
} from '../../streams/operations/events.ts'

export const operatorActionsTable = defineTable({
  name: 'actions',
  columns: {
    action_id: 'uuid',
    at: 'timestamptz',
    action: { type: 'text', values: OperatorAction.enum },
    actor_kind: { type: 'text', values: OperatorActor.properties.kind.enum },
    actor_id: { type: 'text', nullable: true },
    subject_kind: 'text',
    subject_id: 'text',
    reason: { type: 'text', nullable: true },
    count: 'integer',
    /** What a retry takes. A retry whose process died after the event is carried out from here. */
    failure: { type: 'jsonb', nullable: true, schema: FailureOfWork },
    /** What is done to a read model, for the same reason. */
    projection: { type: 'jsonb', nullable: true, schema: ProjectionOrder },
    retried_org_id: { type: 'uuid', nullable: true },
  },
  primaryKey: ['action_id'],
  indexes: [{ columns: ['at', 'action_id'] }, { columns: ['action', 'at'] }],
})

/** What operators did. */
export const operatorActionsProjector = defineProjector<OperationsEvent>()({
  name: 'operator_actions',
  version: 2,
  tables: [operatorActionsTable],
  handlers: {
    OperatorActionRecorded: ({ data }) => {
      const { actor, subject, retried, ...action } = data
      return [
        upsertRow(operatorActionsTable, {
          ...action,
          actorKind: actor.kind,
          actorId: actor.id,
          subjectKind: subject.kind,
          subjectId: subject.id,
          failure: retried?.failure ?? null,
          retriedOrgId: retried?.orgId ?? null,
        }),
      ]
    },
  },
})
