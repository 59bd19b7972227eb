import type { Mutant } from './mutant.ts'
import { processMutants } from './process-mutants.ts'
import { projectionMutants } from './projection-mutants.ts'
import { storeMutants } from './store-mutants.ts'

export const allMutants: readonly Mutant[] = [...projectionMutants, ...processMutants, ...storeMutants]
