import { defineTable, type RowChange } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, removeRow, upsertRow } from '../../engine/projections/row-changes.ts'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import { requiredConsentCode } from '../../streams/ai-review/aggregate.ts'
import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import { budgetDay } from '../../streams/ai-review-budget/aggregate.ts'
import type { AiReviewBudgetEvent } from '../../streams/ai-review-budget/events.ts'
import type { AiReviewPlacesEvent } from '../../streams/ai-review-places/events.ts'
import type { AiReviewSlotEvent } from '../../streams/ai-review-slot/events.ts'
import type { AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import type { ForeignEvent } from '../../streams/foreign-event/events.ts'
import type { ConsentChannelEvent } from '../../streams/channels/consent.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import type { Recorded } from '../../engine/relay/channel.ts'
import { defineProcess, Nothing, step } from '../../engine/processes/define-process.ts'
import type { TodoList } from '../../engine/processes/todo-list.ts'
import { claim, ClaimPayload, open, OpenPayload, withdraw } from './claim.steps.ts'
import { claimForeign } from './foreign-claim.steps.ts'
import { release, ReturnCountPayload, returnUnclaimed } from './guard.steps.ts'
import { poll } from './poll.steps.ts'
import { start } from './start.steps.ts'

/**
 * The step that claims a slot also opens the review. After so many milliseconds another worker opens it, in case the
 * first one crashed. A request that waited longer may be opened by both at once. A repeat appends nothing.
 */
const openGraceMs = 2_000

/** The open reviews of each patient. A withdrawn consent ends them. */
const openReviews = defineTable({
  name: 'open_reviews',
  columns: { ai_review_id: 'text', org_id: 'text', patient_id: { type: 'text', nullable: true } },
  primaryKey: ['ai_review_id'],
  indexes: [{ columns: ['org_id', 'patient_id'] }],
})

/** Reviews of an organisation with a limit that hold a place, or wait for one. */
export const reviewPlaces = defineTable({
  name: 'review_places',
  columns: { ai_review_id: 'text', org_id: 'text', is_waiting: 'boolean' },
  primaryKey: ['ai_review_id'],
  indexes: [{ columns: ['is_waiting'] }],
})

/** Organisations that have used up the budget of a UTC day. */
export const usedUpBudgets = defineTable({
  name: 'used_up_budgets',
  columns: { day: 'text', org_id: 'text' },
  primaryKey: ['day', 'org_id'],
})

/** No request takes so many milliseconds from its count to its claim. */
const claimGraceMs = 300_000

/** A waiting review is due again after this time, in milliseconds. Its place usually comes much earlier. */
const parkedMs = 86_400_000

/**
 * The key of `claim` and of `claim-foreign` is the event of the request, that of `return-count` the review and the day. The key
 * of every other step is the review.
 */
const steps = {
  claim: step(ClaimPayload, claim),
  'claim-foreign': step(Nothing, claimForeign),
  open: step(OpenPayload, open),
  start: step(Nothing, start),
  poll: step(Nothing, poll),
  withdraw: step(Nothing, withdraw),
  release: step(Nothing, release),
  'return-count': step(ReturnCountPayload, returnUnclaimed),
}

type Todos = TodoList<typeof steps>
type AiReviewGuardEvent = AiReviewBudgetEvent | AiReviewPlacesEvent

/**
 * The work that a review still needs: its slot (`claim`, `claim-foreign`), its first event (`open`), its start job (`start`), its next
 * poll (`poll`), its end after a withdrawn consent (`withdraw`). For an organisation with limits also the end of its
 * place (`release`), and of a count without a claim (`return-count`).
 */
export const aiReviewProcess = defineProcess<
  AiReviewChannelEvent | ForeignEvent | ConsentChannelEvent | AiReviewGuardEvent | AiReviewSlotEvent | AiReviewEvent,
  ProcessDependencies
>()({
  name: 'ai_review',
  version: 6,
  // A skipped withdrawal of consent would leave a review running.
  decisive: true,
  lookups: [openReviews, reviewPlaces, usedUpBudgets],
  steps,
  on: {
    'ai_review.requested': ({ data, id, revision }, todo) => [
      todo.schedule('claim', id, { at: data.occurred_at, payload: { channelRevision: revision.toString() } }),
    ],
    ForeignEventReceived: ({ data }, todo) =>
      data.eventType === 'ai_review.requested'
        ? [todo.schedule('claim-foreign', data.foreignEventId, { at: data.receivedAt })]
        : [],
    ForeignEventRejected: ({ data }, todo) => [todo.clear(data.foreignEventId, 'claim-foreign')],
    AiReviewRequestAnswered: ({ data: { requestEventId } }, todo) =>
      requestEventId === null ? [] : [todo.clear(requestEventId)],
    AiReviewSlotClaimed: ({ data: { aiReviewId, caseId, productId, requestEventId, claimedAt } }, todo) => {
      const at = new Date(Date.parse(claimedAt) + openGraceMs).toISOString()
      return [
        ...(requestEventId === null ? [] : [todo.clear(requestEventId)]),
        todo.schedule('open', aiReviewId, { at, payload: { caseId, productId } }),
      ]
    },
    AiReviewRequested: ({ data: { aiReviewId, orgId, patientId, requestedAt } }, todo) => [
      todo.clear(aiReviewId, 'open'),
      // If a request counted the review in the day of its claim.
      todo.clear(countKey(aiReviewId, budgetDay(new Date(requestedAt))), 'return-count'),
      insertRow(openReviews, { aiReviewId, orgId, patientId }),
      todo.schedule('start', aiReviewId, { at: requestedAt, existing: 'replace' }),
    ],
    AiReviewStarted: ({ data }) => [patchRow(openReviews, { aiReviewId: data.aiReviewId, patientId: data.patientId })],
    // Hurries its event: a batch that has images of the provider case, too, takes many statements.
    AiReviewProviderCaseCreated: ({ data }, todo) => [todo.move('start', data.aiReviewId, data.createdAt)],
    AiReviewStartDeferred: ({ data }, todo) => [todo.move('start', data.aiReviewId, data.retryAt)],
    AiReviewProcessingAccepted: ({ data }, todo) => [
      todo.clear(data.aiReviewId, 'start'),
      todo.schedule('poll', data.aiReviewId, { at: data.nextPollAt }),
    ],
    AiReviewPollDeferred: ({ data }, todo) => [todo.move('poll', data.aiReviewId, data.nextPollAt)],
    AiReviewCallPostponed: ({ data }, todo) => [
      todo.move(data.call === 'result' ? 'poll' : 'start', data.aiReviewId, data.retryAt),
    ],
    'consent.withdrawn': consentRefused,
    'consent.denied': consentRefused,
    // A later decision has its own instant, and its row stays.
    AiReviewConsentConfirmed: ({ data }, todo) => [
      todo.clearWhere('withdraw', { key: data.aiReviewId, at: data.checkedAt }),
    ],
    AiReviewCounted: ({ data }, todo) => {
      const { aiReviewId, caseId, productId, isClaimed, budgetLeft, countedAt } = data
      const counted = new Date(countedAt)
      const day = budgetDay(counted)
      const at = new Date(counted.getTime() + claimGraceMs).toISOString()
      const due = { at, existing: 'replace', payload: { aiReviewId, caseId, productId, day } } as const
      return [
        ...(isClaimed ? [] : [todo.schedule('return-count', countKey(aiReviewId, day), due)]),
        // The operator may have raised the budget since.
        (budgetLeft === 0 ? upsertRow : removeRow)(usedUpBudgets, { day, orgId: todo.orgId }),
      ]
    },
    AiReviewCountReturned: ({ data, stream }, todo) => {
      const { id: day } = parseOwnedStream(stream)
      return [
        todo.clear(countKey(data.aiReviewId, day), 'return-count'),
        removeRow(usedUpBudgets, { day, orgId: todo.orgId }),
      ]
    },
    AiReviewPlaceAwaited: ({ data: { aiReviewId, awaitedAt } }, todo) => [
      upsertRow(reviewPlaces, { aiReviewId, orgId: todo.orgId, isWaiting: true }),
      dueAgain(aiReviewId, new Date(Date.parse(awaitedAt) + parkedMs).toISOString(), todo),
    ],
    AiReviewPlaceTaken: ({ data: { aiReviewId, wasWaiting, takenAt } }, todo) => [
      upsertRow(reviewPlaces, { aiReviewId, orgId: todo.orgId, isWaiting: false }),
      // The end of another review gave a waiting one its place. The row keeps its own cause.
      wasWaiting ? todo.moveWhere('start', { key: aiReviewId }, takenAt) : dueAgain(aiReviewId, takenAt, todo),
    ],
    AiReviewPlaceReleased: ({ data: { aiReviewId } }, todo) => [
      todo.clear(aiReviewId),
      removeRow(reviewPlaces, { aiReviewId }),
    ],
    AiReviewCompleted: ({ data }, todo) => ended(data.aiReviewId, data.completedAt, todo),
    AiReviewFailed: ({ data }, todo) => ended(data.aiReviewId, data.failedAt, todo),
    AiReviewCancelled: ({ data }, todo) => ended(data.aiReviewId, data.cancelledAt, todo),
    AiReviewSuperseded: ({ data }, todo) => ended(data.aiReviewId, data.supersededAt, todo),
  },
})

/** A request and its repeat may count one review in two days. */
function countKey(aiReviewId: string, day: string): string {
  return `${aiReviewId}/${day}`
}

/** If the review has ended meanwhile, there is no row. Then the step releases the place. */
function dueAgain(aiReviewId: string, at: string, todo: Todos): RowChange {
  return todo.schedule('start', aiReviewId, { at, existing: 'replace' })
}

function ended(aiReviewId: string, at: string, todo: Todos): RowChange[] {
  return [
    todo.clear(aiReviewId),
    removeRow(openReviews, { aiReviewId }),
    // A review may end twice: it completes, and is superseded later.
    todo.scheduleForEach('release', reviewPlaces, { aiReviewId }, (place) => ({
      key: place('aiReviewId'),
      at,
      mayWait: true,
      existing: 'replace',
    })),
  ]
}

function consentRefused({ data }: Recorded<ConsentChannelEvent>, todo: Todos): RowChange[] {
  if (data.consent_type_code !== requiredConsentCode) return []
  const ofPatient = { orgId: data.org_id, patientId: data.patient_id }
  return [
    // If a second refusal comes before the first is worked off, only the latest is due.
    todo.scheduleForEach('withdraw', openReviews, ofPatient, (review) => ({
      key: review('aiReviewId'),
      at: data.occurred_at,
      existing: 'replace',
    })),
  ]
}
