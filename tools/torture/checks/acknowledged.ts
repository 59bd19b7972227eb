import { at } from '../../../app/demo/members.ts'
import { comparePositions, parsePosition } from '../../../platform/kit/positions.ts'
import { operations, type Acknowledged, type LoadSummary, type Operation } from '../acknowledged.ts'
import { ofLiving } from './erased.ts'
import { placeOf, text, type Fact, type Checked, type Finding } from '../facts.ts'

/** Events that have another cause than a request of the load. */
const hasOtherCause: Readonly<Record<string, (data: unknown) => boolean>> = {
  // Starts a round for a redelivery that was requested before a cancellation. Its request is in the log already.
  WebhookRedeliveryRequested: (data) => at(data, 'request') === null,
  // A rule made it.
  NotificationCreated: (data) => at(data, 'trigger') !== null,
  // An output step of a workflow ends in it.
  AssessmentRequested: (data) => at(data, 'mode') === 'collected',
  // An assessment opened it.
  CaseOpened: (data) => at(data, 'assessmentId') !== null,
  // It starts with its case.
  WorkflowInstanceStarted: (data) => at(data, 'fingerprint') === null,
  WorkflowInstanceCancelled: (data) => at(data, 'reason') === 'case_closed',
}

interface FactOfWrite {
  readonly type: string
  readonly or?: string
  readonly member: string
  readonly and?: string
  /** The load makes the same change of a record several times. The id ends with its place among them. */
  readonly isRepeated?: boolean
}

/** The event of each write, and the member with the id in its answer, or both members of it. */
const factOfWrite: Readonly<Record<Operation, FactOfWrite>> = {
  patient: { type: 'PatientRegistered', member: 'patientId' },
  consent: { type: 'ConsentRecorded', member: 'consentId' },
  assessment: { type: 'AssessmentRequested', member: 'assessmentId' },
  submit: { type: 'AssessmentSubmitted', member: 'assessmentId' },
  cancel: { type: 'AiReviewCancelled', member: 'aiReviewId' },
  supersede: { type: 'AiReviewRequested', member: 'aiReviewId' },
  subscription: { type: 'WebhookSubscribed', member: 'subscriptionId' },
  readdress: { type: 'WebhookSubscriptionChanged', member: 'url' },
  disable: { type: 'WebhookSubscriptionDisabled', member: 'subscriptionId' },
  enable: { type: 'WebhookSubscriptionEnabled', member: 'subscriptionId' },
  unsubscribe: { type: 'WebhookSubscriptionDeleted', member: 'subscriptionId' },
  user: { type: 'UserCreated', member: 'userId' },
  promote: { type: 'MembershipRoleChanged', member: 'membershipId' },
  suspend: { type: 'UserSuspended', member: 'userId' },
  deactivate: { type: 'UserDeactivated', member: 'userId' },
  reactivate: { type: 'UserReactivated', member: 'userId' },
  leave: { type: 'MembershipRevoked', member: 'membershipId' },
  join: { type: 'UserMembershipAdded', member: 'membershipId' },
  template: { type: 'NotificationTemplateCreated', member: 'code' },
  rule: { type: 'NotificationSubscriptionCreated', member: 'subscriptionId' },
  unrule: { type: 'NotificationSubscriptionDeleted', member: 'subscriptionId' },
  notify: { type: 'NotificationCreated', member: 'notificationId' },
  publish: { type: 'WorkflowDefinitionPublished', member: 'workflowDefinitionId' },
  case: { type: 'CaseOpened', member: 'caseId' },
  close: { type: 'CaseClosed', member: 'caseId' },
  image: { type: 'ImageDeclared', member: 'imageId' },
  receive: { type: 'ImageReceived', member: 'imageId' },
  start: { type: 'WorkflowInstanceStarted', member: 'workflowInstanceId' },
  advance: { type: 'WorkflowStepAdvanced', member: 'workflowInstanceId', isRepeated: true },
  abandon: { type: 'WorkflowInstanceCancelled', member: 'workflowInstanceId' },
  claim: { type: 'HumanReviewTaskClaimed', member: 'taskId', and: 'userId' },
  // The end of a lease is the release, if it comes first.
  release: { type: 'HumanReviewTaskReleased', member: 'taskId', and: 'userId' },
  decide: { type: 'HumanReviewOpinionGiven', member: 'taskId', and: 'userId' },
  erase: { type: 'PatientErasureRequested', member: 'patientId' },
  redeliver: { type: 'WebhookRedeliveryRequested', or: 'WebhookRedeliveryUnneeded', member: 'deliveryId' },
}

/** Writes whose events also have causes that `hasOtherCause` does not find: a new user is a member, too. */
const withOtherCauses: readonly Operation[] = ['submit', 'cancel', 'supersede', 'join', 'template', 'release']
/** A repeat of these is refused if the patient was erased meanwhile, so their answer may never come. */
const ofTasks: readonly Operation[] = ['claim', 'release', 'decide']
/** An unacknowledged event of these must belong to an unanswered request. */
const ofClientsAlone = operations.filter((operation) => !withOtherCauses.includes(operation))

