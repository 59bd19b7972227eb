import { Ajv, type ErrorObject } from 'ajv'
import { jsonOf } from '../../platform/kit/json-reading.ts'
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

export class InvalidControl extends Error {}

const nullableText = { type: ['string', 'null'] }
const text = { type: 'string', minLength: 1 }

const faults = {
  type: 'array',
  items: {
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

const results = {
  type: 'array',
  items: {
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
  },
}

const ajv = new Ajv({ useDefaults: true, allowUnionTypes: true })
const isFaults = ajv.compile<(Omit<FaultControl, 'status'> & { status?: number })[]>(faults)
const isResults = ajv.compile<ResultControl[]>(results)

/** Throws an `InvalidControl` that names the member. */
export function parseFaults(body: string): FaultControl[] {
  const value = parseJson(body)
  if (!isFaults(value)) throw invalid(isFaults.errors)
  return value.map((fault) => ({ ...fault, status: fault.status ?? (fault.delay_ms > 0 ? 200 : 500) }))
}

/** Throws an `InvalidControl` that names the member. */
export function parseResults(body: string): ResultControl[] {
  const value = parseJson(body)
  if (!isResults(value)) throw invalid(isResults.errors)
  return value
}

function parseJson(body: string): unknown {
  const value = jsonOf(body)
  if (value === undefined) throw new InvalidControl('the body is not JSON')
  return value
}

function invalid(errors: ErrorObject[] | null | undefined): InvalidControl {
  const [error] = errors ?? []
  const place = error?.instancePath === '' ? 'the body' : error?.instancePath
  const extra: unknown = error?.params['additionalProperty']
  const named = typeof extra === 'string' ? `: ${extra}` : ''
  return new InvalidControl(`${place} ${error?.message ?? 'is not valid'}${named}`)
}
