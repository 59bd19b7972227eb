import { firstSegmentOf, type PermissionsState } from '../../streams/permission/aggregate.ts'
import type { PermissionEvent } from '../../streams/permission/events.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'

/** Permissions of the platform itself. They have two segments, so no service can register them. */
export const platformPermissions = [
  { permission: 'audit:export', description: 'Export everything about a patient' },
  { permission: 'audit:read', description: 'Read timelines, the access log and the sealed log' },
  { permission: 'audit:read-phi', description: 'Read personal content in timelines and in answers of the past' },
  { permission: 'auth:admin', description: 'Administer clients and their secrets' },
  { permission: 'consents:admin', description: 'Administer consent types and their texts' },
  { permission: 'human-review:admin', description: 'Set the policy of human review' },
  { permission: 'human-review:decide', description: 'Claim and decide tasks of human review' },
  { permission: 'notifications:admin', description: 'Administer notifications' },
  { permission: 'operations:read', description: 'See what operators see of the whole installation' },
  { permission: 'operations:write', description: 'Repair the installation as operators do' },
  { permission: 'patients:erase', description: 'Erase patients, and set legal holds' },
  { permission: 'users:admin', description: 'Administer users, memberships and roles' },
] as const

export interface RegisterPermissions {
  readonly serviceId: string
  /** Null: the platform registers for its own services. */
  readonly clientId: string | null
  /** A permission that is registered already keeps its id. */
  readonly permissions: readonly {
    readonly permissionId: string
    readonly permission: string
    readonly description: string | null
  }[]
  readonly changedBy: string
  readonly now: Date
}

/** The first registration binds the service to its client, and the first segment to the service. */
export function registerPermissions(
  { permissions, now, ...command }: RegisterPermissions,
  state: PermissionsState,
): Decision<PermissionEvent, 'service-owned-by-other-client' | 'permission-owned-by-other-service'> {
  const { serviceId, clientId } = command
  const owner = state.owners.get(serviceId)
  if (owner !== undefined && owner !== clientId) return refused('service-owned-by-other-client')
  const isForeign = permissions.some(({ permission }) => {
    const holder = state.segments.get(firstSegmentOf(permission))
    return holder !== undefined && holder !== serviceId
  })
  if (isForeign) return refused('permission-owned-by-other-service')
  const created = permissions.filter(({ permission }) => !state.permissions.has(permission))
  const updated = permissions.flatMap(({ permission, description }) => {
    const known = state.permissions.get(permission)
    if (known === undefined || known.description === description) return []
    return [{ permissionId: known.permissionId, permission, description }]
  })
  if (created.length + updated.length === 0) return []
  return [{ type: 'PermissionsRegistered', data: { ...command, created, updated, registeredAt: now.toISOString() } }]
}
