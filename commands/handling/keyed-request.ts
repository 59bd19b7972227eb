import type { FastifyRequest } from 'fastify'
import { v7 } from 'uuid'
import { fingerprintBody, idempotencyOf, idempotentId } from '../../platform/http/idempotency.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import type { CausingRequest } from '../../streams/types.ts'

/** What the Idempotency-Key of any keyed POST may be refused with. */
export const keyProblems = ['idempotency-key-invalid', 'idempotency-key-reused'] as const

/** The identity of what a POST creates. */
export interface KeyedRequest {
  /** Fixed by the Idempotency-Key where there is one, so that a repeat meets what it created; else new. */
  readonly id: string
  /** HMAC of the body, null without a key. */
  readonly fingerprint: string | null
  readonly isKeyed: boolean
  /** The id of another thing that the same request creates. */
  readonly idOf: (part: string) => string
  /** The key with its scope, as the name of a claim; null without a key. */
  readonly claimName: string | null
  /** HMAC of key and body together, null without a key: tells requests apart whose id the key does not fix. */
  readonly identity: string | null
  /** For the event that a POST to an existing stream causes. */
  readonly causing: CausingRequest
}

/**
 * @param body what the fingerprint covers; image bytes replaced by hash and length
 * @throws Problem `idempotency-key-invalid`
 */
export function keyedRequest(
  request: FastifyRequest,
  orgId: TenantId | null,
  vault: Vault,
  body: unknown,
): KeyedRequest {
  const idempotency = idempotencyOf(request, orgId)
  if (idempotency === null) return unkeyedRequest()
  const claimName = `idempotency\0${idempotency.scopeId}\0${idempotency.key}`
  const fingerprint = fingerprintBody(body, (bytes) => vault.fingerprint(bytes))
  return {
    id: idempotentId(idempotency),
    fingerprint,
    isKeyed: true,
    idOf: (part) => idempotentId(idempotency, part),
    claimName,
    identity: vault.fingerprint(`${claimName}\0${fingerprint}`),
    causing: { key: vault.fingerprint(claimName), fingerprint },
  }
}

/** A request without a key: each of its ids is new. */
export function unkeyedRequest(): KeyedRequest {
  return {
    id: v7(),
    fingerprint: null,
    isKeyed: false,
    idOf: () => v7(),
    claimName: null,
    identity: null,
    causing: null,
  }
}
