import { at } from '../../../app/demo/members.ts'
import { categoryOf, placeOf, text, type Fact, type Checked, type Finding } from '../facts.ts'

interface Source {
  readonly category: string
  /** The public type of an event. No event has two. */
  readonly publicType: (fact: Fact) => string | undefined
}

const reviewTypes: Readonly<Record<string, string>> = {
  AssessmentReviewRequested: 'ai_review.requested',
  AiReviewStarted: 'ai_review.started',
  AiReviewCompleted: 'ai_review.completed',
  AiReviewFailed: 'ai_review.failed',
  AiReviewCancelled: 'ai_review.cancelled',
  AiReviewSuperseded: 'ai_review.superseded',
}
const ofReview = (fact: Fact) => reviewTypes[fact.type]

const clinicalTypes: Readonly<Record<string, string>> = {
  PatientRegistered: 'clinical.patient.registered',
  PatientCorrected: 'clinical.patient.corrected',
  PatientRegistrationRevoked: 'clinical.patient.revoked',
  SubjectErased: 'clinical.patient.erased',
  CaseOpened: 'clinical.case.opened',
  CaseClosed: 'clinical.case.closed',
  CaseFindingRecorded: 'clinical.finding.recorded',
  CaseDiagnosisRecorded: 'clinical.diagnosis.recorded',
  CaseDiagnosisSuperseded: 'clinical.diagnosis.superseded',
}
const ofRecords = (fact: Fact) => clinicalTypes[fact.type]

const assessmentTypes: Readonly<Record<string, string>> = {
  AssessmentCompleted: 'assessment.completed',
  AssessmentFailed: 'assessment.failed',
  AssessmentHumanReviewDecided: 'assessment.reviewed',
}

/** The organisation's stream decides that a membership ends. */
const userTypes: Readonly<Record<string, string>> = {
  UserCreated: 'users.created',
  UserChanged: 'users.updated',
  UserSuspended: 'users.suspended',
  UserDeactivated: 'users.deactivated',
  UserReactivated: 'users.reactivated',
  UserErased: 'users.erased',
  UserMembershipAdded: 'users.membership.added',
  MembershipRevoked: 'users.membership.removed',
  MembershipRoleChanged: 'users.role.changed',
}
const ofUsers = (fact: Fact) => userTypes[fact.type]

const webhookTypes: Readonly<Record<string, string>> = {
  WebhookEndpointFailing: 'webhook.endpoint.failing',
  WebhookSubscriptionDisabled: 'webhook.endpoint.disabled',
}

const notificationTypes: Readonly<Record<string, string>> = {
  NotificationSent: 'notification.sent',
  NotificationFailed: 'notification.failed',
  NotificationSuppressed: 'notification.suppressed',
}

const workflowTypes: Readonly<Record<string, string>> = {
  WorkflowInstanceStarted: 'workflow.instance.started',
  WorkflowStepParked: 'workflow.instance.parked',
  WorkflowInstanceCompleted: 'workflow.instance.completed',
  WorkflowInstanceFailed: 'workflow.instance.failed',
  WorkflowInstanceCancelled: 'workflow.instance.cancelled',
}

const humanReviewTypes: Readonly<Record<string, string>> = {
  HumanReviewTaskOpened: 'human_review.task.opened',
  HumanReviewTaskClaimed: 'human_review.task.claimed',
  HumanReviewTaskReleased: 'human_review.task.released',
  HumanReviewOpinionGiven: 'human_review.task.opinion_given',
  HumanReviewTaskDecided: 'human_review.task.decided',
  HumanReviewTaskCancelled: 'human_review.task.cancelled',
}

/** A second definition, independent of the relays. The relays' own definition would hide an event that a relay omits. */
export const channels: Readonly<Record<string, readonly Source[]>> = {
  'ai_review.events': [
    { category: 'assessment', publicType: ofReview },
    { category: 'ai_review', publicType: ofReview },
  ],
  'assessment.events': [{ category: 'assessment', publicType: (fact) => assessmentTypes[fact.type] }],
  'audit.events': [
    {
      category: 'access_log',
      publicType: (fact) => (at(fact.data, 'purpose') === 'ETREAT' ? 'audit.emergency_access' : undefined),
    },
  ],
  'clinical.events': [
    { category: 'patient', publicType: ofRecords },
    { category: 'patient_erasure', publicType: ofRecords },
    { category: 'case', publicType: ofRecords },
  ],
  'consent.events': [
    {
      category: 'consent',
      publicType: (fact) => (fact.type === 'ConsentRecorded' ? `consent.${text(fact, 'decision')}` : undefined),
    },
  ],
  'human_review.events': [{ category: 'humanreviewtask', publicType: (fact) => humanReviewTypes[fact.type] }],
  'notification.events': [{ category: 'notification', publicType: (fact) => notificationTypes[fact.type] }],
  'users.events': [
    { category: 'user', publicType: ofUsers },
    { category: 'role', publicType: ofUsers },
  ],
  'webhook.events': [{ category: 'webhook_subscriptions', publicType: (fact) => webhookTypes[fact.type] }],
  'workflow.events': [{ category: 'workflow_instance', publicType: (fact) => workflowTypes[fact.type] }],
}

/**
 * Every event with a public form is on its channel once, in the order of the log. The channel contains nothing else.
 */
export function checkChannel(channel: string, log: readonly Fact[]): Checked {
  const due = sourcesOf(channel, log)
  const published = log.filter(({ stream }) => stream === channel)
  const findings: Finding[] = []
  const seen = new Set<string>()
  const order = new Map(due.map(({ source }, index) => [source.id, index]))
  let last = -1
  for (const fact of published) {
    const cause = String(at(fact.metadata, '$causationId'))
    const place = order.get(cause)
    if (place === undefined)
      findings.push({ what: `${channel} contains an event without a source`, where: placeOf(fact) })
    else if (seen.has(cause))
      findings.push({ what: `${channel} contains a second event of ${cause}`, where: placeOf(fact) })
    else if (place < last) findings.push({ what: `${channel} is out of order`, where: placeOf(fact) })
    else if (due[place]?.publicType !== fact.type)
      findings.push({
        what: `${channel} contains ${fact.type} instead of ${due[place]?.publicType}`,
        where: placeOf(fact),
      })
    seen.add(cause)
    last = Math.max(last, place ?? last)
  }
  for (const source of missingOn(channel, log))
    findings.push({ what: `${channel} lacks an event`, where: placeOf(source) })
  return { check: `channel ${channel} complete, in order, without duplicates`, examined: due.length, findings }
}

/** Source events that are missing on the channel. */
export function missingOn(channel: string, log: readonly Fact[]): readonly Fact[] {
  const causes = new Set(
    log.filter(({ stream }) => stream === channel).map(({ metadata }) => String(at(metadata, '$causationId'))),
  )
  return sourcesOf(channel, log).flatMap(({ source }) => (causes.has(source.id) ? [] : [source]))
}

function sourcesOf(
  channel: string,
  log: readonly Fact[],
): readonly { readonly source: Fact; readonly publicType: string }[] {
  const sources = channels[channel] ?? []
  return log.flatMap((source) => {
    const publicType = sources.find(({ category }) => category === categoryOf(source))?.publicType(source)
    return publicType === undefined ? [] : [{ source, publicType }]
  })
}
