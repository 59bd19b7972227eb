import { Type } from 'typebox'
import { ChangedBy } from '../organisation-roles/events.ts'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Id, Instant, Nullable } from '../../engine/aggregates/types.ts'

const Registered = Type.Object({ permissionId: Id, permission: Type.String(), description: Nullable(Type.String()) })

export const permissionEvents = {
  /** New permissions, and known ones with a new description. */
  PermissionsRegistered: defineEvent(
    'PermissionsRegistered',
    Type.Object({
      serviceId: Type.String(),
      /** The client that registered first for the service. Only this client registers again. Null: the platform itself. */
      clientId: Nullable(Id),
      created: Type.Array(Registered),
      updated: Type.Array(Registered),
      registeredAt: Instant,
      changedBy: ChangedBy,
    }),
  ),
} as const

export type PermissionEvent = EventOf<typeof permissionEvents>
