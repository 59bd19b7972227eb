import type { TenantId } from '../../platform/kit/tenants.ts'
import { defineAggregate } from '../../engine/aggregates/aggregate.ts'
import { humanReviewPolicyEvents, type HumanReviewPolicyEvent } from './events.ts'

type PolicySet = HumanReviewPolicyEvent['data']

/** `version` counts the changes. Version 0 selects nothing. */
export interface HumanReviewPolicy extends Pick<PolicySet, 'rules' | 'leaseSeconds' | 'updatedBy'> {
  readonly version: number
  readonly updatedAt: string | null
}

function evolve({ version }: HumanReviewPolicy, { data }: HumanReviewPolicyEvent): HumanReviewPolicy {
  const { rules, leaseSeconds, updatedBy, updatedAt } = data
  return { rules, leaseSeconds, updatedBy, updatedAt, version: version + 1 }
}

/** One stream per organisation. */
export const humanReviewPolicies = defineAggregate({
  category: 'humanreviewpolicy',
  id: (orgId: TenantId) => orgId,
  events: humanReviewPolicyEvents,
  initialState: { rules: [], leaseSeconds: 1_800, updatedBy: null, updatedAt: null, version: 0 },
  evolve,
})
