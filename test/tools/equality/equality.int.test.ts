import { afterAll, beforeAll, expect, it } from 'vitest'
import { aiReviewsProjector } from '../../../projections/ai-review/ai-reviews.projector.ts'
import type { Projector } from '../../../engine/projections/projector.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { checkEquality } from '../../../tools/equality/check.ts'

/* `npm run equality` compares the projectors of the platform. `npm run test:long` runs it beside this file. */

let database: FreshDatabase

beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

/** Counts reviews since the start of its process instead of from the log. No two fillings agree. */
function countingReviews(): Projector {
  let reviews = 0
  const requested = aiReviewsProjector.handlers['AiReviewRequested']
  return {
    ...aiReviewsProjector,
    handlers: {
      ...aiReviewsProjector.handlers,
      AiReviewRequested: (event) => {
        reviews += 1
        const changes = requested?.(event) ?? []
        return changes.map((change) =>
          change.op === 'insert' && change.table === 'ai_reviews'
            ? { ...change, row: { ...change.row, attempt_count: reviews } }
            : change,
        )
      },
    },
  }
}

it(
  'finds a projector that depends on more than the log, and prints how to repeat the failure',
  { timeout: 120_000 },
  async () => {
    const projectors = [countingReviews()]
    const { failures } = await checkEquality({
      databaseUrl: database.url,
      projectors,
      cases: 30,
      // It fails early, and few steps make it smaller.
      seed: 44,
      lanes: 1,
      mostMoves: 5,
    })
    expect(failures).toHaveLength(1)
    expect(failures[0]).toMatch(/^--seed 44 --path \d+(:\d+)* /)
    expect(failures[0]).toContain('ai_reviews.ai_reviews, row 1')
    const path = /--path (\S+)/.exec(failures[0] ?? '')?.[1] ?? ''
    const again = await checkEquality({
      databaseUrl: database.url,
      projectors: [countingReviews()],
      cases: 30,
      seed: 44,
      path,
      mostMoves: 5,
    })
    expect(again.failures).toHaveLength(1)
  },
)
