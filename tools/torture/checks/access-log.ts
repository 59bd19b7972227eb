import { at } from '../../../app/demo/members.ts'
import type { Seen } from '../acknowledged.ts'
import { placeOf, text, type Checked, type Fact, type Finding } from '../facts.ts'

/** The window of the run in seconds: the same read within it raises a count. So the run has both forms. */
export const accessWindowSeconds = 2
/** How long an answer may be under way after its access was recorded. */
const underWayMs = 10_000

/**
 * Each answer that showed something personal is in the access log: by its request, or by the same read before it, whose
 * window was open. Each count belongs to an access before it.
 */
export function checkAccessLog(seen: readonly Seen[], log: readonly Fact[]): Checked {
  const findings: Finding[] = []
  const accesses = log.filter(({ type }) => type === 'AccessRecorded')
  const byRequest = new Set(accesses.map(keyOfRequest))
  const byRead = Map.groupBy(accesses, keyOfRead)
  for (const one of seen) {
    const { operation, patientId, purpose, requestId } = one
    if (byRequest.has(`${operation} ${String(requestId)}`)) continue
    const same = byRead.get(`${operation} ${patientId} ${purpose}`) ?? []
    const earliest = one.at - accessWindowSeconds * 1000 - underWayMs
    const isCounted = same.some((access) => {
      const recorded = Date.parse(text(access, 'at'))
      return recorded <= one.at && recorded >= earliest
    })
    if (!isCounted)
      findings.push({ what: 'shown, but not in the access log', where: `${operation} ${patientId} ${requestId}` })
  }
  const known = new Set<string>()
  for (const fact of log) {
    if (fact.type === 'AccessRecorded') known.add(text(fact, 'accessId'))
    else if (fact.type === 'AccessRepeated' && !known.has(text(fact, 'accessId')))
      findings.push({ what: 'a count without its access', where: placeOf(fact) })
  }
  return { check: 'answers with personal content in the access log', examined: seen.length, findings }
}

function keyOfRequest(access: Fact): string {
  return `${text(access, 'operation')} ${text(access, 'requestId')}`
}

function keyOfRead(access: Fact): string {
  return [text(access, 'operation'), String(at(access.data, 'patientIds', 0)), text(access, 'purpose')].join(' ')
}
