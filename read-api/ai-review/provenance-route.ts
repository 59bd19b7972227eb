import type { Provenance } from '../../contracts/audit/provenance.ts'
import { ProvenanceReply } from '../../contracts/audit/provenance-record.ts'
import { readRoute } from '../../engine/reads/read-route.ts'
import { Uuid } from '../../platform/http/members.ts'
import type { ServiceApp } from '../../platform/http/service.ts'

export interface ProvenanceRouteDependencies {
  readonly provenance: Provenance
}

/** The one GET of this service that reads streams: what is proven is what is stored, not what a read model has of it. */
export function provenanceRoute(app: ServiceApp, { provenance }: ProvenanceRouteDependencies): void {
  readRoute(app, {
    path: '/ai-reviews/:id/provenance',
    operationId: 'getAiReviewProvenance',
    summary: 'What the result of an AI review stands on, signed, and provable without the platform',
    description:
      'The consents, images, calls, result and human review of an ended AI review. Each fact names its event. `proofs` has the stored bytes of each event and the proof that the sealed log contains it. `npm run platform -- audit check` verifies all of it offline.',
    params: { id: Uuid },
    access: { scopes: ['audit:read'], alsoOfActor: true },
    servedBy: [],
    problems: ['not-found', 'review-not-ended', 'provenance-not-sealed', 'provenance-too-large', 'quota-exceeded'],
    reply: ProvenanceReply,
    handle: ({ tenant, params }) => provenance.of(tenant, params.id),
    showsErased: true,
    shows: ({ document }) => ({ patientId: document.patient.id }),
  })
}
