import type { RequestedImage } from '../../streams/ai-review/review-image.ts'
import { memberOf } from '../../platform/outbound/outside-answers.ts'
import { callService, type ServiceCalls } from './service-call.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

interface SupersessionRequest {
  readonly orgId: TenantId
  readonly aiReviewId: string
  readonly images: readonly Omit<RequestedImage, 'objectKey'>[]
  readonly reason: string
  /** The same for each try. The addresses, and so the body, differ from try to try. */
  readonly idempotencyKey: string
}

type Supersession =
  | { readonly kind: 'superseded'; readonly aiReviewId: string }
  /** An earlier try succeeded, but its answer was lost. */
  | { readonly kind: 'done-before' }
  | { readonly kind: 'done-by-another' }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'over-budget' }
  /** The service was not reached, or cannot answer now. */
  | { readonly kind: 'unavailable'; readonly status: number | null }

/** Requests a new review from the AI-review service, in place of an existing one. */
export interface ReviewSupersession {
  supersede(request: SupersessionRequest, signal: AbortSignal): Promise<Supersession>
}

/** Statuses that are about the request, not about the review. They pass, or an operator corrects them. */
const passing: readonly number[] = [401, 403, 408, 412, 429]

export function createReviewSupersession(calls: ServiceCalls, baseUrl: string): ReviewSupersession {
  return {
    async supersede({ orgId, aiReviewId, images, reason, idempotencyKey }, signal) {
      const url = new URL(`${baseUrl}/v1/ai-reviews/${aiReviewId}/supersede`)
      url.searchParams.set('org_id', orgId)
      const headers = { 'content-type': 'application/json', 'idempotency-key': idempotencyKey }
      const reply = await callService(
        calls,
        url,
        { method: 'POST', headers, body: JSON.stringify({ reason, images }) },
        signal,
      )
      if (reply === null) return { kind: 'unavailable', status: null }
      const { status, body } = reply
      const [made, code] = [memberOf(body, 'aiReviewId'), memberOf(body, 'code')]
      if (status === 202 && typeof made === 'string') return { kind: 'superseded', aiReviewId: made }
      if (code === 'idempotency-key-reused') return { kind: 'done-before' }
      if (code === 'ai-review-already-superseded') return { kind: 'done-by-another' }
      if (code === 'budget-exceeded') return { kind: 'over-budget' }
      const isRefused = status >= 400 && status < 500 && status !== 409 && !passing.includes(status)
      // A closed case stays closed, so a later try would get the same answer.
      return isRefused || code === 'case-closed' ? { kind: 'refused', status } : { kind: 'unavailable', status }
    },
  }
}
