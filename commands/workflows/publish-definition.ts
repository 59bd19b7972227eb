import type { PublishedDefinition, WorkflowDefinitionEvent } from '../../streams/workflow-definition/events.ts'
import type { WorkflowDefinitionState } from '../../streams/workflow-definition/aggregate.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'

export interface PublishDefinition extends Omit<PublishedDefinition, 'version' | 'publishedAt'> {
  readonly now: Date
}

/** Each publication is a new version, also of the same content. Only a repeat with the same key adds none. */
export function publishDefinition(
  { now, ...definition }: PublishDefinition,
  state: WorkflowDefinitionState,
): Decision<WorkflowDefinitionEvent, 'idempotency-key-reused'> {
  const earlier = versionOf(definition, state)
  if (earlier !== undefined)
    return earlier.fingerprint === definition.request?.fingerprint ? [] : refused('idempotency-key-reused')
  const version = state.status === 'absent' ? 1 : state.version + 1
  return [{ type: 'WorkflowDefinitionPublished', data: { ...definition, version, publishedAt: now.toISOString() } }]
}

/** The version that the request published before. */
export function versionOf({ request }: Pick<PublishDefinition, 'request'>, state: WorkflowDefinitionState) {
  return request === null || state.status === 'absent' ? undefined : state.keyed.get(request.key)
}
