import { isDeepStrictEqual } from 'node:util'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { HumanReviewPolicy } from '../../streams/human-review-policy/aggregate.ts'
import type { HumanReviewPolicyEvent, PolicyRule } from '../../streams/human-review-policy/events.ts'
import type { Decision } from '../../engine/commands/decision.ts'

export interface SetPolicy {
  readonly organisationId: TenantId
  readonly rules: readonly PolicyRule[]
  readonly leaseSeconds: number
  readonly updatedBy: string | null
  readonly now: Date
}

/** Replaces the policy of an organisation. It applies to reviews that complete afterwards. */
export function setPolicy(
  { now, rules, ...policy }: SetPolicy,
  state: HumanReviewPolicy,
): Decision<HumanReviewPolicyEvent> {
  const isSame = state.version > 0 && isDeepStrictEqual([rules, policy.leaseSeconds], [state.rules, state.leaseSeconds])
  if (isSame) return []
  return [{ type: 'HumanReviewPolicySet', data: { ...policy, rules: [...rules], updatedAt: now.toISOString() } }]
}