/**
 * Every acknowledged write is in the log once, with one id for each key, and at or before the position in its answer.
 */
export function checkAcknowledged(acknowledged: readonly Acknowledged[], log: readonly Fact[]): Checked {
  const findings: Finding[] = []
  const facts = new Map(operations.map((operation) => [operation, factsOf(operation, log)]))
  const positions = new Set(log.map(({ position }) => position))
  const ids = new Map<string, string>()
  for (const { operation, key, id, position } of acknowledged) {
    const found = facts.get(operation)?.get(id) ?? []
    const [first] = found
    const where = `${operation} ${key} ${id}`
    if (first === undefined) findings.push({ what: 'acknowledged, but not in the log', where })
    for (const second of found.slice(1))
      findings.push({ what: 'acknowledged once, but twice in the log', where: placeOf(second) })
    const other = ids.get(key)
    if (other !== undefined && other !== id)
      findings.push({ what: `one key with two ids, the earlier one: ${other}`, where })
    ids.set(key, id)
    if (position === null) continue
    if (!positions.has(position))
      findings.push({ what: `acknowledged at ${position}, where the log has no event`, where })
    else if (first !== undefined && isBehind(first.position, position))
      findings.push({ what: `acknowledged at ${position}, before its event`, where: placeOf(first) })
  }
  return { check: `acknowledged writes in the log once (${ids.size} keys)`, examined: acknowledged.length, findings }
}

/** The log contains no unacknowledged write of a client, except writes whose keys were never answered. */
export function checkUnacknowledged(
  acknowledged: readonly Acknowledged[],
  summary: LoadSummary,
  log: readonly Fact[],
): Checked {
  const findings: Finding[] = []
  const living = ofLiving(log)
  let examined = 0
  for (const operation of ofClientsAlone) {
    const known = new Set(acknowledged.filter((one) => one.operation === operation).map(({ id }) => id))
    const facts = factsOf(operation, ofTasks.includes(operation) ? living : log)
    examined += facts.size
    const unacknowledged = [...facts].flatMap(([id, [first]]) => (known.has(id) || first === undefined ? [] : [first]))
    if (unacknowledged.length <= summary.unanswered[operation]) continue
    for (const fact of unacknowledged)
      findings.push({ what: 'in the log, but never acknowledged', where: placeOf(fact) })
  }
  return { check: 'no unrequested event in the log', examined, findings }
}

/** Problems that the load may cause itself. */
const expectedRefusals = [
  '409 ai-review-not-cancellable',
  '409 ai-review-already-superseded',
  '404 not-found of a finished write',
  '409 last-administrator',
  '409 workflow-instance-ended',
  '409 case-in-review',
  '409 task-claimed',
  '409 task-not-claimed',
  '409 task-decided',
  '409 task-cancelled',
  '409 opinion-given',
  // The task of a patient who was erased after it was listed. `erased.ts` checks that nobody else was erased.
  '410 subject-erased of a task',
]
/** No connection or a broken one, the proxy's 502, and a 503 with Retry-After. */
const expectedOutage = /^(none|502 undefined|503 [a-z-]+)$/

/** Every answer during an outage is a documented one: no 500, no unfounded refusal, no hang. */
export function checkAnswers({ answers, sent, unanswered }: LoadSummary): Checked {
  const findings: Finding[] = []
  for (const [answer, count] of Object.entries(answers)) {
    const isExpected = /^2\d\d$/.test(answer) || expectedRefusals.includes(answer) || expectedOutage.test(answer)
    if (!isExpected) findings.push({ what: 'an undocumented answer', where: `${answer}, ${count} times` })
  }
  for (const operation of operations) {
    if (unanswered[operation] > 0)
      findings.push({
        what: 'requests without a final answer',
        where: `${operation}, ${unanswered[operation]} times`,
      })
  }
  return { check: 'only documented answers', examined: sent, findings }
}

function factsOf(operation: Operation, log: readonly Fact[]): ReadonlyMap<string, readonly Fact[]> {
  const { type, or, member, and, isRepeated = false } = factOfWrite[operation]
  const places = new Map<string, number>()
  const idOf = (fact: Fact) => {
    const id = and === undefined ? text(fact, member) : `${text(fact, member)} ${text(fact, and)}`
    if (!isRepeated) return id
    const place = (places.get(id) ?? 0) + 1
    places.set(id, place)
    return `${id} ${place}`
  }
  const isOfLoad = ({ data }: Fact) => hasOtherCause[type]?.(data) !== true
  return Map.groupBy(
    log.filter((fact) => (fact.type === type && isOfLoad(fact)) || fact.type === or),
    idOf,
  )
}

function isBehind(event: string, position: string): boolean {
  const [its, acknowledged] = [parsePosition(event), parsePosition(position)]
  return its !== undefined && acknowledged !== undefined && comparePositions(its, acknowledged) > 0
}
