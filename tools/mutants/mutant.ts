/** A deliberate fault, and the tests that are there to notice it. */
export interface Mutant {
  readonly name: string
  /** What goes wrong, for whoever reads the table. */
  readonly fault: string
  /** From the root of the repository. */
  readonly file: string
  /** Stands in the file exactly once. */
  readonly text: string
  readonly replacement: string
  readonly caughtBy: readonly Catcher[]
}

/** A test that must fail: its file, and a part of its name that none but it has in there. */
export interface Catcher {
  readonly file: string
  readonly test: string
}
