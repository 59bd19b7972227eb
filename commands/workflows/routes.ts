import { toWorkflowDefinitionRecord, WorkflowDefinitionRecord } from '../../contracts/workflows/definition.ts'
import { requireValid } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { workflowsProjector } from '../../projections/workflows/workflows.projector.ts'
import { workflowDefinitions } from '../../streams/workflow-definition/aggregate.ts'
import { created } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { onceByKey } from '../../engine/commands/once-by-key.ts'
import { advanceRoute } from './advance-route.ts'
import { PublishDefinitionBody, wholeSteps } from './bodies.ts'
import { definitionErrors } from './definition-errors.ts'
import { definitionAt, definitionIdOf } from './definitions.ts'
import { instanceWriteRoutes } from './instance-routes.ts'
import { publishDefinition, versionOf } from './publish-definition.ts'

/** The orchestrator: definitions of workflows, and their instances. */
export function workflowWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  instanceWriteRoutes(app, deps)
  advanceRoute(app, deps)

  commandRoute(app, deps, {
    method: 'POST',
    path: '/workflow-definitions',
    operationId: 'publishWorkflowDefinition',
    summary: 'Publish a workflow definition, or the next version of the one with this name',
    description:
      'All versions of a name share the id. A version never changes. Instances keep the version that they started with. Put no patient data into a definition.',
    access: { scopes: ['orchestrator:write'] },
    body: PublishDefinitionBody,
    hasEtag: true,
    reply: created(WorkflowDefinitionRecord, ({ id, version }) => `/workflow-definitions/${id}?version=${version}`),
    readBy: [workflowsProjector],
    handle: async ({ tenant, body, keyed, now, context, run }) => {
      const steps = wholeSteps(body.steps)
      requireValid(definitionErrors({ startStepId: body.start_step_id, steps }))
      const command = {
        workflowDefinitionId: definitionIdOf(tenant, body.name),
        organisationId: tenant,
        name: body.name,
        startStepId: body.start_step_id,
        steps,
        request: keyed.causing,
        now,
      }
      const target = workflowDefinitions.of(tenant, command.workflowDefinitionId)
      const hasHappened = async () => versionOf(command, (await deps.store.load(target)).state) !== undefined
      const owner = {
        orgId: tenant,
        ownerId: command.workflowDefinitionId,
        ownerStream: target.stream,
        hasHappened,
      }
      const done = await onceByKey(deps, keyed, owner, context, () =>
        run(target, (state) => publishDefinition(command, state)),
      )
      // A repeat gets the version that its first request published, also after later ones.
      const version = versionOf(command, done.state)?.version ?? done.state.version
      const definition = await definitionAt(deps.store, tenant, command.workflowDefinitionId, version)
      return { ...done, record: toWorkflowDefinitionRecord(definition), revision: BigInt(version - 1) }
    },
  })
}
