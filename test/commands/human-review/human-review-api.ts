import { randomUUID } from 'node:crypto'
import { humanReviewTaskId, humanReviewTasks } from '../../../streams/human-review-task/aggregate.ts'
import type { HumanReviewTaskEvent } from '../../../streams/human-review-task/events.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { openUsersApi, unsigned, type UsersApi, type WriteAnswer } from '../../read-api/users/users-api.ts'
import * as facts from '../../streams/facts.ts'
import { taskFact } from '../../streams/human-review-facts.ts'

export type Headers = Readonly<Record<string, string>>
type Opened = Extract<HumanReviewTaskEvent, { type: 'HumanReviewTaskOpened' }>['data']

export const product = facts.ids.product
const bothScopes = ['human-review:read', 'human-review:write']

/** Human review of one organisation over HTTP, with a clock that the test moves. */
export interface HumanReviewApi {
  readonly api: UsersApi
  /** Below `/v1/human-review`, unless the path begins with `/v1/clinical-api/`. */
  call(method: 'GET' | 'POST' | 'PUT', path: string, headers: Headers, body?: object): Promise<WriteAnswer>
  /** A client without an actor. */
  client(scopes?: readonly string[], orgId?: string | null): Promise<Headers>
  /** An actor who may decide about tasks of the product of the tests. */
  clinician(
    userId?: string,
    options?: {
      readonly permissions?: readonly string[]
      readonly products?: readonly string[]
      readonly scopes?: readonly string[]
    },
  ): Promise<Headers>
  /** A new task of a new patient. Returns its id. */
  givenTask(changes?: Partial<Opened>, patient?: 'living' | 'erased'): Promise<string>
  append(taskId: string, ...events: readonly HumanReviewTaskEvent[]): Promise<void>
  close(): Promise<void>
}

export async function openHumanReviewApi(): Promise<HumanReviewApi> {
  const api = await openUsersApi({ services: ['human-review', 'clinical-api'] })
  const { world } = api
  const { t } = await api.startProcess()
  const append: HumanReviewApi['append'] = (taskId, ...events) =>
    api.append(humanReviewTasks.of(world.orgId, taskId), ...events)
  return {
    api,
    async call(method, path, headers, payload) {
      const options = { method, url: path.startsWith('/v1/clinical-api/') ? path : `/v1/human-review${path}`, headers }
      const answer = await t.app.inject(payload === undefined ? options : { ...options, payload })
      const { statusCode: status, headers: got, body } = answer
      return { status, etag: got['etag'], headers: got, body: JSON.parse(body) as unknown }
    },
    client: (scopes = bothScopes, orgId = world.orgId) => api.token(orgId, scopes),
    clinician: (userId = randomUUID(), options = {}) => {
      const { permissions = ['human-review:decide'], products = [product], scopes = bothScopes } = options
      const context = { user_id: userId, org_id: world.orgId, permissions, product_ids: products }
      return api.actor(unsigned(context), world.orgId, scopes)
    },
    async givenTask(changes = {}, patient = 'living') {
      const patientId = changes.patientId ?? randomUUID()
      const aiReviewId = changes.aiReviewId ?? randomUUID()
      const taskId = humanReviewTaskId(aiReviewId)
      const registered = { patientId, organisationId: world.orgId }
      await api.append(patients.of(world.orgId, patientId), facts.patientFact('PatientRegistered', registered))
      const own = { taskId, organisationId: world.orgId, aiReviewId, patientId, caseId: randomUUID() }
      await append(
        taskId,
        taskFact('HumanReviewTaskOpened', { ...own, openedAt: world.now().toISOString(), ...changes }),
      )
      if (patient === 'erased') await world.vault.destroySubject(world.orgId, patientId)
      return taskId
    },
    append,
    close: () => api.close(),
  }
}

export const confirmation = (...numbers: readonly number[]) => ({
  lesions: numbers.map((number) => ({ lesion_number: number, outcome: 'confirm' })),
  recommendation: 'refer',
})
