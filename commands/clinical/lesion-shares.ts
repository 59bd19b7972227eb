import type { Lesion } from '../../streams/ai-review/events.ts'

/** Lesions of a review for one append, and the number of lesions before them. */
export interface LesionShare<One = Lesion> {
  readonly lesions: readonly One[]
  readonly before: number
}

const mostLesions = 100
/**
 * Limit for the texts of a share without its last lesion. Escaped, and with two events each, they fit into one append.
 */
const mostCharacters = 50_000

export function lesionShares(lesions: readonly Lesion[]): LesionShare[] {
  return sharesOf(lesions, textOf)
}

/**
 * Deterministic: the same lesions always give the same shares. Each share is one append with its own command id.
 * `charactersOf` counts those that the events of a lesion contain.
 */
export function sharesOf<One>(lesions: readonly One[], charactersOf: (lesion: One) => number): LesionShare<One>[] {
  const shares: { readonly lesions: One[]; readonly before: number }[] = []
  let characters = 0
  for (const [before, lesion] of lesions.entries()) {
    const share = shares.at(-1)
    if (share === undefined || share.lesions.length === mostLesions || characters > mostCharacters) {
      shares.push({ lesions: [lesion], before })
      characters = charactersOf(lesion)
    } else {
      share.lesions.push(lesion)
      characters += charactersOf(lesion)
    }
  }
  return shares
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
