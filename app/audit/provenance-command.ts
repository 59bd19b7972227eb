import { ProvenanceReply } from '../../contracts/audit/provenance-record.ts'
import type { Environment } from '../../platform/configuration/configuration.ts'
import { personalReaderOf } from '../../platform/http/personal-members.ts'
import { recordOperatorAccess } from './operator-access.ts'
import { openOperatorServices, organisationOf } from './operator-services.ts'
import type { ProvenanceOrder } from './orders.ts'

const contentOf = personalReaderOf(ProvenanceReply)

/**
 * The provenance of a review, from the servers themselves: as the route answers it, or in lines. The access log contains
 * it before it is printed, as a command of the operator.
 * @throws Error if the review is unknown, not ended or not sealed
 */
export async function provenanceText(env: Environment, { reviewId, isJson }: ProvenanceOrder): Promise<string> {
  const { services, accessLog, close } = await openOperatorServices(env)
  try {
    const orgId = await organisationOf(services.pool, 'ai_review', reviewId)
    const reply = await services.provenance.of(orgId, reviewId)
    const persons = { patientId: reply.document.patient.id }
    const categories = [...(contentOf?.(reply) ?? [])]
    await recordOperatorAccess(accessLog, { orgId, persons, categories, operation: 'getAiReviewProvenance' })
    return isJson ? JSON.stringify(reply) : linesOf(reply).join('\n')
  } finally {
    await close()
  }
}

/** One fact a line, with its event. */
function linesOf({ document, proofs }: ProvenanceReply): string[] {
  const { review, patient, consent_checks, images, calls, provider, result, human_review, ends } = document
  const line = (name: string, facts: readonly (string | number | null | undefined)[], eventId: string) =>
    [name.padEnd(14), facts.map((value) => String(value ?? 'unknown')).join('  '), `event ${eventId}`].join('  ')
  const decided = human_review?.decision ?? null
  return [
    line('review', [review.id, review.requested_at], review.event_id),
    line('patient', [patient.id], patient.event_id),
    ...consent_checks.map(({ call, checked_at, decision, event_id }) =>
      line(
        'consent',
        [
          `before ${call}`,
          checked_at,
          decision?.decision,
          decision?.text_version.locale,
          decision?.text_version.text_sha256,
        ],
        event_id,
      ),
    ),
    ...images.flatMap(({ image_type, sent }) =>
      sent.map(({ sha256, bytes, event_id }) => line('image', [image_type, bytes, sha256], event_id)),
    ),
    ...calls.map(({ call, attempted_at, outcome, event_id }) =>
      line('call', [call, attempted_at, outcome?.status, `${outcome?.duration_ms ?? '?'} ms`], event_id),
    ),
    ...(provider === null ? [] : [line('provider', [provider.name, provider.version], provider.event_id)]),
    ...(result === null ? [] : [line('result', [result.analysis_result, result.response_sha256], result.event_id)]),
    ...(decided === null
      ? []
      : [
          line(
            'decision',
            [decided.user_id, decided.decided_at, decided.agrees_with_ai === true ? 'agrees' : 'differs'],
            decided.event_id,
          ),
        ]),
    ...ends.map(({ status, at, event_id }) => line(status, [at], event_id)),
    `${proofs.length} events, all of them sealed`,
  ]
}
