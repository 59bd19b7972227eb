import type { Outcome, Recommendation } from '../../streams/assessment/events.ts'
import type { ImageQuality, Lesion } from '../../streams/ai-review/events.ts'

/** Raised whenever the same review would be answered differently; stored with every outcome. */
export const scoringVersion = '1'

interface Grade {
  /** Ordinal, not a probability (T7): it ranks, nothing more. */
  readonly score: number
  readonly recommendation: Recommendation
  readonly basis: string
}

/** From the most to the least severe; the first that fits a lesion grades it, the first that any lesion has decides. */
const grades = {
  malignantUrgent: { score: 0.95, recommendation: 'urgent_referral', basis: 'malignant_urgent' },
  malignant: { score: 0.8, recommendation: 'refer', basis: 'malignant' },
  referred: { score: 0.6, recommendation: 'refer', basis: 'referral_flag' },
  unknownCategory: { score: 0.5, recommendation: 'inconclusive', basis: 'category_unknown' },
  followUp: { score: 0.3, recommendation: 'routine_follow_up', basis: 'follow_up_flag' },
  benign: { score: 0.1, recommendation: 'no_action', basis: 'benign' },
} as const satisfies Record<string, Grade>

const severity: readonly Grade[] = Object.values(grades)

const noLesions: Grade = { score: 0, recommendation: 'inconclusive', basis: 'no_lesion_found' }

/**
 * The result of an assessment from the lesions of its completed review: deterministic, versioned, documented in
 * `docs/outcome-mapping.md`. The most severe lesion decides; Malignant gives at least `refer`.
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
  const category = (lesion.category ?? '').trim().toLowerCase()
  const flag = (lesion.referralFlag ?? '').trim().toLowerCase()
  const isUrgent = flag.includes('urgent') && !flag.includes('non')
  if (category === 'malignant') return isUrgent ? grades.malignantUrgent : grades.malignant
  if (isUrgent || flag === 'refer' || flag === 'referral' || flag === 'yes') return grades.referred
  if (category !== 'benign') return grades.unknownCategory
  return flag.includes('follow') ? grades.followUp : grades.benign
}
