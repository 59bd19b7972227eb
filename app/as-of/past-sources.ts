import type { EventStore } from '../../engine/store/event-store.ts'
import { requireCurrent } from '../../engine/reads/read-route.ts'
import { rowsOfTenant, tableOf, viewsOf } from '../../engine/reads/tenant-rows.ts'
import type { Pool } from '../../platform/database/database.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { noOrganisation, type TenantId } from '../../platform/kit/tenants.ts'
import { imageOwnersTable, imagesProjector, imagesTable } from '../../projections/images/images.projector.ts'
import {
  webhookDeliveriesProjector,
  webhookDeliveriesTable,
} from '../../projections/webhooks/webhook-deliveries.projector.ts'
import { partsOf, type AuditSubject } from '../../read-api/audit/subject-queries.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { consents } from '../../streams/consent/aggregate.ts'
import { consentTypes } from '../../streams/consent-type/aggregate.ts'
import { humanReviewTasks } from '../../streams/human-review-task/aggregate.ts'
import { images } from '../../streams/image/aggregate.ts'
import { notifications } from '../../streams/notification/aggregate.ts'
import { notificationPreferences } from '../../streams/notification-preferences/aggregate.ts'
import { notificationSubscriptions } from '../../streams/notification-subscription/aggregate.ts'
import { oauthClients } from '../../streams/oauth-client/aggregate.ts'
import { organisationRoles } from '../../streams/organisation-roles/aggregate.ts'
import { patients } from '../../streams/patient/aggregate.ts'
import { patientErasures } from '../../streams/patient-erasure/aggregate.ts'
import { permissions } from '../../streams/permission/aggregate.ts'
import { suppressions } from '../../streams/suppression/aggregate.ts'
import { users } from '../../streams/user/aggregate.ts'
import { webhookDeliveries } from '../../streams/webhook-delivery/aggregate.ts'
import { workflowDefinitions } from '../../streams/workflow-definition/aggregate.ts'
import { workflowInstances } from '../../streams/workflow-instance/aggregate.ts'

/** A stream, or the part of it that is about one record. */
export interface PastStream {
  readonly stream: string
  readonly firstRevision?: bigint
  readonly lastRevision?: bigint
  /** Of a person whom the record concerns besides. From the erasure of this person on it has nothing personal of the person. */
  readonly isMentioned?: true
}

export interface SourceDependencies {
  readonly pool: Pool
  readonly store: Pick<EventStore, 'readStream'>
  /** Of today's read models, which name the streams of some answers. */
  readonly isCurrent: (projector: string) => Promise<boolean>
}

interface Asked extends SourceDependencies {
  readonly tenant: TenantId
  /** An id of the path or a parameter of the query. Empty if it is not there. */
  readonly param: (name: string) => string
}

type Sources = (asked: Asked) => Promise<readonly PastStream[]> | readonly PastStream[]

const streamsOf = (...targets: readonly PastStream[]): readonly PastStream[] =>
  targets.map(({ stream }) => ({ stream }))

/** The streams of a subject in these categories. The index has those of today, so all of every moment before. */
async function ofSubject(
  { pool, tenant }: Asked,
  subject: Pick<AuditSubject, 'kind' | 'id'>,
  categories: readonly string[],
): Promise<PastStream[]> {
  const question = { order: 'asc', after: undefined, from: undefined, to: undefined, categories } as const
  const streams: PastStream[] = []
  for await (const part of partsOf(pool, { ...subject, tenant }, question)) streams.push(part)
  return streams
}

/** The texts of the organisation and of the platform. */
const texts = async (asked: Asked, category: string): Promise<PastStream[]> => [
  ...(await ofSubject(asked, { kind: 'organisation', id: asked.tenant }, [category])),
  ...(await ofSubject({ ...asked, tenant: noOrganisation }, { kind: 'organisation', id: noOrganisation }, [category])),
]

/** A setting of the organisation or of the platform. Only the owner has its stream. */
const ofEitherOwner =
  (settings: { readonly of: (owner: TenantId, id: string) => PastStream }): Sources =>
  ({ tenant, param }) =>
    streamsOf(...[tenant, noOrganisation].map((owner) => settings.of(owner, param('id'))))

const ofCase: Sources = ({ tenant, param }) => streamsOf(cases.of(tenant, param('id')))
const ofConsents: Sources = async (asked) => [
  ...streamsOf(consents.of(asked.tenant, asked.param('patientId'))),
  ...(await texts(asked, 'consent_type')),
]
/** Once an erasure has begun, neither it nor a hold shows anything personal of a former hold. */
const ofErasure: Sources = ({ tenant, param }) => [
  { stream: patientErasures.of(tenant, param('id')).stream, isMentioned: true },
]
const ofUser: Sources = ({ tenant, param }) =>
  streamsOf(users.of(param('id')), organisationRoles.of(tenant), permissions.of())
const ofPatient =
  (category: string): Sources =>
  async (asked) =>
    ofSubject(asked, { kind: 'patient', id: asked.param('patient_id') }, [category, 'assessment'])

/**
 * The streams whose events make the rows of an answer, by the path of its route. A row depends on no other stream: the
 * projectors of `servedBy` have handlers for these categories only.
 */
