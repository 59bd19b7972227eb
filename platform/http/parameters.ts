import { Type, type TString } from 'typebox'
import { invalidMember } from './problems.ts'
import { Uuid } from './members.ts'
import type { Tenancy } from './tenancy.ts'

/** What the parameter means to a platform client, whose token has no organisation. */
const orgMeanings = {
  required:
    'Needed with a token or an administrator secret that has none; without it the answer is 400 `org-required`.',
  named: 'Always needed; without it the answer is 400 `org-required`.',
  inBody: 'Needed with a token or an administrator secret that has none, unless the body names it.',
  optional: 'With a token or an administrator secret that has none, it may be left out.',
  'or-none': 'With a token that has none, leaving it out means the records of no organisation.',
} as const satisfies Readonly<Record<Tenancy | 'named' | 'inBody', string>>

/** The organisation of a request. Either casing: one of the two is enough. */
export function orgQueryOf(meaning: keyof typeof orgMeanings = 'required') {
  const description = `The organisation. ${orgMeanings[meaning]} \`org_id\` is also \`orgId\`.`
  const named = Type.Optional(Type.String({ format: 'uuid', description }))
  return { org_id: named, orgId: named }
}

/** Further names of the organisation, for routes that declare them. */
export const orgAliases = { organisationId: Type.Optional(Uuid), org: Type.Optional(Uuid) }

export function OrgQuery(meaning?: keyof typeof orgMeanings) {
  return Type.Object(orgQueryOf(meaning), { additionalProperties: false })
}

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

/** The schema of a path's parameters: UUIDs, but for `texts`. */
export function idParams(path: string, texts: Readonly<Record<string, TString>> = {}) {
  const names = path.split('/').flatMap((part) => (part.startsWith(':') ? [part.slice(1)] : []))
  return Type.Object(Object.fromEntries(names.map((name) => [name, texts[name] ?? Uuid])))
}
