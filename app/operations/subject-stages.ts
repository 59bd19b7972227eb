import type { StoredRecord } from '../../contracts/audit/records-in-order.ts'
import type { OperationsError, SubjectStage } from '../../contracts/operations/record.ts'
import type { Static } from 'typebox'

/** An event of a subject. `occurredAt` is the instant that it names for the fact. Personal members are null. */
export type Fact = Pick<StoredRecord, 'id' | 'type' | 'stream' | 'occurredAt' | 'data'>

/** A webhook or a notification that follows from a subject. */
export interface Sending {
  readonly kind: 'delivery' | 'notification'
  readonly id: string
  readonly status: string
  readonly createdAt: string
  readonly endedAt: string | null
  readonly attempts: number
  readonly error: Static<typeof OperationsError> | null
}

/** What the events of a subject say about it. */
export interface Passage {
  readonly status: string
  readonly errorCode: string | null
  readonly createdAt: string
  readonly endedAt: string | null
  readonly stages: readonly SubjectStage[]
}

type Instant = string | null
type Failure = SubjectStage['error']

const stage = (
  name: string,
  status: SubjectStage['status'],
  [startedAt, endedAt]: readonly [Instant, Instant] = [null, null],
  attempts = 0,
  error: Failure = null,
): SubjectStage => ({ name, status, started_at: startedAt, ended_at: endedAt, attempts, error })

/** Done at one instant. */
const passed = (name: string, at: string) => stage(name, 'done', [at, at])

const failure = (code: unknown): Failure => ({
  class: 'attempt_failed',
  code: typeof code === 'string' || typeof code === 'number' ? String(code) : null,
  host: null,
})

const ofType = (facts: readonly Fact[], ...types: readonly string[]) => facts.filter(({ type }) => types.includes(type))
const newest = (facts: readonly Fact[], ...types: readonly string[]) => ofType(facts, ...types).at(-1)
const first = (facts: readonly Fact[], ...types: readonly string[]) => ofType(facts, ...types)[0]
export const textOf = (fact: Fact | undefined, member: string): string | null => {
  const value = fact?.data[member]
  return typeof value === 'string' ? value : null
}

/** Classifications of a review that never reached its provider. */
const beforeCall: readonly unknown[] = [
  'consent_missing',
  'consent_check_unavailable',
  'case_lookup_unavailable',
  'budget_exceeded',
]

const reviewEnds = ['AiReviewCompleted', 'AiReviewFailed', 'AiReviewCancelled', 'AiReviewSuperseded'] as const
const reviewStages = ['consent', 'provider', 'result'] as const
type ReviewStage = (typeof reviewStages)[number]

/** The stage in which a review fails or waits. */
function stageOf({ type, data }: Fact, isAccepted: boolean): ReviewStage {
  const { classification, reason, call } = data
  if (beforeCall.includes(classification) || reason === 'consent_withdrawn') return 'consent'
  if (type === 'AiReviewPollDeferred' || call === 'result') return 'result'
  return isAccepted ? 'result' : 'provider'
}

function errorOf({ type, data }: Fact): Failure {
  if (type === 'AiReviewCallPostponed') return { class: 'put_off', code: 'circuit_open', host: null }
  return failure(data['upstreamStatus'] ?? data['classification'] ?? data['reason'])
}

/** A poll to which the provider answered that the result is not ready has not failed. */
function isTrouble({ type, data: { answered } }: Fact): boolean {
  if (type === 'AiReviewPollDeferred') {
    const status: unknown = Object(answered).status
    return status === null || Number(status) >= 400
  }
  return type === 'AiReviewStartDeferred' || type === 'AiReviewCallPostponed'
}

