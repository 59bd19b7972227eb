import { setTimeout as sleep } from 'node:timers/promises'
import { textAt } from '../../../app/demo/members.ts'
import { assessments } from '../../../test/end-to-end/main-job/uploads.ts'
import { assessmentBody, expecting, photograph, type ConsentTerms } from '../../../test/support/main-job.ts'
import type { ApiClient, ClientSecrets } from '../../../test/support/raw-api.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import type { Operation } from '../acknowledged.ts'
import type { PatientClient } from './api.ts'

export interface EraserOptions {
  /** Registers patients and requests assessments. */
  readonly client: PatientClient
  /** May erase. */
  readonly eraser: PatientClient
  readonly random: SeededRandom
  readonly terms: ConsentTerms
  readonly isOver: () => boolean
}

/** Pauses between erasures and their work are shorter, in milliseconds. */
const pauseBelowMs = 3_000
const workBelowMs = 2_500

/** The secrets of a new client that may erase patients. */
export async function createEraser(api: ApiClient, orgId: string, adminSecret: string): Promise<ClientSecrets> {
  const body = { name: 'Eraser', org_id: orgId, scopes: ['patients:erase'] }
  const headers = { 'x-admin-api-secret': adminSecret }
  const made = await expecting(201, api.call(`/v1/auth/clients?org_id=${orgId}`, { body, headers }))
  return { client_id: textAt(made.body, 'client_id'), client_secret: textAt(made.body, 'client_secret') }
}

/** Registers patients of its own, and erases each of them while something of it may be under way. */
export class Eraser {
  readonly #options: EraserOptions
  #count = 0

  constructor(options: EraserOptions) {
    this.#options = options
  }

  async work(): Promise<void> {
    const { isOver, random } = this.#options
    while (!isOver()) {
      await this.#eraseOne()
      await sleep(random.below(pauseBelowMs))
    }
  }

  async #eraseOne(): Promise<void> {
    const { client, eraser, random, terms } = this.#options
    const person = { given_name: 'Ada', family_name: 'Erased', dob: '1980-02-29' }
    const patientId = await this.#send(client, 'patient', '/v1/clinical-api/patients', person)
    if (patientId === undefined) return
    const consents = `/v1/patients/${patientId}/consents`
    if ((await this.#send(client, 'consent', consents, { ...terms, decision: 'granted' })) === undefined) return
    if (!random.oneIn(4))
      await this.#send(client, 'assessment', assessments, assessmentBody(patientId, [await photograph()]))
    await sleep(random.below(workBelowMs))
    const erase = () =>
      this.#send(
        eraser,
        'erase',
        `/v1/clinical-api/patients/${patientId}/erase`,
        { reason: 'person_request' },
        'patient_id',
      )
    // Somebody else may ask for the same.
    await Promise.all(random.oneIn(3) ? [erase(), erase()] : [erase()])
  }

  /** The id in the answer that accepted the write. */
  async #send(client: PatientClient, operation: Operation, path: string, body: object, idMember = 'id') {
    this.#count += 1
    const idOf = (answered: unknown) => textAt(answered, idMember)
    const key = `eraser-${this.#count}-${operation}`
    const answer = await client.write({ operation, key, path, request: { body }, idOf })
    return answer === undefined ? undefined : idOf(answer.body)
  }
}
