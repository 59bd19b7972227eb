import { at } from '../../../app/demo/members.ts'
import type { ProviderCall } from '../../../test/support/provider.ts'
import { placeOf, text, type Fact, type Checked, type Finding } from '../facts.ts'

const effects = ['case', 'image', 'process', 'result'] as const

/**
 * Every call to the provider is recorded before it, and no effect that is known to be done is requested again. A step
 * that a crash cut off is repeated as documented. An unknown `case` or `image` begins a new provider case. `process`
 * and `result` are requested again.
 */
export function checkProviderCalls(log: readonly Fact[], calls: readonly ProviderCall[]): Checked {
  const findings: Finding[] = []
  const attempts = log.filter(({ type }) => type === 'AiReviewCallAttempted')
  const done = calls.filter(({ status }) => status === 200)
  for (const effect of effects) {
    const attempted = attempts.filter((fact) => text(fact, 'call') === effect).length
    const answered = done.filter(({ call }) => call === effect).length
    if (answered > attempted)
      findings.push({
        what: 'more calls than attempts on record',
        where: `${effect}: ${answered} calls, ${attempted} attempts`,
      })
  }
  const images = Map.groupBy(
    done.filter(({ call }) => call === 'image'),
    ({ caseId, sha256 }) => `${caseId} ${sha256}`,
  )
  for (const [image, sent] of images)
    if (sent.length > 1)
      findings.push({
        what: `an image sent ${sent.length} times in one provider case`,
        where: `case and digest ${image}`,
      })
  for (const facts of Map.groupBy(
    log.filter(({ stream }) => stream.startsWith('ai_review-')),
    ({ stream }) => stream,
  ).values())
    findings.push(...repeatsOf(facts, done))
  return { check: `one provider call for each effect (${done.length} calls)`, examined: attempts.length, findings }
}

/** Checks one review's attempts in order. A repeat needs a reason why its effect is not done. */
function repeatsOf(facts: readonly Fact[], done: readonly ProviderCall[]): readonly Finding[] {
  const findings: Finding[] = []
  let providerCase: number | undefined
  let isAbandoned = false
  let isAccepted = false
  let isOver = false
  let processAttempts = 0
  let open: string | undefined
  const sent = new Set<string>()
  const refuse = (what: string, fact: Fact) => findings.push({ what, where: placeOf(fact) })
  for (const fact of facts) {
    switch (fact.type) {
      case 'AiReviewCallAttempted': {
        const call = text(fact, 'call')
        isAbandoned ||= open === 'case' || open === 'image'
        if (isOver) refuse('a provider call after the end', fact)
        if (call === 'case' && providerCase !== undefined && !isAbandoned)
          refuse('an unnecessary second provider case', fact)
        if (call !== 'case' && (providerCase === undefined || isAbandoned)) {
          refuse('an unknown provider case is continued', fact)
          isAbandoned = false
        }
        if (call === 'image' && sent.has(text(fact, 'imageId'))) refuse('an image that the provider already has', fact)
        if (call !== 'result' && isAccepted) refuse('a step from before the accepted processing', fact)
        if (call === 'process') processAttempts += 1
        open = call
        break
      }
      case 'AiReviewProviderCaseCreated':
        providerCase = Number(at(fact.data, 'providerCaseId'))
        isAbandoned = false
        processAttempts = 0
        sent.clear()
        open = undefined
        break
      case 'AiReviewImageSent':
        sent.add(text(fact, 'imageId'))
        open = undefined
        break
      case 'AiReviewProcessingAccepted':
        isAccepted = true
        open = undefined
        break
      case 'AiReviewStartDeferred':
        isAbandoned ||= at(fact.data, 'abandonsProviderCase') === true
        open = undefined
        break
      case 'AiReviewCallPostponed':
      case 'AiReviewPollDeferred':
        open = undefined
        break
      case 'AiReviewCompleted':
      case 'AiReviewFailed':
      case 'AiReviewCancelled':
      case 'AiReviewSuperseded':
        isOver = true
    }
    const processed = done.filter(({ call, caseId }) => call === 'process' && caseId === providerCase).length
    if (fact.type === 'AiReviewProcessingAccepted' && processed > processAttempts)
      refuse(`processing requested ${processed} times in ${processAttempts} attempts`, fact)
  }
  return findings
}
