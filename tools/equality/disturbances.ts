import * as fc from 'fast-check'
import type { CutMoment } from './cutting-proxy.ts'
import type { Delivery } from './growing-log.ts'

/** A disturbance of the runner when the log has grown to `percent` percent of its length (0 to 100). */
export type Disturbance =
  | { readonly kind: 'none'; readonly percent: number }
  /** Its connections to Postgres are cut at a statement. */
  | { readonly kind: 'cut'; readonly percent: number; readonly statements: number; readonly moment: CutMoment }
  /** It never reaches Postgres again. Another runner replaces it. */
  | { readonly kind: 'kill'; readonly percent: number; readonly statements: number; readonly moment: CutMoment }
  /** It closes and another runner replaces it. With `overlaps`, the other one starts first. */
  | { readonly kind: 'restart'; readonly percent: number; readonly overlaps: boolean }
  /** Its subscriptions end with an error. */
  | { readonly kind: 'break'; readonly percent: number }
  /** An operator stops a projector and resumes it at the end. */
  | { readonly kind: 'stop'; readonly percent: number; readonly projector: number }

export interface Course {
  readonly disturbances: readonly Disturbance[]
  readonly delivery: Delivery
}

const percent = fc.nat(100)
const moment = fc.constantFrom('before' as const, 'after' as const)
const statements = fc.nat(40)

const disturbance: fc.Arbitrary<Disturbance> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('none' as const), percent }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cut' as const), percent, statements, moment }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('kill' as const), percent, statements, moment }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('restart' as const), percent, overlaps: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('break' as const), percent }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('stop' as const), percent, projector: fc.nat(20) }) },
)

/** The delivery of a history to the read models, with its disturbances. */
export const courses: fc.Arbitrary<Course> = fc.record({
  disturbances: fc.array(disturbance, { maxLength: 3 }),
  delivery: fc.record({
    batches: fc.array(fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 8 }), fc.integer({ min: 20, max: 1_000 })), {
      minLength: 1,
      maxLength: 5,
    }),
    repeated: fc.array(fc.oneof(fc.constant(0), fc.nat(30)), { minLength: 1, maxLength: 4 }),
    checkpointEvery: fc.nat(3),
  }),
})
