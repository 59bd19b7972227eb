import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { toRecord } from '../../engine/reads/records.ts'
import type { SigningKey } from '../../platform/vault/signing-keys.ts'
import { UserType, type PractitionerProfile } from '../../streams/user/events.ts'

const nullableText = Nullable(Type.String())

/** Claims of an actor context (specification 2.4). Nullable members are null where the user has no such value. */
const claims = {
  user_id: Uuid,
  external_user_id: Type.String(),
  display_name: nullableText,
  user_type: UserType,
  org_id: Uuid,
  role: Type.String({ description: 'Name of the role' }),
  permissions: Type.Array(Type.String()),
  product_ids: Type.Array(Type.String()),
  practitioner: Type.Optional(
    Type.Object({
      professional_id: nullableText,
      professional_id_type: nullableText,
      speciality: nullableText,
    }),
  ),
}
export const ContextClaims = Type.Object(claims)
export type ContextClaims = Static<typeof ContextClaims>

export const ActorContextRecord = Type.Object(
  {
    ...claims,
    issued_at: Instant,
    expires_at: Instant,
    token: Type.String({ description: 'The same claims as a signed token, for X-Actor-Context. At most 8 KiB' }),
  },
  { $id: 'ActorContextRecord' },
)
export type ActorContextRecord = Static<typeof ActorContextRecord>

/** Keys that sign actor contexts. All are published (`/v1/auth/.well-known/jwks.json`). */
export interface ContextKeys {
  signingKey(purpose: 'actor-context'): Promise<Pick<SigningKey, 'kid' | 'privateKey'>>
}

interface UserOfContext {
  readonly userId: string
  readonly externalId: string
  readonly displayName: string | null
  readonly userType: UserType
  readonly practitionerProfile: PractitionerProfile | null
}

interface MembershipOfContext {
  readonly organisationId: string
  readonly roleName: string
  readonly permissions: readonly string[]
  readonly products: readonly string[]
}

export function toContextClaims(user: UserOfContext, membership: MembershipOfContext): ContextClaims {
  const profile = user.practitionerProfile
  return toRecord(ContextClaims, {
    ...user,
    externalUserId: user.externalId,
    orgId: membership.organisationId,
    role: membership.roleName,
    permissions: membership.permissions,
    productIds: membership.products,
    practitioner:
      profile === null
        ? undefined
        : {
            professional_id: profile.professionalId,
            professional_id_type: profile.professionalIdType,
            speciality: profile.speciality,
          },
  })
}
