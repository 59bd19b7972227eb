import type { Stage } from './stage/stage.ts'

/** Something that goes wrong with what a platform stands on. */
export interface Fault {
  /** `event store killed`: component, then what befalls it. */
  readonly name: string
  /** How it is done, for the report. */
  readonly means: string
  /** How long it lasts in a full run and in a short one, in seconds. */
  readonly seconds: { readonly full: number; readonly short: number }
  /** Health checks one of which must fail meanwhile; none where the operator is not concerned. */
  readonly health: readonly string[]
  /** Tokens and signed addresses may run out. */
  readonly mayExpire?: boolean
  /** Begins it and resolves to what ends it. */
  begin(stage: Stage): Promise<() => Promise<void> | void>
}
