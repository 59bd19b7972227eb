import { Type } from 'typebox'
import { problem } from './problems.ts'
import { Uuid } from './members.ts'

/** The organisation in a request of a platform client, whose token has none (contract section 1). Either casing. */
export const orgQuery = { org_id: Type.Optional(Uuid), orgId: Type.Optional(Uuid) }

export const OrgQuery = Type.Object(orgQuery, { additionalProperties: false })

/**
 * The organisation in a query or a body, if there is one.
 * @throws Problem `validation-failed` for two different organisations
 */
export function namedOrg(
  query: { readonly org_id?: string; readonly orgId?: string },
  inBody?: string,
): string | undefined {
  const [first, ...others] = [query.org_id, query.orgId, inBody].filter((named) => named !== undefined)
  if (others.some((other) => other.toLowerCase() !== first?.toLowerCase())) {
    throw problem('validation-failed', {
      errors: [{ pointer: '/org_id', detail: 'must not name two organisations', code: 'ambiguous' }],
    })
  }
  return first
}