export const pastSources: Readonly<Record<string, Sources>> = {
  '/v1/admin/consent-types/:id': ({ tenant, param }) => streamsOf(consentTypes.of(tenant, param('id'))),
  '/v1/admin/roles/:id': ({ tenant }) => streamsOf(organisationRoles.of(tenant), permissions.of()),
  '/v1/admin/users/:id': ofUser,
  '/v1/ai-reviews/:id': ({ tenant, param }) => streamsOf(aiReviews.of(tenant, param('id'))),
  '/v1/auth/clients/:id': ({ param }) => streamsOf(oauthClients.of(param('id'))),
  '/v1/clinical-api/assessments/:id': ({ tenant, param }) => streamsOf(assessments.of(tenant, param('id'))),
  '/v1/clinical-api/cases/:id': ofCase,
  '/v1/clinical-api/cases/:id/diagnoses': ofCase,
  '/v1/clinical-api/cases/:id/findings': ofCase,
  '/v1/clinical-api/images/:id': ofImage,
  '/v1/clinical-api/patients/:id': ({ tenant, param }) => streamsOf(patients.of(tenant, param('id'))),
  '/v1/clinical-api/patients/:id/erasure': ofErasure,
  '/v1/clinical-api/patients/:id/legal-hold': ofErasure,
  '/v1/clinical-api/webhook-subscriptions/:id': (asked) =>
    ofSubject(asked, { kind: 'subscription', id: asked.param('id') }, ['webhook_subscriptions']),
  '/v1/clinical-api/webhook-subscriptions/:id/deliveries/:deliveryId': ofDelivery,
  '/v1/human-review/tasks/:id': ofTask,
  '/v1/notifications/:id': ofNotification,
  '/v1/notifications/admin/subscriptions/:id': ofEitherOwner(notificationSubscriptions),
  '/v1/notifications/admin/suppressions/:id': ofEitherOwner(suppressions),
  '/v1/notifications/admin/templates/:code': (asked) => texts(asked, 'notificationtemplate'),
  '/v1/notifications/preferences/:userId': ({ tenant, param }) =>
    streamsOf(notificationPreferences.of(param('userId')), users.of(param('userId')), organisationRoles.of(tenant)),
  '/v1/orchestrator/workflow-definitions/:id': ({ tenant, param }) =>
    streamsOf(workflowDefinitions.of(tenant, param('id'))),
  '/v1/orchestrator/workflow-instances/:id': ofInstance,
  '/v1/patients/:patientId/consents': ofConsents,
  '/v1/patients/:patientId/consents/:id': ofConsents,
  '/v1/patients/:patientId/consents/:typeCode/status': ofConsents,
  '/v1/patients/:patientId/consents/check': ofConsents,
  '/v1/patients/:patientId/consents/history': ofConsents,
}

/** Lists of one patient: without the parameter they are lists of the organisation, which have no streams of their own. */
export const pastListsOfPatient: Readonly<Record<string, Sources>> = {
  '/v1/clinical-api/cases': ofPatient('case'),
  '/v1/clinical-api/images': ofPatient('image'),
}

const o = tableOf(imagesProjector, imageOwnersTable, 'o')
const i = tableOf(imagesProjector, imagesTable, 'i')
const d = tableOf(webhookDeliveriesProjector, webhookDeliveriesTable, 'd')

/** An image has a stream of its own, or is in the stream of the assessment that declared it. */
async function ofImage({ pool, tenant, param, isCurrent }: Asked): Promise<readonly PastStream[]> {
  await requireCurrent({ isCurrent }, imagesProjector)
  const rows = rowsOfTenant(o, tenant).whereRaw('?? in (select ?? from ??.?? as i where ?? = ?)', [
    o.ownerId,
    i.ownerId,
    imagesProjector.name,
    imagesTable.name,
    i.imageId,
    param('id'),
  ])
  const owners = await viewsOf(pool, rows)
  return streamsOf(images.of(tenant, param('id')), ...owners.map(({ ownerId }) => assessments.of(tenant, ownerId)))
}

/** The assessment of a delivery makes it due. Its own stream begins later. */
async function ofDelivery(asked: Asked): Promise<readonly PastStream[]> {
  const { pool, tenant, param } = asked
  await requireCurrent(asked, webhookDeliveriesProjector)
  const [row] = await viewsOf(pool, rowsOfTenant(d, tenant).where(d.deliveryId, param('deliveryId')))
  const assessmentId = row?.assessmentId ?? null
  const caused = assessmentId === null ? [] : [assessments.of(tenant, assessmentId)]
  return [
    ...(await ofSubject(asked, { kind: 'subscription', id: param('id') }, ['webhook_subscriptions'])),
    ...streamsOf(webhookDeliveries.of(tenant, param('deliveryId')), ...caused),
  ]
}

async function ofTask({ store, tenant, param }: Asked): Promise<readonly PastStream[]> {
  const task = humanReviewTasks.of(tenant, param('id'))
  const patientId = await memberOfFirst(store, task.stream, 'patientId')
  return streamsOf(task, ...(patientId === undefined ? [] : [patients.of(tenant, patientId)]))
}

/** The erasure of its recipient clears the address. */
async function ofNotification({ store, tenant, param }: Asked): Promise<readonly PastStream[]> {
  const notification = notifications.of(tenant, param('id'))
  const recipient = await memberOfFirst(store, notification.stream, 'recipientRef')
  const own = streamsOf(notification)
  if (recipient === undefined || !isUuid(recipient)) return own
  return [...own, { stream: users.of(recipient).stream, isMentioned: true }]
}

async function ofInstance({ store, tenant, param }: Asked): Promise<readonly PastStream[]> {
  const instance = workflowInstances.of(tenant, param('id'))
  const definitionId = await memberOfFirst(store, instance.stream, 'workflowDefinitionId')
  return streamsOf(instance, ...(definitionId === undefined ? [] : [workflowDefinitions.of(tenant, definitionId)]))
}

async function memberOfFirst(
  store: SourceDependencies['store'],
  stream: string,
  member: string,
): Promise<string | undefined> {
  for await (const { data } of store.readStream(stream, { limit: 1 })) {
    const value: unknown = Reflect.get(Object(data), member)
    return typeof value === 'string' ? value : undefined
  }
  return undefined
}
