import type { Outcome, Recommendation } from '../../streams/assessment/events.ts'
import type { ImageQuality, Lesion } from '../../streams/ai-review/events.ts'

/** Stored with every outcome. Raise it when the same review would get another outcome. */
export const scoringVersion = '1'

interface Grade {
  /** A rank, not a probability. */
  readonly score: number
  readonly recommendation: Recommendation
  readonly basis: string
}

/** From most to least severe. The first match grades a lesion. The most severe grade of all lesions decides. */
const grades = {
  malignantUrgent: { score: 0.95, recommendation: 'urgent_referral', basis: 'malignant_urgent' },
  malignant: { score: 0.8, recommendation: 'refer', basis: 'malignant' },
  referred: { score: 0.6, recommendation: 'refer', basis: 'referral_flag' },
  unknownCategory: { score: 0.5, recommendation: 'inconclusive', basis: 'category_unknown' },
  unknownFlag: { score: 0.4, recommendation: 'inconclusive', basis: 'referral_flag_unknown' },
  followUp: { score: 0.3, recommendation: 'routine_follow_up', basis: 'follow_up_flag' },
  benign: { score: 0.1, recommendation: 'no_action', basis: 'benign' },
} as const satisfies Record<string, Grade>

const severity: readonly Grade[] = Object.values(grades)

const noLesions: Grade = { score: 0, recommendation: 'inconclusive', basis: 'no_lesion_found' }

/**
 * Derives the result of an assessment from the lesions of its completed review. Deterministic, versioned, documented in
 * `docs/outcome-mapping.md`. The most severe lesion decides. Malignant gives at least `refer`.
 */
export function outcomeOf(lesions: readonly Lesion[], imageQuality: readonly ImageQuality[]): Outcome {
  const found = new Set(lesions.map(gradeOf))
  const grade = severity.find((candidate) => found.has(candidate)) ?? noLesions
  return {
    malignancy_score: grade.score,
    recommendation: grade.recommendation,
    score_basis: grade.basis,
    scoring_version: scoringVersion,
    lesions: lesions.map((lesion) => ({
      lesion_number: lesion.lesionNumber,
      category: lesion.category,
      classification: lesion.classification,
      priority: lesion.priority,
      icd10: { code: lesion.suspectedDiagnosisIcd10Code, term: lesion.suspectedDiagnosisIcd10Term },
      snomed: { code: lesion.suspectedDiagnosisSnomedCode, term: lesion.suspectedDiagnosisSnomedTerm },
      referral_flag: lesion.referralFlag,
      referral_recommendation: lesion.referralRecommendation,
      interpretation_guidance: lesion.interpretationGuidance,
    })),
    image_quality: imageQuality.map(({ imageId, quality }) => ({ image_id: imageId, quality })),
  }
}

function gradeOf(lesion: Lesion): Grade {
  const category = wordsOf(lesion.category).join(' ')
  const flag = referralOf(lesion.referralFlag)
  if (category === 'malignant') return flag === 'urgent' ? grades.malignantUrgent : grades.malignant
  if (flag === 'urgent' || flag === 'refer') return grades.referred
  if (category !== 'benign') return grades.unknownCategory
  if (flag === 'unknown') return grades.unknownFlag
  return flag === 'follow-up' ? grades.followUp : grades.benign
}

const declined = new Set(['', 'no', 'none', 'no referral', 'not required'])
const negations = new Set(['no', 'non', 'not'])

/** The flag is free text of the provider. An unknown text never counts as 'no referral'. */
function referralOf(referralFlag: string | null): 'urgent' | 'refer' | 'follow-up' | 'none' | 'unknown' {
  const words = wordsOf(referralFlag)
  const flag = words.join(' ')
  if (declined.has(flag)) return 'none'
  if (flag.includes('urgent') && !words.some((word) => negations.has(word) || word.startsWith('non'))) return 'urgent'
  if (flag.includes('urgent') || flag.includes('refer') || flag === 'yes') return 'refer'
  return flag.includes('follow') ? 'follow-up' : 'unknown'
}

function wordsOf(text: string | null): string[] {
  return (text ?? '')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
}
