import { defineAggregate } from '../../engine/aggregates/aggregate.ts'
import { permissionEvents, type PermissionEvent } from './events.ts'

type Registered = Extract<PermissionEvent, { type: 'PermissionsRegistered' }>['data']['created'][number]

export interface RegisteredPermission extends Registered {
  readonly serviceId: string
  readonly createdAt: string
  readonly updatedAt: string
}

export interface PermissionsState {
  /** By the text of the permission. */
  readonly permissions: ReadonlyMap<string, RegisteredPermission>
  /** The client that registered each service first; null for a service of the platform. */
  readonly owners: ReadonlyMap<string, string | null>
  /** The service that owns each first segment of a permission. */
  readonly segments: ReadonlyMap<string, string>
}

export function firstSegmentOf(permission: string): string {
  return permission.slice(0, permission.indexOf(':'))
}

function evolve(state: PermissionsState, { data }: PermissionEvent): PermissionsState {
  const { serviceId, clientId, created, updated, registeredAt } = data
  const permissions = new Map(state.permissions)
  for (const one of [...created, ...updated]) {
    const createdAt = permissions.get(one.permission)?.createdAt ?? registeredAt
    permissions.set(one.permission, { ...one, serviceId, createdAt, updatedAt: registeredAt })
  }
  const segments = new Map(state.segments)
  for (const { permission } of created) segments.set(firstSegmentOf(permission), serviceId)
  const owners = state.owners.has(serviceId) ? state.owners : new Map(state.owners).set(serviceId, clientId)
  return { permissions, owners, segments }
}

/** One stream for the installation. It decides the owner of a service's name and of a permission's first segment. */
export const permissions = defineAggregate({
  category: 'permission',
  id: () => 'platform',
  events: permissionEvents,
  initialState: { permissions: new Map(), owners: new Map(), segments: new Map() },
  evolve,
})
