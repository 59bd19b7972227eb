/** A deliberate fault, and the tests that must detect it. */
export interface Mutant {
  readonly name: string
  /** The effect of the fault, for readers of the list. */
  readonly fault: string
  /** Path from the root of the repository. */
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly text: string
  readonly replacement: string
  readonly caughtBy: readonly Catcher[]
}

/** A test that must fail: its file, and a part of its name that is unique in that file. */
export interface Catcher {
  readonly file: string
  readonly test: string
}
