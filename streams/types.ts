import type { TenantId } from '../platform/kit/tenants.ts'
import { Type, type Static, type TSchema } from 'typebox'

/** Members that recur in events. */
export const Id = Type.String({ format: 'uuid' })
/** The organisation that owns the fact. */
export const OrgId = Type.Unsafe<TenantId>(Id)
/** RFC 3339, UTC, milliseconds, `Z`; years that Postgres and JavaScript keep alike. */
export const Instant = Type.String({
  format: 'date-time',
  pattern: '^(?:18[5-9]|19\\d|[2-9]\\d\\d)\\d-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
})
/** What a Postgres integer holds. */
export const Int32 = Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647 })
export const Count = Type.Integer({ minimum: 0, maximum: 2_147_483_647 })
export const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })

export function Nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}

/**
 * HMAC fingerprint of the request that caused the event, when it carried an Idempotency-Key. The key itself is
 * not kept: it fixed the id that the event stands under.
 */
export const Fingerprint = Nullable(Sha256)

/**
 * The Idempotency-Key of the request that caused an event on a stream that was there before, and the fingerprint of its
 * body; both are HMACs. Null without a key.
 */
export const CausingRequest = Nullable(Type.Object({ key: Sha256, fingerprint: Sha256 }))
export type CausingRequest = Static<typeof CausingRequest>

/** Where bytes lie in the object store, and what they must hash to. */
export const StoredObject = Type.Object({
  key: Type.String(),
  sha256: Sha256,
  bytes: Type.Integer({ minimum: 0 }),
})
export type StoredObject = Static<typeof StoredObject>

/** How an image was taken, as the AI review and its provider name it. */
export const ImageType = Type.Enum(['DERMOSCOPIC', 'MACROSCOPIC'])
export type ImageType = Static<typeof ImageType>

export const CodedTerm = Type.Object({ code: Nullable(Type.String()), term: Nullable(Type.String()) })
