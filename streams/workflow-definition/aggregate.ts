import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { GrowingMap } from '../../engine/aggregates/growing-map.ts'
import { workflowDefinitionEvents, type WorkflowDefinitionEvent } from './events.ts'

interface KeyedVersion {
  readonly version: number
  readonly fingerprint: string
}

/** The steps of the versions stay out: `commands/workflows/definitions.ts` reads them one version at a time. */
export type WorkflowDefinitionState =
  | { readonly status: 'absent' }
  | {
      readonly status: 'published'
      readonly name: string
      /** The newest one. */
      readonly version: number
      /** By the key of the request that published it. */
      readonly keyed: GrowingMap<KeyedVersion>
    }

function evolve(state: WorkflowDefinitionState, { data }: WorkflowDefinitionEvent): WorkflowDefinitionState {
  const { name, version, request } = data
  const keyed = state.status === 'absent' ? new GrowingMap<KeyedVersion>() : state.keyed
  const { key, fingerprint } = request ?? {}
  const isKeyed = key !== undefined && fingerprint !== undefined
  return { status: 'published', name, version, keyed: isKeyed ? keyed.with(key, { version, fingerprint }) : keyed }
}

/** All versions with one name. The id of the stream follows from organisation and name. */
export const workflowDefinitions = defineAggregate({
  category: 'workflow_definition',
  id: idOfOrganisation,
  events: workflowDefinitionEvents,
  initialState: { status: 'absent' },
  evolve,
})
