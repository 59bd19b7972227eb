import type { FastifyRequest } from 'fastify'
import { v7 } from 'uuid'
import { fingerprintBody, idempotencyOf, idempotentId } from '../../platform/http/idempotency.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import type { CausingRequest } from '../aggregates/types.ts'

/** Problems of the Idempotency-Key of any keyed POST. */
export const keyProblems = ['idempotency-key-invalid', 'idempotency-key-reused'] as const

/**
 * The identity of a POST, and of the record that it creates. With a key, `id`, `identity` and `causing` are computed at
 * each read, because most routes need only some of them.
 */
export interface KeyedRequest {
  /** Derived from the Idempotency-Key, so that a repeat finds the record. Without a key it is new. */
  readonly id: string
  /** HMAC of the body, null without a key. */
  readonly fingerprint: string | null
  readonly isKeyed: boolean
  /** The id of another record that the same request creates. */
  readonly idOf: (part: string) => string
  /** The key with its scope, as the name of a claim; null without a key. */
  readonly reservedKey: string | null
  /**
   * HMAC of key and body together, null without a key. It distinguishes requests if the key does not determine the id.
   */
  readonly identity: string | null
  /** Recorded in the event that a POST appends to an existing stream. */
  readonly causing: CausingRequest
}

/**
 * @param body the content of the fingerprint, with hash and length in place of image bytes
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
  const reservedKey = `idempotency\0${idempotency.scopeId}\0${idempotency.key}`
  const fingerprint = fingerprintBody(body, (bytes) => vault.fingerprint(bytes))
  return {
    get id() {
      return idempotentId(idempotency)
    },
    fingerprint,
    isKeyed: true,
    idOf: (part) => idempotentId(idempotency, part),
    reservedKey,
    get identity() {
      return vault.fingerprint(`${reservedKey}\0${fingerprint}`)
    },
    get causing() {
      return { key: vault.fingerprint(reservedKey), fingerprint }
    },
  }
}

/** A request without a key. All its ids are new. */
export function unkeyedRequest(): KeyedRequest {
  return {
    id: v7(),
    fingerprint: null,
    isKeyed: false,
    idOf: () => v7(),
    reservedKey: null,
    identity: null,
    causing: null,
  }
}
