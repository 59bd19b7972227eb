import { LRUCache } from 'lru-cache'
import { namedId } from '../../platform/kit/named-id.ts'
import { comparedName } from '../../platform/kit/compared-name.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { workflowDefinitions } from '../../streams/workflow-definition/aggregate.ts'
import type { PublishedDefinition, WorkflowDefinitionEvent } from '../../streams/workflow-definition/events.ts'
import type { WorkflowStep } from '../../streams/workflow-definition/steps.ts'

/** One version of a definition. */
export interface WorkflowDefinition extends PublishedDefinition {
  readonly stepsById: ReadonlyMap<string, WorkflowStep>
}

/** The id of all versions with this name. It follows from the name, so the stream decides the number of a version. */
export function definitionIdOf(orgId: TenantId, name: string): string {
  return namedId(`workflow-definition\0${comparedName(name)}`, orgId)
}

/** Characters of all kept definitions of a store. */
const mostKept = 64 * 1024 * 1024

/** A version never changes, so what was read stays right. */
const kept = new WeakMap<object, LRUCache<string, WorkflowDefinition>>()

/** Reads one version. @throws Error if there is none: its number came from a stream. */
export async function definitionAt(
  store: Pick<EventStore, 'readStream'>,
  orgId: TenantId,
  definitionId: string,
  version: number,
): Promise<WorkflowDefinition> {
  const ofStore =
    kept.get(store) ??
    new LRUCache<string, WorkflowDefinition>({
      maxSize: mostKept,
      sizeCalculation: ({ steps }) => JSON.stringify(steps).length,
    })
  kept.set(store, ofStore)
  const { stream } = workflowDefinitions.of(orgId, definitionId)
  const key = `${stream} ${version}`
  const known = ofStore.get(key)
  if (known !== undefined) return known
  const place = BigInt(version - 1)
  for await (const { data } of store.readStream<WorkflowDefinitionEvent>(stream, { from: place, limit: 1 })) {
    const definition = { ...data, stepsById: new Map(data.steps.map((step) => [step.step_id, step])) }
    ofStore.set(key, definition)
    return definition
  }
  throw new Error(`${stream} has no version ${version}`)
}
