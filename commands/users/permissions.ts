import { v5 } from 'uuid'
import { firstSegmentOf, type PermissionsState } from '../../streams/permission/aggregate.ts'
import type { PermissionEvent } from '../../streams/permission/events.ts'
import { refused, type Decision } from '../handling/decision.ts'

/** Permissions of the platform itself. They have two segments, so no service can register them. */
export const platformPermissions = [
  { permission: 'auth:admin', description: 'Administer clients and their secrets' },
  { permission: 'consents:admin', description: 'Administer consent types and their texts' },
  { permission: 'human-review:admin', description: 'Set the policy of human review' },
  { permission: 'human-review:decide', description: 'Claim and decide tasks of human review' },
  { permission: 'notifications:admin', description: 'Administer notifications' },
  { permission: 'users:admin', description: 'Administer users, memberships and roles' },
] as const

export interface RegisterPermissions {
  readonly serviceId: string
  /** Null: the platform registers for its own services. */
  readonly clientId: string | null
  readonly permissions: readonly { readonly permission: string; readonly description: string | null }[]
  readonly changedBy: string
  readonly now: Date
}

const permissionIds = '0e6f5a0b-7f4c-5e8e-9b64-0d5c3fd2a9c1'

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
  const listed = permissions.map((one) => ({ ...one, permissionId: v5(one.permission, permissionIds) }))
  const created = listed.filter(({ permission }) => !state.permissions.has(permission))
  const updated = listed.filter(({ permission, description }) => {
    const known = state.permissions.get(permission)
    return known !== undefined && known.description !== description
  })
  if (created.length + updated.length === 0) return []
  return [{ type: 'PermissionsRegistered', data: { ...command, created, updated, registeredAt: now.toISOString() } }]
}
