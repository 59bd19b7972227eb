import { v5 } from 'uuid'
import type { SlotHolder } from '../../streams/ai-review-slot/aggregate.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import type { Position } from '../../platform/kit/positions.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute } from '../handling/execute.ts'
import { openReview } from './open-review.ts'
import { supersedeReview } from './supersede-review.ts'

/** Who appends, one command for each of the two streams. */
export interface OpeningContexts {
  readonly supersede: CommandContext
  readonly open: CommandContext
}

/**
 * What follows from a claim: the superseded review is told first, then the new one begins, so that no two of a slot are
 * ever open together. By whoever made the claim just now (`isNew`), and by the process after a crash.
 *
 * @returns where the new review's first event stands, or when it had happened, its last: what holds that holds the review
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

/** The appends that follow from a claim, beside the request's own. */
export function openingOf(context: CommandContext): OpeningContexts {
  const part = (name: string) => ({ ...context, commandId: v5(name, context.commandId) })
  return { supersede: part('supersede'), open: part('open') }
}
