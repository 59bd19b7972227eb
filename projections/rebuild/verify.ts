import type { Projector } from '../runtime/projector.ts'
import { compareWithServing } from './compare.ts'
import type { Comparison } from './content.ts'
import type { RebuildContext } from './context.ts'
import { failedAt, withCopies, type Unable } from './rebuild.ts'

export type VerifyOutcome =
  | { readonly name: string; readonly kind: 'equal' | 'differs'; readonly comparison: Comparison }
  | Unable

/** Fills a copy of each read model, compares it with the serving one at the same position, and drops it again. */
export async function verify(context: RebuildContext, projectors: readonly Projector[]): Promise<VerifyOutcome[]> {
  return withCopies<VerifyOutcome>(context, projectors, 'check', async (copy) => {
    const comparison = await compareWithServing(context, copy)
    if (copy.failure !== undefined) return failedAt(copy)
    return { name: copy.serving.name, kind: comparison.isEqual ? 'equal' : 'differs', comparison }
  })
}