/** The stages `consent`, `provider` and `result` of one review. */
function stagesOfReview(facts: readonly Fact[]): SubjectStage[] {
  const calls = ofType(facts, 'AiReviewCallAttempted')
  const polls = calls.filter(({ data }) => data['call'] === 'result')
  const sent = calls.filter(({ data }) => data['call'] !== 'result')
  const checked = calls.find((call) => textOf(call, 'consentCheckedAt') !== null)
  const accepted = newest(facts, 'AiReviewProcessingAccepted')
  const end = first(facts, ...reviewEnds)
  const begun = first(facts, 'AiReviewStarted')
  const troubles = facts.filter(isTrouble)
  const isFailed = end?.type === 'AiReviewFailed' || textOf(end, 'reason') === 'consent_withdrawn'
  const failedIn = end !== undefined && isFailed ? stageOf(end, accepted !== undefined) : undefined
  const isDone = {
    consent: checked !== undefined,
    provider: accepted !== undefined,
    result: end?.type === 'AiReviewCompleted',
  }
  const times: Readonly<Record<ReviewStage, readonly [Instant, Instant]>> = {
    consent: [begun?.occurredAt ?? null, textOf(checked, 'consentCheckedAt')],
    provider: [sent[0]?.occurredAt ?? null, accepted?.occurredAt ?? null],
    result: [accepted?.occurredAt ?? null, end?.occurredAt ?? null],
  }
  const attempts: Readonly<Record<ReviewStage, number>> = { consent: 0, provider: sent.length, result: polls.length }
  return reviewStages.map((name) => {
    const [startedAt, endedAt] = times[name]
    if (end !== undefined && failedIn === name)
      return stage(name, 'failed', [startedAt, end.occurredAt], attempts[name], errorOf(end))
    if (isDone[name]) return stage(name, 'done', [startedAt, endedAt], attempts[name])
    if (end !== undefined) return stage(name, 'skipped', [startedAt, null], attempts[name])
    const trouble = troubles.findLast((one) => stageOf(one, accepted !== undefined) === name)
    const error = trouble === undefined ? null : errorOf(trouble)
    const hasBegun = startedAt !== null || trouble !== undefined
    return stage(name, hasBegun ? 'running' : 'waiting', [startedAt, null], attempts[name], error)
  })
}

/** Findings and diagnoses of one review in its case. */
function findingsStage(facts: readonly Fact[], review: readonly Fact[], reviewId: string | null): SubjectStage {
  const completed = newest(review, 'AiReviewCompleted')
  const found = ofType(facts, 'CaseFindingRecorded').filter((one) => textOf(one, 'aiReviewId') === reviewId)
  const isEnded = first(review, ...reviewEnds) !== undefined
  if (completed === undefined) return stage('findings', isEnded ? 'skipped' : 'waiting')
  // Not `lesionCount`: the provider may count other lesions than it lists.
  const { lesions } = completed.data
  if (Array.isArray(lesions) && lesions.length === 0) return stage('findings', 'skipped')
  const startedAt = found[0]?.occurredAt ?? null
  const last = found.find(({ data }) => data['ordinal'] === data['lesionCount'])
  if (last !== undefined) return stage('findings', 'done', [startedAt, last.occurredAt])
  return stage('findings', found.length > 0 ? 'running' : 'waiting', [startedAt, null])
}

/** `isDue`: whether a task may still be opened. */
function humanReviewStage(facts: readonly Fact[], reviewId: string | null, isDue: boolean): SubjectStage {
  const opened = ofType(facts, 'HumanReviewTaskOpened').findLast((one) => textOf(one, 'aiReviewId') === reviewId)
  if (opened === undefined) return stage('human_review', isDue ? 'waiting' : 'skipped')
  const ofTask = facts.filter((one) => textOf(one, 'taskId') === textOf(opened, 'taskId'))
  const end = first(ofTask, 'HumanReviewTaskDecided', 'HumanReviewTaskCancelled')
  const status = end === undefined ? 'running' : end.type === 'HumanReviewTaskDecided' ? 'done' : 'skipped'
  return stage('human_review', status, [opened.occurredAt, end?.occurredAt ?? null])
}

const waitingStatuses: readonly string[] = ['pending', 'queued', 'sending']

