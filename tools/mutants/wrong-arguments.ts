import { allMutants } from './all-mutants.ts'

/** A line for each fault of the arguments. */
export function wrongArguments(names: readonly string[], sample: string | undefined): string[] {
  const unknown = names.filter((name) => !allMutants.some((mutant) => mutant.name === name))
  return [
    ...(unknown.length > 0 ? [`no mutant ${unknown.join(', ')}`] : []),
    // A sample of none would pass.
    ...(/^[1-9]\d*$/.test(sample ?? '1') ? [] : ['--sample needs a number of at least 1']),
  ]
}
