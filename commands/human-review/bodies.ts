import { Type, type Static } from 'typebox'
import { HumanReviewRule } from '../../contracts/human-review/record.ts'
import { Text } from '../../platform/http/members.ts'
import type { MemberError } from '../../platform/http/problems.ts'
import { noneOf } from '../../platform/kit/documented-rules.ts'
import { Recommendation } from '../../streams/assessment/events.ts'
import { humanReviewPolicies } from '../../streams/human-review-policy/aggregate.ts'
import { leaseBounds, type PolicyRule } from '../../streams/human-review-policy/events.ts'
import {
  correctionTextLimit,
  LesionOutcome,
  SelectorName,
  type LesionDecision,
} from '../../streams/human-review-task/events.ts'
import { Count } from '../../engine/aggregates/types.ts'
import { wholeValues } from '../../engine/reads/records.ts'
import { selectorsOf } from './selection.ts'

const { leaseSeconds: defaultLeaseSeconds } = humanReviewPolicies.initialState
/** No event of a review holds as many. Each of its lesions needs a decision, or its case stays in review. */
const mostLesions = 3_000

export const SetPolicyBody = Type.Object(
  {
    rules: Type.Array(HumanReviewRule, { maxItems: 20 }),
    lease_seconds: Type.Optional(
      Type.Integer({ ...leaseBounds, description: `Length of a claim. Default: ${defaultLeaseSeconds}` }),
    ),
  },
  { $id: 'SetHumanReviewPolicyBody', additionalProperties: false },
)

const corrections = ['icd10', 'snomed', 'category'] as const
const notCorrect = LesionOutcome.enum.filter((outcome) => outcome !== 'correct')
const CorrectionText = Text(correctionTextLimit)
const Coded = Type.Object({ code: CorrectionText, term: CorrectionText }, { additionalProperties: false })
const LesionDecisionBody = Type.Object(
  {
    lesion_number: Count,
    outcome: LesionOutcome,
    icd10: Type.Optional(Coded),
    snomed: Type.Optional(Coded),
    category: Type.Optional(CorrectionText),
  },
  {
    additionalProperties: false,
    documented: noneOf(
      { properties: { outcome: { enum: ['correct'] } }, not: { required: ['icd10', 'category'] } },
      ...corrections.map((name) => ({ properties: { outcome: { enum: notCorrect } }, required: [name] })),
    ),
  },
)
type LesionDecisionBody = Static<typeof LesionDecisionBody>

export const DecideTaskBody = Type.Object(
  {
    lesions: Type.Array(LesionDecisionBody, {
      maxItems: mostLesions,
      description: 'Each lesion of the AI review once. `correct` needs `icd10` and `category`, and takes `snomed`',
    }),
    recommendation: Recommendation,
    note: Type.Optional(Text(4_000)),
  },
  { $id: 'DecideHumanReviewTaskBody', additionalProperties: false },
)

export function policyOf({ rules, lease_seconds: leaseSeconds = defaultLeaseSeconds }: Static<typeof SetPolicyBody>) {
  return { rules: rules.map(wholeRule), leaseSeconds }
}

/** A rule without a selector would select no review. */
export function ruleErrors(rules: readonly PolicyRule[]): MemberError[] {
  return rules.flatMap((rule, index) =>
    selectorsOf(rule).length > 0
      ? []
      : [
          {
            pointer: `/rules/${index}`,
            detail: `must have at least one of ${SelectorName.enum.join(', ')}`,
            code: 'selector-missing',
          },
        ],
  )
}

function wholeRule(rule: HumanReviewRule): PolicyRule {
  const { opinions, ...selectors } = wholeValues(HumanReviewRule, rule)
  return { ...selectors, opinions: opinions ?? 1 }
}

export function opinionOf({ lesions, recommendation, note }: Static<typeof DecideTaskBody>) {
  const decisions = lesions.map((lesion): LesionDecision => wholeValues(LesionDecisionBody, lesion))
  return { lesions: decisions, recommendation, note: note ?? null }
}

/** What an outcome needs or does not take. */
export function outcomeErrors(lesions: readonly LesionDecisionBody[]): MemberError[] {
  return lesions.flatMap((lesion, index) => {
    const pointer = `/lesions/${index}`
    const given = corrections.filter((name) => lesion[name] !== undefined)
    if (lesion.outcome !== 'correct')
      return given.map((name) => ({
        pointer: `${pointer}/${name}`,
        detail: 'is only for the outcome correct',
        code: 'not-corrected',
      }))
    return (['icd10', 'category'] as const)
      .filter((name) => lesion[name] === undefined)
      .map((name) => ({
        pointer: `${pointer}/${name}`,
        detail: 'is required with the outcome correct',
        code: 'required',
      }))
  })
}
