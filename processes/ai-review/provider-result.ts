import { unsuitableQuality } from '../../commands/assessments/conclude-assessment.ts'
import type { ReviewResult } from '../../commands/ai-review/record-outcome.ts'
import type { ImageQuality, Lesion } from '../../streams/ai-review/events.ts'
import { readJsonText } from '../../platform/kit/json-reading.ts'
import type { AwaitingReview } from '../../streams/ai-review/aggregate.ts'
import { isInt32, memberOf } from '../../platform/outbound/outside-answers.ts'

/** The part of a result payload that the service reads (specification 2.6). Only the raw response contains the rest. */
type ProviderResult = { readonly kind: 'not-processed' } | { readonly kind: 'processed'; readonly result: ReviewResult }

/** The provider is an outside system. A missing member, or one of another type, becomes null. */
export function readProviderResult(text: string, review: AwaitingReview): ProviderResult {
  const payload = readJsonText(text)
  // The specification names the status of an answer, and among the members of a result only that of the analysis.
  const status = memberOf(payload, 'status') === undefined ? 'analysisStatus' : 'status'
  if (textOf(payload, status) !== 'STATUS_PROCESSED') return { kind: 'not-processed' }
  const lesions = numbered(arrayOf(payload, 'lesions'))
  return {
    kind: 'processed',
    result: {
      analysisResult: textOf(payload, 'analysisResult') ?? '',
      analysisStatus: textOf(payload, 'analysisStatus'),
      lesionCount: countOf(payload, 'lesionCount') ?? lesions.length,
      processingType: textOf(payload, 'processingType'),
      sensitivitySet: textOf(payload, 'sensitivitySet'),
      reportDate: instantOf(numberOf(payload, 'reportDate')),
      providerVersion: textOf(payload, 'assessedByProviderVersion'),
      imageQuality: qualitiesOf(payload, review),
      lesions,
    },
  }
}

/** In the order of the request, by the ids that the provider returned for the images. */
function qualitiesOf(payload: unknown, review: AwaitingReview): ImageQuality[] {
  const reported = new Map<number | null, string | null>()
  for (const image of arrayOf(payload, 'images')) {
    const [id, quality] = [numberOf(image, 'imageId'), textOf(image, 'imageQuality')]
    // Of two different values the worse counts: an unsuitable image must not look suitable.
    if (reported.get(id) !== unsuitableQuality) reported.set(id, quality)
  }
  return review.images.map(({ imageId }) => {
    const sent = review.sentImages.get(imageId)
    return { imageId, quality: sent === undefined ? null : (reported.get(sent.providerImageId) ?? null) }
  })
}

/** Uses the numbers of the provider. If they are not unique numbers from 1, uses the place in the list. */
function numbered(lesions: readonly unknown[]): Lesion[] {
  const numbers = lesions.map((lesion) => integerOf(lesion, 'lesionNumber') ?? 0)
  const areUsable = numbers.every((number) => number >= 1) && new Set(numbers).size === numbers.length
  return lesions.map((lesion, index) => lesionOf(lesion, areUsable ? (numbers[index] ?? index + 1) : index + 1))
}

function lesionOf(lesion: unknown, lesionNumber: number): Lesion {
  return {
    lesionNumber,
    providerLesionId: integerOf(lesion, 'lesionId') ?? 0,
    coordinates: coordinatesOf(memberOf(lesion, 'coordinates')),
    classification: textOf(lesion, 'classification'),
    category: textOf(lesion, 'category'),
    priority: integerOf(lesion, 'priority'),
    suspectedDiagnosisIcd10Code: textOf(lesion, 'suspectedDiagnosisIcd10Code'),
    suspectedDiagnosisIcd10Term: textOf(lesion, 'suspectedDiagnosisIcd10Term'),
    suspectedDiagnosisSnomedCode: textOf(lesion, 'suspectedDiagnosisSnomedCode'),
    suspectedDiagnosisSnomedTerm: textOf(lesion, 'suspectedDiagnosisSnomedTerm'),
    referralFlag: textOf(lesion, 'referralFlag'),
    referralRecommendation: textOf(lesion, 'referralRecommendation'),
    referralRecommendationGuidance: textOf(lesion, 'referralRecommendationGuidance'),
    interpretationGuidance: textOf(lesion, 'interpretationGuidance'),
  }
}

function coordinatesOf(value: unknown): Lesion['coordinates'] {
  const [x1, y1, x2, y2] = ['x1', 'y1', 'x2', 'y2'].map((name) => numberOf(value, name))
  if (x1 === null || y1 === null || x2 === null || y2 === null) return null
  if (x1 === undefined || y1 === undefined || x2 === undefined || y2 === undefined) return null
  return { x1, y1, x2, y2 }
}

const longestText = 10_000

/** At most 10,000 characters, so that the events fit into one append. The raw response contains all. */
function textOf(value: unknown, name: string): string | null {
  const member = memberOf(value, name)
  return typeof member === 'string' ? member.slice(0, longestText) : null
}

/** Unix milliseconds. Null outside the years that the platform accepts. */
function instantOf(milliseconds: number | null): string | null {
  if (milliseconds === null || milliseconds < Date.UTC(1850, 0, 1) || milliseconds > Date.UTC(9998, 11, 31)) return null
  return new Date(milliseconds).toISOString()
}

function countOf(value: unknown, name: string): number | null {
  const member = integerOf(value, name)
  return member !== null && member >= 0 ? member : null
}

function numberOf(value: unknown, name: string): number | null {
  const member = memberOf(value, name)
  return typeof member === 'number' && Number.isFinite(member) ? member : null
}

function integerOf(value: unknown, name: string): number | null {
  const member = numberOf(value, name)
  return member !== null && isInt32(member) ? member : null
}

function arrayOf(value: unknown, name: string): readonly unknown[] {
  const member: unknown = memberOf(value, name)
  return Array.isArray(member) ? member : []
}
