import { at } from '../../../app/demo/members.ts'
import { ErasureStep } from '../../../streams/patient-erasure/events.ts'
import type { ApiClient } from '../../../test/support/raw-api.ts'
import { categoryOf, placeOf, text, type Checked, type Fact, type Finding } from '../facts.ts'

/** Members with ids of what belongs to one patient, in events of the platform and of its channels. */
const ids = ['patientId', 'phiSubject', 'assessmentId', 'caseId', 'aiReviewId', 'taskId', 'notificationId', 'consentId']
const members = [...ids, ...ids.map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))]

/** The ids of erased patients and of everything about them. */
export function erasedIds(log: readonly Fact[]): ReadonlySet<string> {
  const erased = new Set(
    log.filter(({ type }) => type === 'PatientErasureStarted').map((fact) => text(fact, 'patientId')),
  )
  for (const fact of log) {
    const named = members.map((member) => text(fact, member)).filter((id) => id !== '')
    if (named.some((id) => erased.has(id))) for (const id of named) erased.add(id)
  }
  return erased
}

/** The log of those who are not erased. An erasure ends open work, so the checks of work do not apply to it. */
export function ofLiving(log: readonly Fact[], erased = erasedIds(log)): readonly Fact[] {
  return log.filter((fact) => !members.some((member) => erased.has(text(fact, member))))
}

/** Erasures without their last event. */
export function erasuresUnderWay(log: readonly Fact[]): readonly string[] {
  const ended = new Set(log.filter(({ type }) => type === 'SubjectErased').map(({ stream }) => stream))
  return log.flatMap(({ type, stream }) => (type === 'PatientErasureStarted' && !ended.has(stream) ? [stream] : []))
}

/** What is left outside the log at the end. */
export interface Left {
  /** Keys of the objects. */
  readonly objects: readonly string[]
  /** `<organisation>/<subject>` of the keys that exist. */
  readonly keys: ReadonlySet<string>
}

const imageKeys = /images\/[\d-]{10}\/[\w-]+\/[\w-]+\/[^"\\]+/g

/**
 * Each erasure did each step once and ended. No key and no object of the patient is left, the API says that it is
 * erased, and lists leave it out. Each image that an event of another patient names is there.
 */
export async function checkErasures(
  api: Pick<ApiClient, 'call'>,
  log: readonly Fact[],
  { objects, keys }: Left,
): Promise<Checked> {
  const erasures = Map.groupBy(
    log.filter((fact) => categoryOf(fact) === 'patient_erasure'),
    ({ stream }) => stream,
  )
  const erased = erasedIds(log)
  const findings: Finding[] = []
  for (const [where, facts] of erasures) {
    const done = facts.filter(({ type }) => type === 'PatientErasureStepDone').map((fact) => text(fact, 'step'))
    if (done.toSorted().join() !== ErasureStep.enum.toSorted().join())
      findings.push({ what: `the steps ${done.join(', ')}`, where })
    const last = facts.at(-1)
    if (last?.type !== 'SubjectErased') findings.push({ what: 'no end', where })
    const [first] = facts
    const patientId = first === undefined ? '' : text(first, 'patientId')
    if ([...keys].some((key) => key.endsWith(`/${patientId}`))) findings.push({ what: 'a key that exists', where })
    const { status } = await api.call(`/v1/clinical-api/patients/${patientId}`)
    if (status !== 410) findings.push({ what: `answered ${status} instead of 410`, where })
  }
  // The ledger stays.
  for (const key of objects.filter((each) => !each.startsWith('erasures/')))
    if (key.split('/').some((part) => erased.has(part))) findings.push({ what: 'an object that exists', where: key })
  const there = new Set(objects)
  for (const fact of ofLiving(log, erased))
    for (const [key] of JSON.stringify(fact.data).matchAll(imageKeys))
      if (!there.has(key)) findings.push({ what: `an image that is gone: ${key}`, where: placeOf(fact) })
  for (const list of ['/v1/clinical-api/cases', '/v1/ai-reviews', '/v1/human-review/tasks'])
    for await (const item of listed(api, list)) {
      const named = [at(item, 'id'), at(item, 'patient_id'), at(item, 'patientId')].map(String)
      if (named.some((id) => erased.has(id)))
        findings.push({ what: `a list with an erased patient: ${list}`, where: named.join(' ') })
    }
  return { check: 'erasures complete, and nobody else touched', examined: erasures.size, findings }
}

async function* listed(api: Pick<ApiClient, 'call'>, path: string): AsyncGenerator<unknown, void, undefined> {
  for (let cursor = ''; ;) {
    const { body } = await api.call(`${path}?limit=200${cursor}`)
    const items = at(body, 'data')
    yield* Array.isArray(items) ? items : []
    const next = at(body, 'next_cursor') ?? at(body, 'nextCursor')
    if (typeof next !== 'string') return
    cursor = `&cursor=${encodeURIComponent(next)}`
  }
}
