import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { servicesOf } from '../../app/services.ts'
import { bodySites } from '../../contracts/clinical/body-sites.ts'
import { createCursors } from '../../platform/http/cursors.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { consentTypes } from '../../streams/consent-type/aggregate.ts'
import { humanReviewTasks } from '../../streams/human-review-task/aggregate.ts'
import { images } from '../../streams/image/aggregate.ts'
import { oauthClients } from '../../streams/oauth-client/aggregate.ts'
import { users } from '../../streams/user/aggregate.ts'
import { workflowDefinitions } from '../../streams/workflow-definition/aggregate.ts'
import type { WorkflowStep } from '../../streams/workflow-definition/steps.ts'
import { workflowInstances } from '../../streams/workflow-instance/aggregate.ts'
import { adminSecret, startApplication, type TestApplication } from '../platform/http/test-application.ts'
import { openReadTables, type ReadTables } from '../read-api/read-tables.ts'
import { reviewFact } from '../streams/ai-review-facts.ts'
import {
  at,
  caseFact,
  clientFact,
  consentFact,
  consentTypeFact,
  ids,
  patientFact,
  scopeFact,
} from '../streams/facts.ts'
import { clinicians, taskFact } from '../streams/human-review-facts.ts'
import { imageFact } from '../streams/image-facts.ts'
import { accessLogFact, ofAccessLog } from '../streams/access-log-facts.ts'
import { notificationFact, trigger } from '../streams/notification-facts.ts'
import { ruleFact, suppressionFact } from '../streams/notification-settings-facts.ts'
import { templateFact } from '../streams/notification-template-facts.ts'
import { ofRoles, permissionFact, roleFact, userFact } from '../streams/user-facts.ts'
import { deliveryFact, subscriptionFact } from '../streams/webhook-facts.ts'
import { definitionFact, instanceFact } from '../streams/workflow-facts.ts'
import type { GivenEvent } from '../support/given-projector.ts'
import { unusedParts } from '../support/unused-parts.ts'

const mostBytes = 2 * 1024 * 1024
const largestPage = 200

/** As many characters, of those that need most bytes in JSON: six each. */
const wide = (length: number) => `${'\u0001'.repeat(length - 1)}x`
/** For members that take visible ASCII only. */
const long = (length: number) => 'x'.repeat(length)
const repeated = <Value>(count: number, make: (number: number) => Value) =>
  Array.from({ length: count }, (_, number) => make(number))
const idOf = (group: string, number: number) => `00000000-0000-4000-a${group}-${String(number).padStart(12, '0')}`

interface LargeList {
  /** Items with the greatest values that the routes, and the provider, can give them. */
  readonly events: readonly GivenEvent[]
  readonly items: number
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
}

/** More than a page of items: by their number, or by their bytes where they are large. */
function many(items: number, eventsOf: (number: number) => readonly GivenEvent[]): LargeList {
  return { events: repeated(items, eventsOf).flat(), items }
}

const full = largestPage + 5
const typeStream = consentTypes.of(ids.org, ids.consentType).stream
const caseStream = cases.of(ids.org, ids.case).stream

const largestStep: WorkflowStep = {
  step_id: 'intake',
  title: wide(255),
  kind: 'collect-questions',
  config: {
    questions: repeated(100, (number) => ({
      id: `q${number}`,
      text: wide(1000),
      type: 'choice',
      required: true,
      options: [wide(255)],
    })),
  },
  next: [],
}
const code = { code: wide(255), term: wide(255) }
const correction = { outcome: 'correct', icd10: code, snomed: code, category: wide(255) } as const

