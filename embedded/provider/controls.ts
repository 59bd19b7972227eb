import { controlList } from '../children/remote-control.ts'
import type { Lesion } from './findings.ts'

const FAULTY_CALLS = ['login', 'case', 'image', 'process', 'result'] as const
export type CallName = (typeof FAULTY_CALLS)[number] | 'logout'

/** The next `times` calls of a kind answer `status`. A status below 300 without a body only delays the real answer. */
export type FaultControl = { call: CallName; status: number; delay_ms: number; times: number; body?: string }

/**
 * Changes in the results for images with this SHA-256, or for all images (`*`). Omitted members keep their normal
 * values.
 */
export type ResultControl = {
  sha256: string
  not_ready_polls?: number
  analysis_result?: string
  image_quality?: string
  lesions?: Partial<Lesion>[]
}

const nullableText = { type: ['string', 'null'] }
const text = { type: 'string', minLength: 1 }

const fault = {
  type: 'object',
  additionalProperties: false,
  required: ['call'],
  properties: {
    call: { enum: FAULTY_CALLS },
    status: { type: 'integer', minimum: 200, maximum: 599 },
    delay_ms: { type: 'integer', minimum: 0, maximum: 600_000, default: 0 },
    times: { type: 'integer', minimum: 1, maximum: 1_000_000, default: 1 },
    body: { type: 'string' },
  },
}

const corner = { type: 'number' }
const lesion = {
  type: 'object',
  additionalProperties: false,
  properties: {
    lesionNumber: { type: 'integer' },
    lesionId: { type: 'integer' },
    coordinates: {
      type: 'object',
      additionalProperties: false,
      required: ['x1', 'y1', 'x2', 'y2'],
      properties: { x1: corner, y1: corner, x2: corner, y2: corner },
    },
    classification: text,
    category: text,
    priority: { type: 'integer' },
    suspectedDiagnosis: nullableText,
    suspectedDiagnosisIcd10Code: nullableText,
    suspectedDiagnosisIcd10Term: nullableText,
    suspectedDiagnosisSnomedCode: nullableText,
    suspectedDiagnosisSnomedTerm: nullableText,
    referralFlag: nullableText,
    referralRecommendation: nullableText,
    referralRecommendationGuidance: nullableText,
    interpretationGuidance: nullableText,
  },
}

const result = {
  type: 'object',
  additionalProperties: false,
  required: ['sha256'],
  properties: {
    sha256: { type: 'string', pattern: '^([0-9a-f]{64}|\\*)$' },
    not_ready_polls: { type: 'integer', minimum: 0 },
    analysis_result: text,
    image_quality: text,
    lesions: { type: 'array', items: lesion },
  },
}

const readFaults = controlList<Omit<FaultControl, 'status'> & { status?: number }>(fault)

/** Throws an `InvalidControl` that names the member. */
export function parseFaults(body: string): FaultControl[] {
  return readFaults(body).map((given) => ({ ...given, status: given.status ?? (given.delay_ms > 0 ? 200 : 500) }))
}

/** Throws an `InvalidControl` that names the member. */
export const parseResults = controlList<ResultControl>(result)
