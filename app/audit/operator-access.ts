import type { AccessLog, Persons } from '../../platform/http/shown-content.ts'
import type { PersonalCategory } from '../../platform/kit/personal-content.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

interface Shown {
  readonly orgId: TenantId
  readonly persons: Persons
  readonly categories: readonly PersonalCategory[]
  /** The operation that shows the same over HTTP. */
  readonly operation: string
}

/** Records what a command of the operator is about to print. Nothing if it shows no person. */
export async function recordOperatorAccess(
  accessLog: AccessLog,
  { orgId, persons: { patientId, userId }, categories, operation }: Shown,
): Promise<void> {
  if (typeof patientId !== 'string' && userId === undefined) return
  await accessLog.record({
    orgId,
    clientId: null,
    userId: null,
    patientIds: typeof patientId === 'string' ? [patientId] : [],
    subjectUserId: userId ?? null,
    categories: [...categories],
    operation,
    purpose: null,
    requestId: null,
    sourceAddress: null,
  })
}