/** Several webhooks or notifications as one stage. It fails if one of them has failed. */
function sendingStage(name: string, sendings: readonly Sending[], isOver: boolean): SubjectStage {
  const [earliest] = sendings.map(({ createdAt }) => createdAt).toSorted()
  if (earliest === undefined) return stage(name, isOver ? 'skipped' : 'waiting')
  const open = sendings.filter(({ status }) => waitingStatuses.includes(status))
  const failed = sendings.filter(({ status }) => status === 'failed')
  const attempts = sendings.reduce((sum, one) => sum + one.attempts, 0)
  const ends = sendings.flatMap(({ endedAt }) => (endedAt === null ? [] : [endedAt])).toSorted()
  const isAnyDone = sendings.some(({ status }) => status === 'delivered' || status === 'sent')
  const status =
    failed.length > 0
      ? 'failed'
      : open.length > 0
        ? open.some((one) => one.attempts > 0)
          ? 'running'
          : 'waiting'
        : isAnyDone
          ? 'done'
          : 'skipped'
  const error = [...failed, ...open].find((one) => one.error !== null)?.error ?? null
  return stage(name, status, [earliest, open.length > 0 ? null : (ends.at(-1) ?? null)], attempts, error)
}

export interface AssessmentFacts {
  readonly id: string
  /** Those of its case too. */
  readonly facts: readonly Fact[]
  readonly sendings: readonly Sending[]
  /** A task of human review may still be opened. */
  readonly isHumanReviewDue: boolean
}

/** The stages after the images, and those that an assessment cannot reach any more. */
function withFailure(stages: readonly SubjectStage[], code: string, at: string): SubjectStage[] {
  if (stages.some(({ status }) => status === 'failed')) return [...stages]
  const isOpen = ({ status }: SubjectStage) => status === 'running' || status === 'waiting'
  const named = code === 'CONSENT_MISSING' ? stages.find(({ name }) => name === 'consent') : undefined
  const failed = named ?? stages.find(isOpen) ?? stages.findLast(({ status }) => status === 'skipped')
  return stages.map((one) => {
    if (one === failed) return { ...one, status: 'failed', ended_at: at, error: one.error ?? failure(code) }
    return isOpen(one) ? { ...one, status: 'skipped' } : one
  })
}

/** The review of the product of the assessment. Of several the newest. */
function reviewOf(facts: readonly Fact[], productId: string | null): Fact | undefined {
  return ofType(facts, 'AiReviewRequested').findLast((one) => textOf(one, 'productId') === productId)
}

const ofReview = (facts: readonly Fact[], reviewId: string | null) =>
  facts.filter((fact) => fact.type.startsWith('AiReview') && textOf(fact, 'aiReviewId') === reviewId)

export function assessmentPassage({ id, facts, sendings, isHumanReviewDue }: AssessmentFacts): Passage | undefined {
  const own = facts.filter((fact) => fact.type.startsWith('Assessment') && textOf(fact, 'assessmentId') === id)
  const requested = first(own, 'AssessmentRequested')
  if (requested === undefined) return undefined
  const submitted = newest(own, 'AssessmentSubmitted')
  const end = first(own, 'AssessmentCompleted', 'AssessmentFailed')
  const code = textOf(end, 'code')
  const reviewId = textOf(reviewOf(facts, textOf(requested, 'productId')), 'aiReviewId')
  const review = ofReview(facts, reviewId)
  const images = stage('images', submitted === undefined ? 'waiting' : 'done', [
    requested.occurredAt,
    submitted?.occurredAt ?? null,
  ])
  const analysis = [images, ...stagesOfReview(review)]
  const isFailed = end !== undefined && code !== null
  const findings = findingsStage(facts, review, reviewId)
  const isOver = end !== undefined
  const status = isFailed
    ? 'failed'
    : isOver
      ? 'completed'
      : submitted === undefined && first(own, 'AssessmentUploadsAwaited') !== undefined
        ? 'awaiting_images'
        : 'processing'
  return {
    status,
    errorCode: code,
    createdAt: requested.occurredAt,
    endedAt: end?.occurredAt ?? null,
    stages: [
      passed('accepted', requested.occurredAt),
      ...(isFailed ? withFailure(analysis, code, end.occurredAt) : analysis),
      isFailed && findings.status === 'waiting' ? stage('findings', 'skipped') : findings,
      humanReviewStage(facts, reviewId, !isOver || isHumanReviewDue),
      sendingStage(
        'webhooks',
        sendings.filter(({ kind }) => kind === 'delivery'),
        isOver,
      ),
      sendingStage(
        'notifications',
        sendings.filter(({ kind }) => kind === 'notification'),
        isOver,
      ),
    ],
  }
}