/** By the operation of the list. */
const lists: Readonly<Record<string, LargeList>> = {
  listAccesses: {
    ...many(full, (number) => {
      const patientIds = [ids.patient, ...repeated(199, (one) => idOf('028', one))]
      return [ofAccessLog(accessLogFact('AccessRecorded', { accessId: idOf('029', number), patientIds }))]
    }),
    query: { patient_id: ids.patient },
  },
  listOauthClients: many(20, (number) => {
    const clientId = idOf('001', number)
    const key = { kty: 'RSA' as const, n: wide(2048), e: wide(2048) }
    const jwks = repeated(10, (kid) => ({ ...key, kid: `${kid}` }))
    const data = { clientId, name: wide(255), scopes: repeated(200, () => long(255)), jwks }
    return [{ ...clientFact('OauthClientRegistered', data), stream: oauthClients.of(clientId).stream }]
  }),
  listOauthScopes: many(full, (number) => {
    const scopes = [{ scope: `s${number}:${long(240)}`, description: wide(1000) }]
    return [{ ...scopeFact('OauthScopesRegistered', { serviceId: long(255), scopes }), stream: `scopes ${number}` }]
  }),
  listPatients: {
    // Each split of one text into scheme and value belongs to one patient.
    ...many(50, (number) => {
      const others = repeated(49, () => ({ scheme: wide(255), value: wide(255) }))
      const identifiers = [{ scheme: `${'a|'.repeat(number)}a`, value: `${'a|'.repeat(50 - number)}a` }, ...others]
      const person = { givenName: wide(255), familyName: wide(255), dob: '1970-02-28', identifiers }
      const data = { patientId: idOf('002', number), person }
      return [{ ...patientFact('PatientRegistered', data), stream: `patient ${number}` }]
    }),
    query: { identifier: `${'a|'.repeat(51)}a` },
  },
  listCases: {
    ...many(full, (number) => {
      const data = { caseId: idOf('003', number), externalReference: wide(255), patientId: ids.otherPatient }
      return [{ ...caseFact('CaseOpened', data), stream: cases.of(ids.org, idOf('003', number)).stream }]
    }),
    query: { patient_id: ids.otherPatient },
  },
  listFindings: {
    ...many(full, (number) => {
      const data = { findingId: idOf('004', number) }
      return [{ ...caseFact('CaseFindingRecorded', data), stream: caseStream }]
    }),
    params: { id: ids.case },
  },
  listDiagnoses: {
    ...many(full, (number) => {
      const data = { diagnosisId: idOf('005', number), icd10: code, snomed: code, category: wide(255) }
      return [{ ...caseFact('CaseDiagnosisRecorded', data), stream: caseStream }]
    }),
    params: { id: ids.case },
  },
  listBodySites: { events: [], items: bodySites.length },
  listImages: many(full, (number) => {
    const data = { imageId: idOf('006', number), mimeType: wide(255) }
    return [{ ...imageFact('ImageDeclared', data), stream: images.of(ids.org, idOf('006', number)).stream }]
  }),
  listWebhookSubscriptions: many(20, (number) => {
    const data = { subscriptionId: idOf('007', number), url: long(2048), description: wide(255) }
    return [subscriptionFact('WebhookSubscribed', data)]
  }),
  listWebhookDeliveries: {
    ...many(full, (number) => {
      const of = { deliveryId: idOf('008', number), subscriptionId: idOf('007', 0), eventId: idOf('009', number) }
      const attempts = repeated(20, (attempt) => [
        deliveryFact('WebhookDeliveryAttempted', { ...of, attempt: attempt + 1 }),
        deliveryFact('WebhookDeliveryAttemptFailed', { ...of, attempt: attempt + 1 }),
      ]).flat()
      const all = [deliveryFact('WebhookDeliveryScheduled', of), ...attempts]
      return all.map((event) => ({ ...event, stream: `delivery ${number}` }))
    }),
    params: { id: idOf('007', 0) },
  },
  listWorkflowDefinitions: many(10, (number) => {
    const workflowDefinitionId = idOf('010', number)
    const data = { workflowDefinitionId, name: wide(255), steps: [largestStep] }
    const { stream } = workflowDefinitions.of(ids.org, workflowDefinitionId)
    return [{ ...definitionFact('WorkflowDefinitionPublished', data), stream }]
  }),
  listWorkflowInstances: many(full, (number) => {
    const workflowInstanceId = idOf('011', number)
    const data = { workflowInstanceId, workflowDefinitionId: idOf('010', 0) }
    const all = [
      instanceFact('WorkflowInstanceStarted', data),
      instanceFact('WorkflowStepParked', { workflowInstanceId }),
    ]
    return all.map((event) => ({ ...event, stream: workflowInstances.of(ids.org, workflowInstanceId).stream }))
  }),
  listConsentTypes: many(full, (number) => {
    const consentTypeId = number === 0 ? ids.consentType : idOf('012', number)
    const texts = { displayName: wide(255), description: wide(255), legalBasis: wide(255) }
    const event = consentTypeFact('ConsentTypeCreated', { consentTypeId, code: `code_${number}`, ...texts })
    return [{ ...event, stream: consentTypes.of(ids.org, consentTypeId).stream }]
  }),
  listConsentTextVersions: {
    ...many(10, (number) => {
      const data = { textVersionId: idOf('013', number), locale: long(64), text: wide(100_000), createdAt: at(number) }
      return [{ ...consentTypeFact('ConsentTextVersionPublished', data), stream: typeStream }]
    }),
    params: { typeId: ids.consentType },
  },
  listConsentHistory: {
    ...many(full, (number) => {
      const data = { consentId: idOf('014', number), consentTypeCode: `${long(60)}${number}`, recordedBy: wide(255) }
      return [{ ...consentFact('ConsentRecorded', data), stream: 'consents' }]
    }),
    params: { patientId: ids.patient },
  },
  listConsents: { events: [], items: full, params: { patientId: ids.patient } },
  listUsers: many(full, (number) => {
    const userId = idOf('015', number)
    const of = { userId, membershipId: idOf('016', number) }
    const data = { userId, externalId: `${long(200)}${number}`, email: long(254), displayName: wide(255) }
    const stream = users.of(userId).stream
    return [
      ofRoles(roleFact('MembershipRoleAssigned', of)),
      { ...userFact('UserCreated', data), stream },
      { ...userFact('UserMembershipAdded', of), stream },
    ]
  }),
  listRoles: many(20, (number) => {
    const granted = repeated(500, () => long(255))
    const texts = { name: `${number}${wide(250)}`, description: wide(255), permissions: granted }
    return [ofRoles(roleFact('RoleCreated', { roleId: idOf('017', number), ...texts }))]
  }),
  listPermissions: many(full, (number) => {
    const permission = { permissionId: idOf('018', number), permission: `${number}:${long(240)}` }
    const created = [{ ...permission, description: wide(1000) }]
    return [{ ...permissionFact('PermissionsRegistered', { created }), stream: `permissions ${number}` }]
  }),
  listNotifications: many(full, (number) => {
    const of = { notificationId: idOf('019', number), templateCode: long(100), correlationId: long(128) }
    const attemptId = idOf('020', number)
    const ended = { attemptId, attempt: 1, response: null, latencyMs: 1 }
    const all = [
      notificationFact('NotificationCreated', { ...of, recipientRef: long(254), trigger: null }),
      notificationFact('NotificationAttemptStarted', { ...of, attemptId, resolvedAddress: long(254) }),
      notificationFact('NotificationFailed', { ...of, ended, errorDetail: wide(1000) }),
    ]
    return all.map((event) => ({ ...event, stream: `notification ${number}` }))
  }),
  listFailedNotifications: { events: [], items: full },
  listEventInbox: many(full, (number) => {
    const matched = { ...trigger, eventId: idOf('021', number), eventType: long(255) }
    const data = { notificationId: idOf('022', number), trigger: matched }
    return [{ ...notificationFact('NotificationDiscarded', data), stream: `discarded ${number}` }]
  }),
  listNotificationTemplates: many(20, (number) => {
    const texts = { code: long(100), locale: `x-${number}`, subject: wide(998), bodyTemplate: wide(100_000) }
    const event = templateFact('NotificationTemplateCreated', { templateId: idOf('023', number), ...texts })
    return [{ ...event, stream: `template ${number}` }]
  }),
  listNotificationSubscriptions: many(full, (number) => {
    const data = { subscriptionId: idOf('024', number), eventType: long(255), templateCode: long(100) }
    const recipientRule = { type: 'user', path: repeated(8, () => long(64)).join('.') } as const
    return [{ ...ruleFact('NotificationSubscriptionCreated', { ...data, recipientRule }), stream: `rule ${number}` }]
  }),
  listSuppressions: many(full, (number) => {
    const data = { suppressionId: idOf('025', number), address: long(254), reason: wide(255) }
    return [{ ...suppressionFact('SuppressionAdded', data), stream: `suppression ${number}` }]
  }),
  listAiReviews: many(full, (number) => {
    const data = { aiReviewId: idOf('026', number), correlationId: wide(255) }
    return [{ ...reviewFact('AiReviewRequested', data), stream: `review ${number}` }]
  }),
  listHumanReviewTasks: many(3, (number) => {
    const taskId = idOf('027', number)
    const lesions = repeated(120, (lesionNumber) => ({ lesionNumber, ...correction }))
    const opinion = { taskId, lesions, note: wide(4000) }
    const all = [
      taskFact('HumanReviewTaskOpened', { taskId, opinionsRequired: 2 }),
      taskFact('HumanReviewOpinionGiven', { ...opinion, number: 1, opinionsRequired: 2 }),
      taskFact('HumanReviewOpinionGiven', { ...opinion, number: 2, userId: clinicians.bob, opinionsRequired: 2 }),
      taskFact('HumanReviewTaskDecided', { taskId }),
    ]
    return all.map((event) => ({ ...event, stream: humanReviewTasks.of(ids.org, taskId).stream }))
  }),
}

