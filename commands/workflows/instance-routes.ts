import { WorkflowInstanceRecord } from '../../contracts/workflows/instance.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { workflowsProjector } from '../../projections/workflows/workflows.projector.ts'
import { workflowInstances, type ExistingInstance } from '../../streams/workflow-instance/aggregate.ts'
import { requireOpenCase } from '../clinical/require-open-case.ts'
import { changed, created } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { StartInstanceBody } from './bodies.ts'
import { definitionAt } from './definitions.ts'
import { cancelInstance, isCancelledBy } from './end-instance.ts'
import { requireDefinition } from '../clinical/require-definition.ts'
import { startInstance } from './start-instance.ts'
import { instanceRecordOf } from './views.ts'

const usual = {
  access: { scopes: ['orchestrator:write'] },
  hasEtag: true,
  readBy: [workflowsProjector],
} as const

export function instanceWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  const { store } = deps

  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/workflow-instances',
    operationId: 'startWorkflowInstance',
    summary: 'Start an instance of the newest version of a workflow definition, on an open case',
    body: StartInstanceBody,
    reply: created(WorkflowInstanceRecord, ({ id }) => `/workflow-instances/${id}`),
    problems: ['workflow-definition-not-found', 'case-not-found', 'case-closed', 'product-required', 'subject-erased'],
    handle: async ({ tenant, caller, body, keyed, now, run }) => {
      const target = { ...workflowInstances.of(tenant, keyed.id), isNew: true }
      const { state: known, revision, position } = keyed.isKeyed ? await store.load(target) : store.presume(target)
      // A repeat needs neither an open case nor the same newest version.
      if (known.status !== 'absent' && known.fingerprint === keyed.fingerprint)
        return {
          record: await recordOf(tenant, known),
          patientId: known.patientId,
          revision,
          events: [],
          reached: position,
        }

      const version = await requireDefinition(deps, tenant, body.workflow_definition_id)
      const opened = await requireOpenCase(deps, tenant, body.case_id)
      const command = {
        workflowInstanceId: keyed.id,
        organisationId: tenant,
        definition: await definitionAt(store, tenant, body.workflow_definition_id, version),
        caseId: opened.caseId,
        patientId: opened.patientId,
        productId: caller.productId ?? opened.productId,
        fingerprint: keyed.fingerprint,
        now,
      }
      const done = await run(target, (state) => startInstance(command, state))
      return { ...done, record: await recordOf(tenant, done.state), patientId: done.state.patientId }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/workflow-instances/:id/cancel',
    operationId: 'cancelWorkflowInstance',
    summary: 'Cancel a workflow instance that has not ended',
    description: 'An assessment that the instance has requested goes on.',
    ifMatch: 'stream',
    reply: changed(WorkflowInstanceRecord),
    shows: (_, { patientId }) => ({ patientId }),
    problems: ['workflow-instance-ended'],
    handle: async ({ tenant, params, keyed: { causing }, now, run }) => {
      const target = workflowInstances.of(tenant, params.id)
      const done = await run(target, (state) => cancelInstance({ request: causing, now }, state))
      const isReplayed = done.events.length === 0 && isCancelledBy(causing, done.state)
      const { patientId } = done.state
      return { ...done, record: await recordOf(tenant, done.state), patientId, isReplayed }
    },
  })

  async function recordOf(tenant: TenantId, state: ExistingInstance): Promise<WorkflowInstanceRecord> {
    const { workflowDefinitionId, definitionVersion } = state
    return instanceRecordOf(state, await definitionAt(store, tenant, workflowDefinitionId, definitionVersion))
  }
}
