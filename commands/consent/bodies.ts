import type { FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { Instant, Nullable, Text, Uuid } from '../../platform/http/members.ts'
import { problem } from '../../platform/http/problems.ts'

export const CreateConsentTypeBody = Type.Object(
  {
    organisationId: Type.Optional(Uuid),
    code: Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' }),
    displayName: Text(255),
    description: Type.Optional(Nullable(Type.String({ maxLength: 255 }))),
    legalBasis: Text(255),
    required: Type.Boolean(),
  },
  { $id: 'CreateConsentTypeBody', additionalProperties: false },
)
export type CreateConsentTypeBody = Static<typeof CreateConsentTypeBody>

/** Code and legal basis are no members: a type that stands on another basis is another type. */
export const UpdateConsentTypeBody = Type.Object(
  {
    displayName: Type.Optional(Text(255)),
    description: Type.Optional(Nullable(Type.String({ maxLength: 255 }))),
    required: Type.Optional(Type.Boolean()),
  },
  { $id: 'UpdateConsentTypeBody', additionalProperties: false },
)
export type UpdateConsentTypeBody = Static<typeof UpdateConsentTypeBody>

export const PublishTextVersionBody = Type.Object(
  {
    locale: Type.String({ minLength: 2, maxLength: 64, description: 'BCP 47, for example en-GB' }),
    text: Text(100_000),
    effectiveFrom: Type.Optional(Instant),
  },
  { $id: 'PublishTextVersionBody', additionalProperties: false },
)
export type PublishTextVersionBody = Static<typeof PublishTextVersionBody>

export const RecordConsentBody = Type.Object(
  {
    consent_type_id: Uuid,
    text_version_id: Uuid,
    decision: Type.Enum(['granted', 'denied', 'withdrawn']),
    recorded_by: Type.Optional(Text(255)),
    recorded_at: Type.Optional(Instant),
  },
  { $id: 'RecordConsentBody', additionalProperties: false },
)
export type RecordConsentBody = Static<typeof RecordConsentBody>

const mostRenamed = 100
const toSnake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const toCamel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/**
 * Consent bodies are read in both casings (contract section 1, Casing): members are renamed to the one that the
 * schema speaks before it is validated. The same member in both casings is refused.
 */
export function readsBothCasings(casing: 'snake' | 'camel') {
  const rename = casing === 'snake' ? toSnake : toCamel
  return async (request: FastifyRequest): Promise<void> => {
    const { body } = request
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return
    // The schema refuses so many members in any casing.
    if (Object.keys(body).length > mostRenamed) return
    const renamed = new Map<string, unknown>()
    for (const [name, value] of Object.entries(body)) {
      const canonical = rename(name)
      if (renamed.has(canonical)) {
        throw problem('validation-failed', {
          errors: [{ pointer: `/${canonical}`, detail: 'stands in the body in both casings', code: 'doubled' }],
        })
      }
      renamed.set(canonical, value)
    }
    request.body = Object.fromEntries(renamed)
  }
}

/** The locale in its canonical spelling; refuses what is no BCP 47 tag. */
export function canonicalLocale(locale: string): string {
  try {
    return Intl.getCanonicalLocales(locale)[0] ?? locale
  } catch {
    throw problem('validation-failed', {
      errors: [{ pointer: '/locale', detail: 'must be a BCP 47 language tag', code: 'locale' }],
    })
  }
}
