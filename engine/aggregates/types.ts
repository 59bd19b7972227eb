import { Type, type Static, type TSchema } from 'typebox'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { Internal } from '../store/schema.ts'

/** Members that several events share. */
export const Id = Type.String({ format: 'uuid' })
/** The organisation that owns the record. */
export const OrgId = Type.Unsafe<TenantId>(Id)
/** RFC 3339, UTC, milliseconds, `Z`. The years have the same form in Postgres and JavaScript. */
export const Instant = Type.String({
  format: 'date-time',
  pattern: '^(?:18[5-9]|19\\d|[2-9]\\d\\d)\\d-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
})
/** The range of a Postgres integer. */
export const Int32 = Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647 })
export const Count = Type.Integer({ minimum: 0, maximum: 2_147_483_647 })
export const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })

export function Nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}

/**
 * HMAC fingerprint of the request that caused the event, if the request had an Idempotency-Key. The key itself is not
 * stored: the event's id derives from it.
 */
export const Fingerprint = Internal(Nullable(Sha256))

/**
 * The Idempotency-Key and the body's fingerprint of a request that caused an event on an existing stream. Both are
 * HMACs. Null without a key.
 */
export const CausingRequest = Internal(Nullable(Type.Object({ key: Sha256, fingerprint: Sha256 })))
export type CausingRequest = Static<typeof CausingRequest>

/** Place of the bytes in the object store, and their expected hash. */
export const StoredObject = Type.Object({
  key: Type.String(),
  sha256: Sha256,
  bytes: Type.Integer({ minimum: 0 }),
})
export type StoredObject = Static<typeof StoredObject>
