import type { Lesion } from '../../streams/ai-review/events.ts'

/** Lesions of a review for one append, and the number of lesions before them. */
export interface LesionShare {
  readonly lesions: readonly Lesion[]
  readonly before: number
}

const mostLesions = 100
/**
 * Limit for the texts of a share without its last lesion. Escaped, and with two events each, they fit into one append.
 */
const mostCharacters = 50_000

/**
 * Deterministic: the same lesions always give the same shares. Each share is one append with its own command id.
 */
export function lesionShares(lesions: readonly Lesion[]): LesionShare[] {
  const shares: { readonly lesions: Lesion[]; readonly before: number }[] = []
  let characters = 0
  for (const [before, lesion] of lesions.entries()) {
    const share = shares.at(-1)
    if (share === undefined || share.lesions.length === mostLesions || characters > mostCharacters) {
      shares.push({ lesions: [lesion], before })
      characters = textOf(lesion)
    } else {
      share.lesions.push(lesion)
      characters += textOf(lesion)
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
