import { problem, Problem } from '../../platform/http/problems.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import type { CommandDependencies } from './dependencies.ts'
import type { KeyedRequest } from './keyed-request.ts'
import { reserve, reservationsOf } from './reservations.ts'

export interface KeyOwner {
  readonly orgId: TenantId
  readonly ownerId: string
  readonly ownerStream: string
  /** Whether the create that claimed the key got as far as its own append. */
  readonly hasHappened: () => Promise<boolean>
}

/**
 * Runs a create that its Idempotency-Key cannot fix by an id of its own, because the id follows from a natural key or
 * because an existing record may be the answer. The key is claimed with the fingerprint first, and given back when the
 * create is refused, since no refusal is ever pinned to a key.
 *
 * @throws Problem `idempotency-key-reused` when the key stands for another request
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
    // A request that came to nothing had claimed the key (a crash between the two): it pins nothing.
    await reserved.release()
    reserved = await reserve(reservationsOf(deps), request, context)
  }
  if (reserved.kind === 'held' || reserved.fingerprint !== keyed.fingerprint) throw problem('idempotency-key-reused')
  try {
    const result = await create()
    await reserved.confirm()
    return result
  } catch (error) {
    // After an unknown outcome the claim stays: the create may have happened, and the repeat will find out.
    if (reserved.isNew && error instanceof Problem) await reserved.release()
    throw error
  }
}
