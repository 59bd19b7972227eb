import { v5 } from 'uuid'
import type { SlotHolder } from '../../streams/ai-review-slot/aggregate.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import type { Position } from '../../platform/kit/positions.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute } from '../handling/execute.ts'
import { openReview } from './open-review.ts'
import { supersedeReview } from './supersede-review.ts'

/** The contexts of the two appends. Each stream gets a command of its own. */
export interface OpeningContexts {
  readonly supersede: CommandContext
  readonly open: CommandContext
}

/**
 * Completes a claim: first records in the old review that it is superseded, then begins the new one. So a slot never
 * has two open reviews. The request that made the claim calls this (`isNew`); after a crash, the process does.
 *
 * @returns the position of the new review's first event, or for a repeat of its last. A read model at this position
 * contains the review
 */
export async function openSlotHolder(
  { store }: Pick<CommandDependencies, 'store'>,
  holder: SlotHolder,
  contexts: OpeningContexts,
  { isNew = false }: { readonly isNew?: boolean } = {},
): Promise<Position | undefined> {
  const { orgId, aiReviewId, supersedes } = holder
  if (supersedes !== null) {
    const old = aiReviews.of(orgId, supersedes.aiReviewId)
    await execute(store, old, (state) => supersedeReview({ holder }, state), contexts.supersede)
  }
  const target = { ...aiReviews.of(orgId, aiReviewId), isNew }
  const { reached } = await execute(store, target, (state) => openReview({ holder }, state), contexts.open)
  return reached
}

/** The contexts of the appends that follow the claim of a request. */
export function openingOf(context: CommandContext): OpeningContexts {
  const part = (name: string) => ({ ...context, commandId: v5(name, context.commandId) })
  return { supersede: part('supersede'), open: part('open') }
}
