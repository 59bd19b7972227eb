import { createHash } from 'node:crypto'
import { v5 } from 'uuid'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer, ApiClient } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
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

/** A number from 0 to 3 that only the texts determine. */
function oneOfFour(...texts: readonly unknown[]): number {
  return createHash('sha256').update(texts.join(' ')).digest().readUInt8(0) % 4
}

const corrections = [
  { icd10: { code: 'D22.9', term: 'Melanocytic naevi, unspecified' }, category: 'Benign' },
  {
    icd10: { code: 'C44.9', term: 'Malignant neoplasm of skin, unspecified' },
    snomed: { code: '254701007', term: 'Basal cell carcinoma of skin' },
    category: 'Malignant',
  },
]

/**
 * Half of the lesions are confirmed, a quarter corrected, a quarter rejected. The hash of the task decides, so a repeat
 * has the same body. One user in four has an opinion of their own, so that some tasks need a third one.
 */
function opinionOf(taskId: string, userId: string, lesions: readonly unknown[]): object {
  const view = oneOfFour(taskId, userId) === 0 ? `${taskId} ${userId}` : taskId
  const outcomes = lesions.map((lesion_number) => {
    const outcome = ['confirm', 'confirm', 'correct', 'reject'][oneOfFour(view, lesion_number)]
    const codes = outcome === 'correct' ? corrections[oneOfFour(view, lesion_number, 'codes') % 2] : {}
    return { lesion_number, outcome, ...codes }
  })
  const recommendation = ['refer', 'urgent_referral', 'no_action', 'inconclusive'][oneOfFour(view)]
  return { lesions: outcomes, recommendation, note: 'Seen' }
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
    if (lesions !== undefined) await this.#act('decide', taskId, opinionOf(taskId, this.#userId, lesions))
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