/**
 * One decision; the few versions and categories of the provider; the at most 50 preferences of a PUT; accesses without ids of
 * patients; what operators see, which has ids, codes and hosts only; feed and timeline, which have tests of their own.
 */
const boundedOtherwise = `getConsentRecords getHumanReviewAgreement getNotificationPreferences listEndpoints
    listDeliveryWork listFailureGroups listNotificationWork listOperatorActions listOwnAccesses listProjections listRelays listWork readEvents readTimeline`.split(
  /\s+/,
)

const opened = [{ ...caseFact('CaseOpened'), stream: caseStream }]
/** Texts of another type, which are small. */
const typeOfMany = idOf('012', 1)
const manyTexts = repeated(52, (number) => ({
  ...consentTypeFact('ConsentTextVersionPublished', {
    consentTypeId: typeOfMany,
    textVersionId: idOf('099', number),
    locale: `x-${number}`,
    createdAt: at(number),
  }),
  stream: consentTypes.of(ids.org, typeOfMany).stream,
}))
let tables: ReadTables
let t: TestApplication
let headers: Readonly<Record<string, string>>
beforeAll(async () => {
  tables = await openReadTables([...opened, ...Object.values(lists).flatMap(({ events }) => events), ...manyTexts])
  const cursors = createCursors({ key: randomBytes(32) })
  const vault: typeof unusedParts.vault = Object.assign(Object.create(null), tables.vault)
  const services = servicesOf({
    ...unusedParts,
    pool: tables.pool,
    vault,
    cursors,
    now: () => new Date(at(120)),
  })
  t = await startApplication({ services, env: { ADMIN_API_SECRET: adminSecret }, checkReplies: true })
  await t.app.ready()
  const token = await t.token({ orgId: ids.org, scopes: operations().flatMap(({ scopes }) => scopes) })
  headers = { ...token, 'x-admin-api-secret': adminSecret }
})
afterAll(async () => {
  await t.app.close()
  await tables.close()
})

