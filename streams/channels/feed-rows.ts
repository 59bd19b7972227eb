import { noOrganisation } from '../../platform/kit/tenants.ts'

/** An event of a channel as one group of readers sees it. */
export interface FeedRow {
  /** The organisation whose clients read it. `noOrganisation`: platform clients only. */
  readonly orgId: string
  /** JSON of the payload and the envelope, as it is on the channel; of several organisations only the reader's. */
  readonly payload: string
  /** The whole event, for platform clients. One row of each event. */
  readonly isWhole: boolean
}

/**
 * Who reads an event of a channel, and what they see. An event of several organisations goes to each of them, and
 * `organisationIds` names only the reader's. An event without an organisation is for platform clients.
 */
export function feedRowsOf(event: unknown): readonly FeedRow[] {
  const data: Readonly<Record<string, unknown>> = { ...(typeof event === 'object' ? event : {}) }
  const organisations = organisationsOf(data)
  const payload = JSON.stringify(data)
  const [only = noOrganisation] = organisations
  if (organisations.length < 2) return [{ orgId: only, payload, isWhole: true }]
  return [
    { orgId: noOrganisation, payload, isWhole: true },
    ...organisations.map((orgId) => ({
      orgId,
      payload: JSON.stringify({ ...data, organisationIds: [orgId] }),
      isWhole: false,
    })),
  ]
}

function organisationsOf({ org_id, orgId, organisationId, organisationIds }: Readonly<Record<string, unknown>>) {
  const named: readonly unknown[] = Array.isArray(organisationIds)
    ? organisationIds
    : [org_id ?? orgId ?? organisationId]
  // A platform caller may use the nil UUID as an organisation. Its row would be that of the platform.
  return [...new Set(named.filter((id) => typeof id === 'string').filter((id) => id !== noOrganisation))]
}
