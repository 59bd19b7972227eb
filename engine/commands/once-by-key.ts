import { problem, Problem } from '../../platform/http/problems.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import type { CommandDependencies } from './dependencies.ts'
import type { KeyedRequest } from './keyed-request.ts'
import { reserve, reservationsOf } from './reservations.ts'

export interface KeyOwner {
  readonly orgId: TenantId
  readonly ownerId: string
  readonly ownerStream: string
  /** Whether the create that claimed the key has appended its event. */
  readonly hasHappened: () => Promise<boolean>
}

/**
 * Runs a create whose id does not derive from its Idempotency-Key: the id derives from a natural key, or an existing
 * record may be the answer. It first claims the key, with the fingerprint. If the create is refused, it releases the
 * key, because a key never keeps a refusal.
 *
 * @throws Problem `idempotency-key-reused` if the key belongs to another request
 */
export async function onceByKey<Result>(
  deps: CommandDependencies,
  keyed: KeyedRequest,
  { hasHappened, ...owner }: KeyOwner,
  context: CommandContext,
  create: () => Promise<Result>,
): Promise<Result> {
  if (keyed.reservedKey === null) return create()
  const request = { ...owner, key: keyed.reservedKey, fingerprint: keyed.fingerprint }
  let reserved = await reserve(reservationsOf(deps), request, context)
  if (reserved.kind === 'reserved' && reserved.fingerprint !== keyed.fingerprint && !(await hasHappened())) {
    // A request claimed the key and crashed before its append. Its claim has no effect.
    await reserved.release()
    reserved = await reserve(reservationsOf(deps), request, context)
  }
  if (reserved.kind === 'held' || reserved.fingerprint !== keyed.fingerprint) throw problem('idempotency-key-reused')
  try {
    const result = await create()
    await reserved.confirm()
    return result
  } catch (error) {
    // After an unknown outcome the claim stays. The create may have happened, and a repeat checks this.
    if (reserved.isNew && error instanceof Problem) await reserved.release()
    throw error
  }
}
