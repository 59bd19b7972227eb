import { Type, type Static } from 'typebox'
import { furtherRule } from '../../platform/http/documented.ts'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import { namePairsOf } from '../../platform/kit/member-names.ts'
import { Recommendation } from '../../streams/assessment/events.ts'
import { humanReviewPolicies, type HumanReviewPolicy } from '../../streams/human-review-policy/aggregate.ts'
import { opinionBounds, type PolicyRule } from '../../streams/human-review-policy/events.ts'
import { decisionsIn, type HumanReviewTask, type Opinion } from '../../streams/human-review-task/aggregate.ts'
import {
  HumanReviewTaskStatus,
  LesionOutcome,
  SelectorName,
  TaskCancelReason,
} from '../../streams/human-review-task/events.ts'
import { CodedTerm } from '../../streams/types.ts'
import { Int32 } from '../../engine/aggregates/types.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

const text = Type.String({ minLength: 1, maxLength: 255 })
const textList = Type.Array(text, { minItems: 1, maxItems: 50 })

/** All selectors of a rule must hold: those of lesions for one and the same lesion. */
export const HumanReviewRule = Type.Object(
  {
    always: Type.Optional(Type.Literal(true)),
    categories: Type.Optional(textList),
    priority_at_most: Type.Optional(Int32),
    referral_flags: Type.Optional(textList),
    image_qualities: Type.Optional(textList),
    share: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 1, description: 'Part of the reviews. No caller can compute which' }),
    ),
    opinions: Type.Optional(
      Type.Integer({ ...opinionBounds, description: 'Clinicians who give an opinion. Default: 1' }),
    ),
  },
  {
    $id: 'HumanReviewRule',
    additionalProperties: false,
    documented: furtherRule({ anyOf: SelectorName.enum.map((name) => ({ required: [name] })) }),
  },
)
export type HumanReviewRule = Static<typeof HumanReviewRule>

export const HumanReviewPolicyRecord = Type.Object(
  {
    rules: Type.Array(HumanReviewRule),
    lease_seconds: Type.Integer(),
    version: Type.Integer({ description: '0 before the first PUT' }),
    updated_at: Nullable(Instant),
    updated_by: Nullable(Uuid),
  },
  { $id: 'HumanReviewPolicyRecord' },
)
export type HumanReviewPolicyRecord = Static<typeof HumanReviewPolicyRecord>

export function toPolicyRecord(policy: HumanReviewPolicy): HumanReviewPolicyRecord {
  return toRecord(HumanReviewPolicyRecord, { ...policy, rules: policy.rules.map(ruleRecord) })
}

/** What an organisation has before its first PUT. */
export const policyBeforeFirst = toPolicyRecord(humanReviewPolicies.initialState)

function ruleRecord(rule: PolicyRule): HumanReviewRule {
  const given: Readonly<Record<string, unknown>> = rule
  const members = namePairsOf(HumanReviewRule.properties).map(({ name, member }) => [name, given[member]] as const)
  // A selector that the rule does not use is null in the event, and left out of the record.
  return Object.fromEntries(members.filter(([, value]) => value !== null))
}

const OpinionRecord = Type.Object(
  {
    number: Type.Integer(),
    user_id: Uuid,
    lesions: Type.Array(
      Type.Object({
        lesion_number: Type.Integer(),
        outcome: LesionOutcome,
        icd10: Nullable(CodedTerm),
        snomed: Nullable(CodedTerm),
        category: Nullable(Type.String()),
      }),
    ),
    recommendation: Recommendation,
    note: Nullable(
      Type.String({ description: 'Only for actors with the permission human-review:decide' }),
      personal('notes'),
    ),
    given_at: Instant,
  },
  personal('results'),
)
type OpinionRecord = Static<typeof OpinionRecord>

