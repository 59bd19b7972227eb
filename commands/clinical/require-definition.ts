import { invalidMember } from '../../platform/http/problems.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { workflowDefinitions } from '../../streams/workflow-definition/aggregate.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'

/**
 * The newest version of the definition in the member `workflow_definition_id` of a body.
 * @throws Problem `workflow-definition-not-found`, also for a definition of another organisation
 */
export async function requireDefinition(
  { store }: Pick<CommandDependencies, 'store'>,
  orgId: TenantId,
  definitionId: string,
): Promise<number> {
  const { state } = await store.load(workflowDefinitions.of(orgId, definitionId.toLowerCase()))
  if (state.status === 'published') return state.version
  const detail = 'is not a workflow definition of the organisation'
  throw invalidMember('/workflow_definition_id', detail, 'unknown-workflow-definition', 'workflow-definition-not-found')
}
