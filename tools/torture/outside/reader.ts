import { setTimeout as sleep } from 'node:timers/promises'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import { at } from '../../../app/demo/members.ts'
import type { DurableLines, Seen } from '../acknowledged.ts'
import type { PatientClient } from './api.ts'

export interface ReaderOptions {
  readonly client: PatientClient
  readonly random: SeededRandom
  /** The answers that showed something. */
  readonly seen: DurableLines
}

const purposes = ['TREAT', 'HOPERAT', 'ETREAT'] as const

/** Reads the record of a patient, each time for a purpose. Some reads repeat the one before. */
export class Reader {
  readonly #options: ReaderOptions

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  async tend(patientId: string): Promise<void> {
    const { random } = this.#options
    for (let left = 1 + random.below(3); left > 0; left -= 1) {
      await this.#read('getPatient', `/v1/clinical-api/patients/${patientId}`, patientId)
      await this.#read('listConsentHistory', `/v1/patients/${patientId}/consents/history`, patientId)
      await sleep(random.below(200))
    }
  }

  async #read(operation: string, path: string, patientId: string): Promise<void> {
    const { client, random, seen } = this.#options
    const purpose = random.pick(purposes)
    const answer = await client.ask(path, { headers: { 'x-purpose-of-use': purpose } })
    if (answer?.status !== 200 || isEmptyList(answer.body)) return
    const line: Seen = { operation, patientId, purpose, requestId: answer.headers.get('x-request-id'), at: Date.now() }
    seen.write(line)
  }
}

/** It shows nothing, for example while a read model lags behind the first decision. */
function isEmptyList(body: unknown): boolean {
  const items = at(body, 'data')
  return Array.isArray(items) && items.length === 0
}
