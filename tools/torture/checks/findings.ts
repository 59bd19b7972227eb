import { at } from '../../../app/demo/members.ts'
import { placeOf, text, type Fact, type Checked, type Finding } from '../facts.ts'

/**
 * The expected `<review> <lesion>` of each lesion of completed reviews, and whether its review was superseded later.
 */
function expectedOf(
  log: readonly Fact[],
): ReadonlyMap<string, { readonly isSuperseded: boolean; readonly source: Fact }> {
  const superseded = new Set(log.filter(({ type }) => type === 'AiReviewSuperseded').map(({ stream }) => stream))
  const expected = new Map<string, { readonly isSuperseded: boolean; readonly source: Fact }>()
  for (const source of log.filter(({ type }) => type === 'AiReviewCompleted')) {
    const lesions: unknown = at(source.data, 'lesions')
    for (const lesion of Array.isArray(lesions) ? lesions : []) {
      expected.set(`${text(source, 'aiReviewId')} ${String(at(lesion, 'lesionNumber'))}`, {
        isSuperseded: superseded.has(source.stream),
        source,
      })
    }
  }
  return expected
}

function lesionOf(fact: Fact): string {
  return `${text(fact, 'aiReviewId')} ${String(at(fact.data, 'lesionNumber'))}`
}

const types = ['CaseFindingRecorded', 'CaseDiagnosisRecorded', 'CaseDiagnosisSuperseded'] as const

/** The facts about findings and diagnoses of the AI. Diagnoses of clinicians come from tasks of human review. */
function factsOfAi(log: readonly Fact[]): readonly Fact[] {
  return log.filter(({ type, data }) => types.some((one) => one === type) && at(data, 'source') !== 'clinician')
}

/** Lesions with a missing finding, diagnosis or supersession. */
export function withoutFindings(log: readonly Fact[]): readonly string[] {
  const recorded = new Set(factsOfAi(log).map((fact) => `${fact.type} ${lesionOf(fact)}`))
  return [...expectedOf(log)].flatMap(([lesion, { isSuperseded }]) => {
    const due = isSuperseded ? types : types.slice(0, 2)
    return due.map((type) => `${type} ${lesion}`).filter((one) => !recorded.has(one))
  })
}

/**
 * Each lesion of a completed review has one finding and one diagnosis of the AI. The diagnosis is superseded once if the
 * review was, or if a clinician corrected or rejected it. There are no others.
 */
export function checkFindings(log: readonly Fact[]): Checked {
  const expected = expectedOf(log)
  const findings: Finding[] = withoutFindings(log).map((where) => ({ what: 'not recorded', where }))
  for (const type of types) {
    const seen = new Set<string>()
    for (const fact of factsOfAi(log).filter((one) => one.type === type)) {
      const lesion = lesionOf(fact)
      const due = expected.get(lesion)
      if (due === undefined) findings.push({ what: `${type} of no lesion`, where: placeOf(fact) })
      else if (type === 'CaseDiagnosisSuperseded' && !due.isSuperseded && typeof at(fact.data, 'taskId') !== 'string')
        findings.push({ what: 'superseded, but its review is not', where: placeOf(fact) })
      if (seen.has(lesion)) findings.push({ what: `a second ${type}`, where: placeOf(fact) })
      seen.add(lesion)
    }
  }
  return { check: 'findings and diagnoses of completed reviews once', examined: expected.size, findings }
}
