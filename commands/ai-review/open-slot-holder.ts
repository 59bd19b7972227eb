import { v5 } from 'uuid'
import type { SlotHolder } from '../../streams/ai-review-slot/aggregate.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import type { Position } from '../../platform/kit/positions.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute, loadExisting } from '../../engine/commands/execute.ts'
import { countClaimed } from './count-review.ts'
import { openReview } from './open-review.ts'
import { supersedeReview } from './supersede-review.ts'

/** The contexts of the appends. Each stream gets a command of its own. */
export interface OpeningContexts {
  readonly count: CommandContext
  readonly supersede: CommandContext
  readonly open: CommandContext
}

/**
 * Completes a claim: first records in the old review that it is superseded, then begins the new one. So a slot never
 * has two open reviews. The request that made the claim calls this (`isNew`). After a crash the process calls it. A
 * review that an event requested is counted in the budget of its day before its first event is appended. So it counts
 * even if it fails at once.
 *
 * @returns the position of the new review's first event, or for a repeat of its last. A read model at this position
 * contains the review
 */
export async function openSlotHolder(
  deps: Pick<CommandDependencies, 'store' | 'configuration'>,
  holder: SlotHolder,
  contexts: OpeningContexts,
  { isNew = false }: { readonly isNew?: boolean } = {},
): Promise<Position | undefined> {
  const { store, configuration } = deps
  const { orgId, aiReviewId, supersedes, requestEventId } = holder
  const review = aiReviews.of(orgId, aiReviewId)
  if (supersedes !== null) {
    const old = aiReviews.of(orgId, supersedes.aiReviewId)
    await execute(store, old, (state) => supersedeReview({ holder }, state), contexts.supersede)
  }
  // The request of a client has counted its review before the claim.
  const counts = requestEventId !== null && configuration.aiReviewDailyBudgetPerOrg !== undefined
  if (counts && (isNew || (await loadExisting(store, review)).status === 'absent'))
    await countClaimed(deps, holder, contexts.count)
  const { reached } = await execute(
    store,
    { ...review, isNew },
    (state) => openReview({ holder }, state),
    contexts.open,
  )
  return reached
}

/** The contexts of the appends that follow the claim of a request. */
export function openingOf(context: CommandContext): OpeningContexts {
  const part = (name: string) => ({ ...context, commandId: v5(name, context.commandId) })
  return { count: part('count claimed'), supersede: part('supersede'), open: part('open') }
}
