/** One finding in the provider's format. Every lesion of a result contains all members. */
export type Finding = {
  classification: string
  category: string
  priority: number
  suspectedDiagnosis: string
  suspectedDiagnosisIcd10Code: string | null
  suspectedDiagnosisIcd10Term: string | null
  suspectedDiagnosisSnomedCode: string | null
  suspectedDiagnosisSnomedTerm: string | null
  referralFlag: string | null
  referralRecommendation: string | null
  referralRecommendationGuidance: string | null
  interpretationGuidance: string | null
}

export type Coordinates = { x1: number; y1: number; x2: number; y2: number }

export type Lesion = Finding & { coordinates: Coordinates }

const REFERRALS = {
  urgent: ['URGENT_REFERRAL', 'Refer urgently', 'See a dermatologist within two weeks.'],
  refer: ['REFER', 'Refer', 'See a dermatologist at the next opportunity.'],
  followUp: ['FOLLOW_UP', 'Follow up', 'Photograph the lesion again in three months.'],
  none: ['NO_REFERRAL', 'No referral', 'No action is needed unless the lesion changes.'],
} as const

/** Fictional findings under real codes (ICD-10, SNOMED CT), from the most to the least severe. */
export const FINDINGS: readonly Finding[] = [
  finding(
    'MEL',
    'Malignant',
    1,
    'Melanoma',
    ['C43.9', 'Malignant melanoma of skin, unspecified'],
    ['93655004', 'Malignant melanoma of skin'],
    'urgent',
  ),
  finding(
    'SCC',
    'Malignant',
    2,
    'Squamous cell carcinoma',
    ['C44.9', 'Malignant neoplasm of skin, unspecified'],
    ['254651007', 'Squamous cell carcinoma of skin'],
    'urgent',
  ),
  finding(
    'BCC',
    'Malignant',
    3,
    'Basal cell carcinoma',
    ['C44.9', 'Malignant neoplasm of skin, unspecified'],
    ['254701007', 'Basal cell carcinoma of skin'],
    'refer',
  ),
  finding(
    'AK',
    'Premalignant',
    4,
    'Actinic keratosis',
    ['L57.0', 'Actinic keratosis'],
    ['201101007', 'Actinic keratosis'],
    'followUp',
  ),
  finding(
    'NV',
    'Benign',
    5,
    'Melanocytic naevus',
    ['D22.9', 'Melanocytic naevi, unspecified'],
    ['400010006', 'Melanocytic naevus of skin'],
    'followUp',
  ),
  finding(
    'SK',
    'Benign',
    6,
    'Seborrhoeic keratosis',
    ['L82', 'Seborrhoeic keratosis'],
    ['25499005', 'Seborrhoeic keratosis'],
    'none',
  ),
]

/** The simulated lesions of an image: one or two, always the same for the same bytes. `sha256` is hex. */
export function lesionsIn(sha256: string): Lesion[] {
  const bytes = Buffer.from(sha256, 'hex')
  const count = 1 + ((bytes[0] ?? 0) % 2)
  return Array.from({ length: count }, (_, index) => ({
    ...findingBy(bytes[index + 1] ?? 0),
    coordinates: coordinatesBy(bytes, index),
  }))
}

/** Coordinates of a lesion in pixels. They are derived like the rest, also for lesions that come without a place. */
export function coordinatesBy(bytes: Buffer, index: number): Coordinates {
  const at = (offset: number): number => bytes[(3 + index * 4 + offset) % bytes.length] ?? 0
  const x1 = 40 + at(0)
  const y1 = 40 + at(1)
  return { x1, y1, x2: x1 + 60 + at(2), y2: y1 + 60 + at(3) }
}

function findingBy(byte: number): Finding {
  const found = FINDINGS[byte % FINDINGS.length]
  if (found === undefined) throw new Error('no findings')
  return found
}

function finding(
  classification: string,
  category: string,
  priority: number,
  suspectedDiagnosis: string,
  [icd10Code, icd10Term]: readonly [string, string],
  [snomedCode, snomedTerm]: readonly [string, string],
  referral: keyof typeof REFERRALS,
): Finding {
  const [referralFlag, referralRecommendation, referralRecommendationGuidance] = REFERRALS[referral]
  return {
    classification,
    category,
    priority,
    suspectedDiagnosis,
    suspectedDiagnosisIcd10Code: icd10Code,
    suspectedDiagnosisIcd10Term: icd10Term,
    suspectedDiagnosisSnomedCode: snomedCode,
    suspectedDiagnosisSnomedTerm: snomedTerm,
    referralFlag,
    referralRecommendation,
    referralRecommendationGuidance,
    interpretationGuidance: 'Simulated finding: it says nothing about the photograph.',
  }
}
