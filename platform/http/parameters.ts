import { Type } from 'typebox'
import { Uuid } from './members.ts'

/** How a platform client, whose token has no organisation, names one (contract section 1). Either casing. */
export const orgQuery = { org_id: Type.Optional(Uuid), orgId: Type.Optional(Uuid) }

export const OrgQuery = Type.Object(orgQuery, { additionalProperties: false })

/** The organisation that a query names, if it does. */
export function namedOrg(query: { readonly org_id?: string; readonly orgId?: string }): string | undefined {
  return query.org_id ?? query.orgId
}
