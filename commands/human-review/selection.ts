import { createHmac } from 'node:crypto'
import { memberName } from '../../platform/kit/member-names.ts'
import type { ImageQuality, Lesion } from '../../streams/ai-review/events.ts'
import type { PolicyRule } from '../../streams/human-review-policy/events.ts'
import { SelectorName } from '../../streams/human-review-task/events.ts'

export interface CompletedReview {
  readonly aiReviewId: string
  readonly lesions: readonly Pick<Lesion, 'category' | 'priority' | 'referralFlag'>[]
  readonly imageQuality: readonly Pick<ImageQuality, 'quality'>[]
}

export interface Selection {
  /** Selectors of all rules that select the review, each once, in the order of `SelectorName`. */
  readonly selectedBy: readonly SelectorName[]
  /** The largest number of opinions of these rules. */
  readonly opinionsRequired: number
}

/**
 * The decision of a policy about a completed review. Undefined: no rule selects it.
 * @param shareKey of the vault, for `share` alone
 */
export function selectionOf(
  rules: readonly PolicyRule[],
  review: CompletedReview,
  shareKey: Uint8Array,
): Selection | undefined {
  const selecting = rules.filter((rule) => selects(rule, review, shareKey))
  if (selecting.length === 0) return undefined
  const names = new Set(selecting.flatMap(selectorsOf))
  return {
    selectedBy: SelectorName.enum.filter((name) => names.has(name)),
    opinionsRequired: Math.max(...selecting.map(({ opinions }) => opinions)),
  }
}

export function selectorsOf(rule: PolicyRule): SelectorName[] {
  return SelectorName.enum.filter((name) => rule[memberName(name)] !== null)
}

/** The selectors of lesions must all hold for one and the same lesion. */
function selects(
  rule: PolicyRule,
  { aiReviewId, lesions, imageQuality }: CompletedReview,
  shareKey: Uint8Array,
): boolean {
  const { categories, priorityAtMost, referralFlags, imageQualities, share } = rule
  if (selectorsOf(rule).length === 0) return false
  const isAboutLesions = categories !== null || priorityAtMost !== null || referralFlags !== null
  const hasLesion = lesions.some(
    ({ category, priority, referralFlag }) =>
      isAmong(category, categories) &&
      (priorityAtMost === null || (priority !== null && priority <= priorityAtMost)) &&
      isAmong(referralFlag, referralFlags),
  )
  if (isAboutLesions && !hasLesion) return false
  if (imageQualities !== null && !imageQuality.some(({ quality }) => isAmong(quality, imageQualities))) return false
  return share === null || placeOf(aiReviewId, shareKey) < share
}

function isAmong(value: string | null, values: readonly string[] | null): boolean {
  return values === null || (value !== null && values.includes(value))
}

/**
 * A number from [0, 1) that follows from the id. A rebuild and a second instance select the same reviews. A caller may
 * know the id before the review, and could avoid the selection by it. So the number needs a key.
 */
function placeOf(aiReviewId: string, shareKey: Uint8Array): number {
  return createHmac('sha256', shareKey).update(aiReviewId.toLowerCase()).digest().readUInt32BE(0) / 2 ** 32
}