interface Operation {
  readonly operationId: string
  readonly path: string
  readonly scopes: readonly string[]
  /** The answer contains a page of a list, or a list without pages as its `data`. */
  readonly isList: boolean
}

/** The GET routes with an answer in JSON, from the OpenAPI document. */
function operations(): readonly Operation[] {
  const document: OpenApi = JSON.parse(JSON.stringify(t.app.swagger()))
  const schemas = new Map(Object.entries(document.components.schemas))
  return Object.entries(document.paths).flatMap(([path, { get }]) => {
    const $ref = get?.responses['200']?.content?.['application/json']?.schema?.$ref
    const schema = schemas.get($ref?.split('/').at(-1) ?? '')
    if (get === undefined || schema === undefined) return []
    const members = Object.entries(schema.properties ?? {})
    return {
      operationId: get.operationId,
      path,
      scopes: (get.security ?? []).flatMap(({ token = [] }) => token),
      isList: members.some(
        ([name, { type }]) => ['has_more', 'hasMore'].includes(name) || (name === 'data' && type === 'array'),
      ),
    }
  })
}

interface OpenApi {
  readonly components: { readonly schemas: Readonly<Record<string, ObjectSchema>> }
  readonly paths: Readonly<Record<string, { readonly get?: OpenApiOperation }>>
}
interface ObjectSchema {
  readonly properties?: Readonly<Record<string, { readonly type?: string }>>
}
interface OpenApiOperation {
  readonly operationId: string
  readonly security?: readonly { readonly token?: readonly string[] }[]
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: { readonly $ref?: string } }>> }>
  >
}

