import { Type } from 'typebox'
import { invalidMember } from './problems.ts'
import { Uuid } from './members.ts'

const NamedOrg = Type.String({
  format: 'uuid',
  description: 'The organisation. A platform client, whose token has none, must name it unless the route is for all',
})
/** The organisation in a request of a platform client, whose token has none. Either casing. */
export const orgQuery = { org_id: Type.Optional(NamedOrg), orgId: Type.Optional(NamedOrg) }

/** Further names of the organisation, for routes that declare them. */
export const orgAliases = { organisationId: Type.Optional(Uuid), org: Type.Optional(Uuid) }

export const OrgQuery = Type.Object(orgQuery, { additionalProperties: false })

/**
 * The organisation in a query or a body, if there is one.
 * @throws Problem `validation-failed` for two different organisations
 */
export function namedOrg(
  query: { readonly [Name in 'org_id' | 'orgId' | 'organisationId' | 'org']?: string },
  inBody?: string,
): string | undefined {
  const [first, ...others] = [query.org_id, query.orgId, query.organisationId, query.org, inBody].filter(
    (named) => named !== undefined,
  )
  if (others.some((other) => other.toLowerCase() !== first?.toLowerCase())) {
    throw invalidMember('/org_id', 'must not name two organisations', 'ambiguous')
  }
  return first
}

type NameIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NameIn<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

/** The parameters that a path names, `/cases/:id`. */
export type IdParams<Path extends string> = { readonly [Name in NameIn<Path>]: string }

/** The schema of a path's parameters: UUIDs, but for those whose names are in `texts`. */
export function idParams(path: string, texts: readonly string[] = []) {
  const names = path.split('/').flatMap((part) => (part.startsWith(':') ? [part.slice(1)] : []))
  const schemaOf = (name: string) => (texts.includes(name) ? Type.String({ minLength: 1, maxLength: 255 }) : Uuid)
  return Type.Object(Object.fromEntries(names.map((name) => [name, schemaOf(name)])))
}