export const HumanReviewTaskRecord = Type.Object(
  {
    id: Uuid,
    status: HumanReviewTaskStatus,
    ai_review_id: Uuid,
    case_id: Uuid,
    patient_id: Uuid,
    product_id: Uuid,
    assessment_id: Nullable(Uuid),
    selected_by: Type.Array(SelectorName),
    opinions_required: Type.Integer(),
    opinions: Type.Array(OpinionRecord, { description: "Until the decision only the actor's own" }),
    claimed_by: Nullable(Uuid),
    lease_until: Nullable(Instant),
    decision: Nullable(OpinionRecord),
    agrees_with_ai: Nullable(Type.Boolean()),
    cancel_reason: Nullable(TaskCancelReason),
    created_at: Instant,
    updated_at: Instant,
    decided_at: Nullable(Instant),
  },
  { $id: 'HumanReviewTaskRecord' },
)
export type HumanReviewTaskRecord = Static<typeof HumanReviewTaskRecord>

type Derived = 'id' | 'status' | 'opinions' | 'claimedBy' | 'leaseUntil' | 'decision'

/** The values of a task, from its table or from a fold of its stream. */
export type HumanReviewTaskView = Omit<ValuesOf<typeof HumanReviewTaskRecord>, Derived> & {
  readonly taskId: string
  readonly status: HumanReviewTaskRecord['status']
  readonly opinions: readonly Opinion[]
  /** The number of the opinion that is the decision. */
  readonly decisionNumber: number | null
  readonly claimedBy: string | null
  readonly leaseUntil: string | null
}

export interface TaskReader {
  /** Null: the request has no actor. */
  readonly userId: string | null
  readonly mayReadNotes: boolean
  readonly now: Date
}

/** A task as its reader may see it. From the end of the lease on it is open, also before the event that records this. */
export function toTaskRecord(task: HumanReviewTaskView, reader: TaskReader): HumanReviewTaskRecord {
  const isHeld = task.leaseUntil !== null && Date.parse(task.leaseUntil) > reader.now.getTime()
  const opinions = task.opinions.filter(({ userId }) => task.status === 'decided' || userId === reader.userId)
  const shown = opinions.map((opinion) => opinionRecord(opinion, reader))
  return toRecord(HumanReviewTaskRecord, {
    ...task,
    id: task.taskId,
    status: task.status === 'claimed' && !isHeld ? 'open' : task.status,
    opinions: shown,
    claimedBy: isHeld ? task.claimedBy : null,
    leaseUntil: isHeld ? task.leaseUntil : null,
    decision: shown.find(({ number }) => number === task.decisionNumber) ?? null,
  })
}

/**
 * Tells apart what readers see of one revision: the end of a lease comes before its event, an opinion is for its author before
 * the decision, and notes are for those who may decide. Undefined for who sees what the revision says.
 */
export function variantOf(task: HumanReviewTaskView, { status, opinions }: HumanReviewTaskRecord): number | undefined {
  const own = status === 'decided' ? 0 : (opinions[0]?.number ?? 0)
  const notes = new Map(task.opinions.map(({ number, note }) => [number, note]))
  const lacksNotes = opinions.some(({ number, note }) => note !== notes.get(number))
  return Number(status !== task.status) + 2 * Number(lacksNotes) + 4 * own || undefined
}

/** An opinion from its row. */
export function opinionOf({ corrections, ...opinion }: OpinionRow): Opinion {
  return { ...opinion, lesions: decisionsIn({ lesions: opinion.lesions, corrections }) }
}

type OpinionRow = Omit<Opinion, 'lesions'> & Parameters<typeof decisionsIn>[0]

/** The values of a task from a fold of its stream. */
export function taskView(task: HumanReviewTask): HumanReviewTaskView {
  const { openedAt: createdAt, claim, decision } = task
  return {
    ...task,
    createdAt,
    claimedBy: claim?.userId ?? null,
    leaseUntil: claim?.leaseUntil ?? null,
    decisionNumber: decision?.number ?? null,
  }
}

function opinionRecord({ lesions, note, ...opinion }: Opinion, { mayReadNotes }: TaskReader): OpinionRecord {
  return toRecord(OpinionRecord, {
    ...opinion,
    lesions: lesions.map(({ lesionNumber, ...decision }) => ({ ...decision, lesion_number: lesionNumber })),
    note: mayReadNotes ? note : null,
  })
}
