import type { ServerName } from './stage/servers.ts'
import type { Stage, StageOptions } from './stage/stage.ts'

/** The prepared environment of a fault, for example a disk that can be full or a clock that can be moved. */
export interface Ground {
  readonly options: StageOptions
  begin(stage: Stage): Promise<() => Promise<void> | void>
  /** Called after the stage is closed. */
  release(): Promise<void>
}

/** A failure of a component that the platform depends on. */
export interface Fault {
  /** Component, then failure, for example `event store killed`. */
  readonly name: string
  /** The server whose process or line fails. Undefined for faults of disks and clocks. */
  readonly server?: ServerName
  /** Method, for the report. */
  readonly means: string
  /** Duration in a full run and in a short run, in seconds. */
  readonly seconds: { readonly full: number; readonly short: number }
  /** Health checks of which at least one must fail during the fault. Empty when the operator need not act. */
  readonly health: readonly string[]
  /** Tokens may expire. */
  readonly mayExpire?: boolean
  /** Documented error codes with which an assessment may fail because of this fault. */
  readonly mayEnd?: readonly string[]
  /** Prepares the environment. Rejects with the reason where that is impossible. */
  prepare(): Promise<Ground>
}

/** The environment of a fault that needs no preparation. `begin` resolves to the function that ends the fault. */
export function anywhere(begin: Ground['begin']): () => Promise<Ground> {
  return async () => ({ options: {}, begin, release: async () => undefined })
}
