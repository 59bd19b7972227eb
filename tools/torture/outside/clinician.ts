import { v5 } from 'uuid'
import { actorContext, at, textAt, type ApiAnswer, type ApiClient } from '../../../app/demo/api-client.ts'
import { expecting } from '../../../test/support/main-job.ts'
import type { SeededRandom } from '../../node-checks/seeded-random.ts'
import type { Operation } from '../acknowledged.ts'
import { selecting } from '../checks/human-review.ts'
import type { PatientClient, Write } from './api.ts'

const base = '/v1/human-review'
/** So short that leases end during a run. */
const leaseSeconds = 5
const userNamespace = '3f6f1d0e-2f3c-4f0d-9a56-6a8e5b0c7d21'

/** Sets the policy of the run, before the first review completes. */
export async function setPolicy(api: ApiClient, organisationId: string): Promise<void> {
  const headers = { 'x-actor-context': actorContext(organisationId, ['human-review:admin']) }
  const body = { rules: [{ always: true }, { share: selecting.share, opinions: 2 }], lease_seconds: leaseSeconds }
  await expecting(200, api.call(`${base}/policy`, { method: 'PUT', body, headers }))
}

export interface ClinicianOptions {
  readonly name: string
  readonly client: PatientClient
  readonly random: SeededRandom
  readonly organisationId: string
  readonly productId: string
}

type Send = (write: Omit<Write, 'key'>) => Promise<ApiAnswer | undefined>

/**
 * A clinician who claims tasks, and decides, releases or forgets them. It claims a task once, so that each of its
 * requests is identifiable in the log. The clinicians of all users compete for the same tasks.
 */
export class Clinician {
  readonly #options: ClinicianOptions
  readonly #send: Send
  readonly #userId: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #claimed = new Set<string>()

  constructor(options: ClinicianOptions, send: Send) {
    const { name, organisationId, productId } = options
    this.#options = options
    this.#send = send
    this.#userId = v5(name, userNamespace)
    const permissions = ['human-review:decide']
    this.#headers = { 'x-actor-context': actorContext(organisationId, permissions, this.#userId, [productId]) }
  }

  /** Handles one task, if there is an open one. */
  async tend(): Promise<void> {
    const { random } = this.#options
    const open = (await this.#openTasks()).filter((id) => !this.#claimed.has(id))
    const taskId = open[random.below(Math.max(1, open.length))]
    if (taskId === undefined) return
    this.#claimed.add(taskId)
    const claimed = await this.#act('claim', taskId)
    const next = random.below(10)
    // The lease of a forgotten task ends.
    if (claimed === undefined || next === 0) return
    if (next < 3) return void (await this.#act('release', taskId))
    const lesions = await this.#lesionsOf(textAt(claimed.body, 'ai_review_id'))
    if (lesions === undefined) return
    const recommendation = random.oneIn(3) ? 'urgent_referral' : 'refer'
    const outcomes = lesions.map((number) => ({ lesion_number: number, outcome: 'confirm' }))
    await this.#act('decide', taskId, { lesions: outcomes, recommendation, note: 'Seen' })
  }

  async #openTasks(): Promise<readonly string[]> {
    const page = await this.#options.client.ask(`${base}/tasks?status=open&limit=50`, { headers: this.#headers })
    const data = at(page?.body, 'data')
    return Array.isArray(data) ? data.map((task) => textAt(task, 'id')) : []
  }

  async #lesionsOf(aiReviewId: string): Promise<readonly unknown[] | undefined> {
    const review = await this.#options.client.ask(`/v1/ai-reviews/${aiReviewId}`)
    const lesions = at(review?.body, 'lesions')
    return Array.isArray(lesions) ? lesions.map((lesion) => at(lesion, 'lesionNumber')) : undefined
  }

  #act(operation: Operation, taskId: string, body?: object): Promise<ApiAnswer | undefined> {
    const sent = body === undefined ? {} : { body }
    return this.#send({
      operation,
      path: `${base}/tasks/${taskId}/${operation}`,
      request: { method: 'POST', headers: this.#headers, ...sent },
      idOf: () => `${taskId} ${this.#userId}`,
    })
  }
}
