import type { Lesion } from '../../streams/ai-review/events.ts'

/** Lesions of a review that one append takes, and how many of the review's come before them. */
export interface LesionShare {
  readonly lesions: readonly Lesion[]
  readonly before: number
}

const mostLesions = 100
/** Of a share's texts, not counting its last lesion: escaped and with their pairs of events these stay below what one append takes. */
const mostCharacters = 50_000

/**
 * The same shares for the same lesions, whatever was recorded before: each is appended whole, under an id of its own.
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

/** Characters of what a diagnosis takes over. */
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
