import type { Stage, StageOptions } from './stage/stage.ts'

/** What a stage must stand on for a fault to be possible: a disk that can be full, a clock that can be moved. */
export interface Ground {
  readonly options: StageOptions
  begin(stage: Stage): Promise<() => Promise<void> | void>
  /** After the stage is closed. */
  release(): Promise<void>
}

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
  /** Tokens may run out. */
  readonly mayExpire?: boolean
  /** Error codes with which an assessment may fail because of it, as is documented. */
  readonly mayEnd?: readonly string[]
  /** Makes what it needs; rejects, saying why, where that is not possible. */
  prepare(): Promise<Ground>
}

/** The ground of a fault that can happen to any stage; `begin` resolves to what ends it. */
export function anywhere(begin: Ground['begin']): () => Promise<Ground> {
  return async () => ({ options: {}, begin, release: async () => undefined })
}