export function casePassage(facts: readonly Fact[], isHumanReviewDue: boolean): Passage | undefined {
  const opened = first(facts, 'CaseOpened')
  if (opened === undefined) return undefined
  const requested = newest(facts, 'AiReviewRequested')
  const reviewId = textOf(requested, 'aiReviewId')
  const review = ofReview(facts, reviewId)
  const closed = newest(facts, 'CaseClosed')
  const changed = newest(facts, 'CaseHumanReviewStarted', 'CaseHumanReviewEnded')
  const isOver = closed !== undefined
  const analysis =
    requested === undefined && isOver ? reviewStages.map((name) => stage(name, 'skipped')) : stagesOfReview(review)
  return {
    status: isOver ? 'closed' : (textOf(changed, 'caseStatus') ?? 'open'),
    errorCode: null,
    createdAt: opened.occurredAt,
    endedAt: closed?.occurredAt ?? null,
    stages: [
      passed('opened', opened.occurredAt),
      ...analysis,
      findingsStage(facts, review, reviewId),
      humanReviewStage(facts, reviewId, isHumanReviewDue || first(review, ...reviewEnds) === undefined),
      stage('closed', isOver ? 'done' : 'waiting', [closed?.occurredAt ?? null, closed?.occurredAt ?? null]),
    ],
  }
}

const reviewStatus: Readonly<Record<string, string>> = {
  AiReviewRequested: 'pending',
  AiReviewProviderCaseCreated: 'in_progress',
  AiReviewProcessingAccepted: 'awaiting_result',
  AiReviewCompleted: 'completed',
  AiReviewFailed: 'failed',
  AiReviewCancelled: 'cancelled',
  AiReviewSuperseded: 'superseded',
}

export function reviewPassage(facts: readonly Fact[]): Passage | undefined {
  const requested = first(facts, 'AiReviewRequested')
  if (requested === undefined) return undefined
  const status = newest(facts, ...Object.keys(reviewStatus))
  const end = first(facts, ...reviewEnds)
  return {
    status: reviewStatus[status?.type ?? ''] ?? 'pending',
    errorCode: textOf(end, 'classification') ?? (end?.type === 'AiReviewCancelled' ? textOf(end, 'reason') : null),
    createdAt: requested.occurredAt,
    endedAt: end?.occurredAt ?? null,
    stages: [passed('accepted', requested.occurredAt), ...stagesOfReview(facts)],
  }
}

export function taskPassage(facts: readonly Fact[]): Passage | undefined {
  const opened = first(facts, 'HumanReviewTaskOpened')
  if (opened === undefined) return undefined
  const end = first(facts, 'HumanReviewTaskDecided', 'HumanReviewTaskCancelled')
  const last = newest(facts, 'HumanReviewTaskClaimed', 'HumanReviewTaskReleased', 'HumanReviewOpinionGiven')
  const opinions = ofType(facts, 'HumanReviewOpinionGiven')
  const isDecided = end?.type === 'HumanReviewTaskDecided'
  const open = last?.type === 'HumanReviewTaskClaimed' ? 'claimed' : 'open'
  const begun = first(facts, 'HumanReviewTaskClaimed', 'HumanReviewOpinionGiven')?.occurredAt ?? null
  const isCancelled = end !== undefined && !isDecided
  const ofOpinions = isDecided ? 'done' : isCancelled ? 'skipped' : begun === null ? 'waiting' : 'running'
  const endedAt = end?.occurredAt ?? null
  return {
    status: end === undefined ? open : isDecided ? 'decided' : 'cancelled',
    errorCode: isCancelled ? textOf(end, 'reason') : null,
    createdAt: opened.occurredAt,
    endedAt,
    stages: [
      passed('opened', opened.occurredAt),
      stage('opinions', ofOpinions, [begun, isDecided ? endedAt : null], opinions.length),
      stage('decided', isDecided ? 'done' : isCancelled ? 'skipped' : 'waiting', [null, isDecided ? endedAt : null]),
    ],
  }
}

export function sendingPassage(sending: Sending): Passage {
  const { kind, status, createdAt, endedAt, error } = sending
  return {
    status,
    errorCode: status === 'failed' ? (error?.code ?? null) : null,
    createdAt,
    endedAt,
    stages: [passed('accepted', createdAt), sendingStage(kind === 'delivery' ? 'webhooks' : 'sent', [sending], true)],
  }
}
