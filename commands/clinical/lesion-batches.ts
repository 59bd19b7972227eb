import type { Lesion } from '../../streams/ai-review/events.ts'

/** Lesions of a review for one append, and the number of lesions before them. */
export interface LesionBatch<One = Lesion> {
  readonly lesions: readonly One[]
  readonly before: number
}

const mostLesions = 100
/**
 * Limit for the texts of a batch without its last lesion. Escaped, and with two events each, they fit into one append.
 */
const mostCharacters = 50_000

export function lesionBatches(lesions: readonly Lesion[]): LesionBatch[] {
  return batchesOf(lesions, textOf)
}

/**
 * Deterministic: the same lesions always give the same batches. Each batch is one append with its own command id.
 * `charactersOf` counts those that the events of a lesion contain.
 */
export function batchesOf<One>(lesions: readonly One[], charactersOf: (lesion: One) => number): LesionBatch<One>[] {
  const batches: { readonly lesions: One[]; readonly before: number }[] = []
  let characters = 0
  for (const [before, lesion] of lesions.entries()) {
    const batch = batches.at(-1)
    if (batch === undefined || batch.lesions.length === mostLesions || characters > mostCharacters) {
      batches.push({ lesions: [lesion], before })
      characters = charactersOf(lesion)
    } else {
      batch.lesions.push(lesion)
      characters += charactersOf(lesion)
    }
  }
  return batches
}

/** Number of characters that a diagnosis copies from a lesion. */
function textOf(lesion: Lesion): number {
  const texts = [
    lesion.category,
    lesion.suspectedDiagnosisIcd10Code,
    lesion.suspectedDiagnosisIcd10Term,
    lesion.suspectedDiagnosisSnomedCode,
    lesion.suspectedDiagnosisSnomedTerm,
  ]
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), 0)
}
