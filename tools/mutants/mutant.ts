/** A deliberate fault, and the tests that must detect it. */
export interface Mutant {
  readonly name: string
  /** The effect of the fault, for readers of the list. */
  readonly fault: string
  /** Path from the root of the repository. */
  readonly file: string
  /** The place in the file, and the code that replaces it: see `planted` in `places.ts`. */
  readonly at: string
  readonly becomes: string
  /** By test file: a part of the name of each test that must fail, unique in that file. */
  readonly caughtBy: Readonly<Record<string, string | readonly string[]>>
}

/** A test that must fail. */
export interface Catcher {
  readonly file: string
  readonly test: string
}

export function catchersOf({ caughtBy }: Mutant): Catcher[] {
  return Object.entries(caughtBy).flatMap(([file, tests]) => [tests].flat().map((test) => ({ file, test })))
}
