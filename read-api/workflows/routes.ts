import { Type } from 'typebox'
import {
  toWorkflowDefinitionRecord,
  toWorkflowDefinitionSummary,
  WorkflowDefinitionRecord,
  WorkflowDefinitionSummary,
} from '../../contracts/workflows/definition.ts'
import {
  toWorkflowInstanceRecord,
  toWorkflowInstanceSummary,
  WorkflowInstanceRecord,
  WorkflowInstanceSummary,
} from '../../contracts/workflows/instance.ts'
import { Uuid } from '../../platform/http/members.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { workflowsProjector } from '../../projections/workflows/workflows.projector.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { atRevision, readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import {
  getWorkflowDefinition,
  getWorkflowInstance,
  getWorkflowVersion,
  listWorkflowDefinitions,
  listWorkflowInstances,
  placeOfDefinition,
  placeOfInstance,
} from './queries.ts'

const shared = { access: { scopes: ['orchestrator:read'] }, servedBy: [workflowsProjector] } as const

export function workflowReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool } = deps

  readRoute(app, {
    ...shared,
    path: '/workflow-definitions/:id',
    operationId: 'getWorkflowDefinition',
    summary: 'A workflow definition, in its newest version or a given one',
    params: { id: Uuid },
    query: { version: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })) },
    reply: WorkflowDefinitionRecord,
    find: async ({ tenant, params, query }) => {
      const definition =
        query.version === undefined
          ? await getWorkflowDefinition(pool, tenant, params.id)
          : await getWorkflowVersion(pool, tenant, params.id, query.version)
      return atRevision(definition, toWorkflowDefinitionRecord)
    },
  })

  listRoute(app, deps, {
    ...shared,
    path: '/workflow-definitions',
    operationId: 'listWorkflowDefinitions',
    summary: 'The newest versions of all workflow definitions without their steps, the last published one first',
    list: 'workflow-definitions',
    sort: '-created_at',
    pageName: 'WorkflowDefinitionPage',
    item: WorkflowDefinitionSummary,
    rows: ({ tenant }, page) => listWorkflowDefinitions(pool, tenant, page),
    placeOf: placeOfDefinition,
    toItem: toWorkflowDefinitionSummary,
  })

  readRoute(app, {
    ...shared,
    path: '/workflow-instances/:id',
    operationId: 'getWorkflowInstance',
    summary: 'A workflow instance, with the step that it waits at and the outputs of its steps',
    params: { id: Uuid },
    reply: WorkflowInstanceRecord,
    shows: (_, { patientId }) => ({ patientId }),
    find: async ({ tenant, params }) => {
      const view = await getWorkflowInstance(deps, tenant, params.id)
      return { ...atRevision(view, toInstanceRecord), patientId: view.patientId }
    },
  })

  listRoute(app, deps, {
    ...shared,
    path: '/workflow-instances',
    operationId: 'listWorkflowInstances',
    summary:
      'Workflow instances of the organisation, of a case or in a state, without outputs and configurations, newest first',
    query: { case_id: Type.Optional(Uuid), state: Type.Optional(WorkflowInstanceRecord.properties.state) },
    list: 'workflow-instances',
    sort: '-created_at',
    pageName: 'WorkflowInstancePage',
    item: WorkflowInstanceSummary,
    rows: ({ tenant, filters }, page) => listWorkflowInstances(pool, tenant, filters, page),
    placeOf: (row) => placeOfInstance(row),
    about: ({ patientId }) => patientId,
    toItem: (row) => toWorkflowInstanceSummary({ ...row, parkedStep: parkedStepOf(row) }),
  })
}

type InstanceView = Awaited<ReturnType<typeof getWorkflowInstance>>

function toInstanceRecord(view: InstanceView): WorkflowInstanceRecord {
  const step = parkedStepOf(view)
  const parkedStep = step === null || view.parkedStepConfig === null ? null : { ...step, config: view.parkedStepConfig }
  return toWorkflowInstanceRecord({ ...view, parkedStep })
}

function parkedStepOf({
  parkedStepId,
  parkedStepKind,
  parkedAt,
}: Pick<InstanceView, 'parkedStepId' | 'parkedStepKind' | 'parkedAt'>): WorkflowInstanceSummary['parked_step'] {
  const isParked = parkedStepId !== null && parkedStepKind !== null && parkedAt !== null
  return isParked ? { step_id: parkedStepId, kind: parkedStepKind, parked_at: parkedAt } : null
}