interface Page {
  readonly data: readonly object[]
  readonly next_cursor?: string | null
  readonly nextCursor?: string | null
}

async function get(path: string, query: Readonly<Record<string, string>>) {
  const { statusCode, body } = await t.app.inject({ url: path, query: { org_id: ids.org, ...query }, headers })
  expect([statusCode, statusCode === 200 ? '' : body]).toEqual([200, ''])
  return body
}

describe('every list', () => {
  it('is in this test', () => {
    const found = operations().filter(({ isList }) => isList)
    const covered = [...Object.keys(lists), ...boundedOtherwise]
    expect(found.map(({ operationId }) => operationId).toSorted()).toEqual(covered.toSorted())
  })

  it.each(Object.entries(lists))('%s answers with at most 2 MiB, or one item', async (operationId, list) => {
    const path = operations().find((one) => one.operationId === operationId)?.path ?? ''
    const url = path.replace(/\{(\w+)\}/g, (_, name: string) => list.params?.[name] ?? '')
    let [shown, pages] = [0, 0]
    for (let cursor: string | null = ''; cursor !== null; pages += 1) {
      const next: Record<string, string> = cursor === '' ? {} : { cursor }
      const body = await get(url, { limit: String(largestPage), ...list.query, ...next })
      const page: Page = JSON.parse(body)
      expect(page.data.length).toBeGreaterThan(0)
      if (page.data.length > 1) expect(Buffer.byteLength(body)).toBeLessThanOrEqual(mostBytes)
      shown += page.data.length
      cursor = page.next_cursor ?? page.nextCursor ?? null
    }
    expect(shown).toBe(list.items)
  })
})

describe('a consent type', () => {
  it('is shown with as many of its newest texts as fit into 2 MiB', async () => {
    const body = await get(`/v1/admin/consent-types/${ids.consentType}`, {})
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(mostBytes)
    const shown: { readonly textVersions: readonly { readonly id: string }[]; readonly hasMoreTextVersions: boolean } =
      JSON.parse(body)
    expect(shown.textVersions.map(({ id }) => id)).toEqual([7, 8, 9].map((number) => idOf('013', number)))
    expect(shown.hasMoreTextVersions).toBe(true)
  })

  it('is shown with its newest 50 texts, and so is a page of their list', async () => {
    const path = `/v1/admin/consent-types/${typeOfMany}`
    const idsOf = (texts: readonly object[]) => texts.map((text) => Reflect.get(text, 'id'))
    const texts = manyTexts.map((_, number) => idOf('099', number))
    const shown: { readonly textVersions: readonly object[]; readonly hasMoreTextVersions: boolean } = JSON.parse(
      await get(path, {}),
    )
    expect([idsOf(shown.textVersions), shown.hasMoreTextVersions]).toEqual([texts.slice(2), true])
    const first: Page = JSON.parse(await get(`${path}/text-versions`, { limit: '200' }))
    const rest: Page = JSON.parse(await get(`${path}/text-versions`, { limit: '200', cursor: first.nextCursor ?? '' }))
    expect([idsOf(first.data), idsOf(rest.data)]).toEqual([texts.slice(0, 50), texts.slice(50)])
  })
})
