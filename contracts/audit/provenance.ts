import type { Configuration } from '../../platform/configuration/configuration.ts'
import { problem } from '../../platform/http/problems.ts'
import { createTurns } from '../../platform/kit/turns.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import type { AiReviewStatus } from '../../streams/ai-review/events.ts'
import { provenanceOf } from './offline/provenance-document.ts'
import { provenanceEvents, type ProvenanceStore } from './provenance-events.ts'
import type { ProvenanceReply } from './provenance-record.ts'
import { openSealedLog, type SealedLogServers } from './sealed-log.ts'
import { signDocument, type DocumentKeys } from './sign-document.ts'

interface ProvenanceServers extends SealedLogServers {
  readonly store: ProvenanceStore & SealedLogServers['store']
  readonly vault: DocumentKeys & SealedLogServers['vault']
  readonly configuration: Pick<Configuration, 'sealIntervalSeconds'>
}

/** What a result stands on, signed, and provable without the platform. */
export interface Provenance {
  /** @throws Problem `not-found`, `review-not-ended`, `provenance-not-sealed`, `provenance-too-large`, `quota-exceeded` */
  of(tenant: TenantId, aiReviewId: string): Promise<ProvenanceReply>
}

const running: readonly AiReviewStatus[] = ['pending', 'in_progress', 'awaiting_result']

/** Documents that are made at a time in a process. Each may have some megabytes. */
const mostDocuments = 4
/** More callers are refused. */
const mostWaiting = 50

export function openProvenance({ store, vault, objects, configuration }: ProvenanceServers): Provenance {
  const sealedLog = openSealedLog({ store, vault, objects })
  const retryAfterSeconds = configuration.sealIntervalSeconds
  const turns = createTurns(mostDocuments)

  async function documentOf(tenant: TenantId, aiReviewId: string): Promise<ProvenanceReply> {
    const { state: review } = await store.load(aiReviews.of(tenant, aiReviewId))
    if (review.status === 'absent') throw problem('not-found')
    if (running.includes(review.status)) throw problem('review-not-ended')
    const events = await provenanceEvents(store, tenant, review)
    const proofs = await sealedLog.proofsOf(events.map(({ stored }) => stored))
    if (proofs === 'not-sealed') throw problem('provenance-not-sealed', { retryAfterSeconds })
    const document = provenanceOf(events.map(({ proven }) => proven))
    if (document === undefined) throw new Error('the events of a review have no request')
    return {
      document,
      jws: await signDocument(vault, 'provenance', document),
      proofs: events.map(({ stored: { id, dataBytes } }, at) => ({
        event_id: id,
        proof: proofs[at] ?? '',
        data: Buffer.from(dataBytes).toString('base64'),
      })),
    }
  }

  return {
    async of(tenant, aiReviewId) {
      if (turns.waiting >= mostWaiting) {
        const detail = `${mostWaiting} callers wait for documents of provenance. Try again after Retry-After.`
        throw problem('quota-exceeded', { retryAfterSeconds: 1, detail })
      }
      return turns.run(() => documentOf(tenant, aiReviewId))
    },
  }
}
