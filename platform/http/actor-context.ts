import { Type, type Static, type TSchema } from 'typebox'
import { Check } from 'typebox/schema'
import { problem } from './problems.ts'
import { Nullable } from './members.ts'

/** The claims of X-Actor-Context that the platform uses (spec 2.4), without names and addresses. */
export interface ActorContext {
  /** Any text, possibly an e-mail address. Never stored unencrypted, never logged. */
  readonly userId: string
  readonly orgId: string
  readonly userType: string | null
  readonly role: string | null
  readonly permissions: ReadonlySet<string>
  readonly productIds: readonly string[]
}

/** The user and the organisation that an actor context names. */
export type SelectedActor = Pick<ActorContext, 'userId' | 'orgId'>

const shortText = Type.String({ minLength: 1, maxLength: 255 })

const selection = { user_id: shortText, org_id: shortText }
const SelectingClaims = Type.Object(selection)

/** Future claims are optional, and unknown ones are ignored (spec section 9, rule 5). */
const ActorClaims = Type.Object({
  ...selection,
  user_type: Type.Optional(shortText),
  role: Type.Optional(Nullable(shortText)),
  permissions: Type.Array(shortText, { maxItems: 1000 }),
  product_ids: Type.Optional(Type.Array(shortText, { maxItems: 1000 })),
})

/** Characters of X-Actor-Context. */
export const longestActorContext = 8192
const compactJwt = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)$/

/** Reads the payload of a compact JWT and ignores its signature (mode `trust`). Throws `actor-context-invalid`. */
export function readActorContext(header: string): ActorContext {
  const claims = readClaims(ActorClaims, header)
  return {
    userId: claims.user_id,
    orgId: claims.org_id.toLowerCase(),
    userType: claims.user_type ?? null,
    role: claims.role ?? null,
    permissions: new Set(claims.permissions),
    productIds: claims.product_ids ?? [],
  }
}

/** Reads only what the context selects (mode `resolve`). Throws `actor-context-invalid`. */
export function readSelectedActor(header: string): SelectedActor {
  const claims = readClaims(SelectingClaims, header)
  return { userId: claims.user_id, orgId: claims.org_id.toLowerCase() }
}

function readClaims<Claims extends TSchema>(schema: Claims, header: string): Static<Claims> {
  const payload = header.length > longestActorContext ? undefined : compactJwt.exec(header)?.[2]
  const claims = payload === undefined ? undefined : parsed(payload)
  if (!Check(schema, claims)) throw problem('actor-context-invalid')
  return claims
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(payload, 'base64url')))
  } catch {
    return undefined
  }
}
