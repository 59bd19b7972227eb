import { setTimeout as sleep } from 'node:timers/promises'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer } from '../../../test/support/raw-api.ts'
import { assessments, declaration } from '../../../test/end-to-end/main-job/uploads.ts'
import { assessmentBody, photograph, type ConsentTerms, type Photograph } from '../../../test/support/main-job.ts'
import type { Operation } from '../acknowledged.ts'
import { Administrator, type Administered } from './administrator.ts'
import type { Write } from './api.ts'
import { Clinician, type ClinicianOptions } from './clinician.ts'
import { Messenger } from './messenger.ts'
import { Reader, type ReaderOptions } from './reader.ts'
import { Subscriber, type SubscriberOptions } from './subscriber.ts'
import { isUploaded } from './uploads.ts'
import { WorkflowRunner } from './workflow-runner.ts'

export interface UserOptions extends SubscriberOptions, ClinicianOptions, ReaderOptions {
  readonly terms: ConsentTerms
  readonly administered: Administered
  /** Whether this user has a subscription most of the time. */
  readonly isSubscriber: boolean
  readonly isOver: () => boolean
}

const reviewTries = 20

/** One user of a product. The seed determines the actions and the pauses between them, not their results. */
export class User {
  readonly #options: UserOptions
  readonly #subscriber: Subscriber | undefined
  readonly #administrator: Administrator
  readonly #messenger: Messenger
  readonly #workflows: WorkflowRunner
  readonly #clinician: Clinician
  readonly #reader: Reader
  #count = 0

  constructor(options: UserOptions) {
    this.#options = options
    this.#subscriber = options.isSubscriber ? new Subscriber(options, (write) => this.#send(write)) : undefined
    this.#administrator = new Administrator(options, (write) => this.#send(write))
    this.#messenger = new Messenger(options, (write) => this.#send(write))
    this.#workflows = new WorkflowRunner(options, (write) => this.#send(write))
    this.#clinician = new Clinician(options, (write) => this.#send(write))
    this.#reader = new Reader(options)
  }

  async work(): Promise<void> {
    const { random, isOver } = this.#options
    while (!isOver()) {
      await this.#subscriber?.tend()
      await this.#administrator.tend()
      await this.#messenger.tend()
      await this.#clinician.tend()
      const patientId = await this.#consentedPatient()
      if (patientId === undefined) continue
      await this.#reader.tend(patientId)
      await this.#workflows.tend(patientId)
      for (let left = 1 + random.below(3); left > 0 && !isOver(); left -= 1) {
        await this.#assess(patientId)
        await this.#clinician.tend()
      }
      if (random.oneIn(4)) await this.#decide(patientId, 'withdrawn')
    }
  }

  async #consentedPatient(): Promise<string | undefined> {
    const registered = await this.#write('patient', '/v1/clinical-api/patients', {
      given_name: 'Ada',
      family_name: 'Example',
      dob: '1980-02-29',
    })
    if (registered === undefined) return undefined
    const patientId = textAt(registered.body, 'id')
    return (await this.#decide(patientId, 'granted')) === undefined ? undefined : patientId
  }

  #decide(patientId: string, decision: string): Promise<ApiAnswer | undefined> {
    return this.#write('consent', `/v1/patients/${patientId}/consents`, { ...this.#options.terms, decision })
  }

  async #assess(patientId: string): Promise<void> {
    const { random } = this.#options
    const photographs = [
      await photograph(
        random.oneIn(2) ? 'dermoscopic' : 'macroscopic',
        random.oneIn(2) ? 'lesion-1.jpg' : 'lesion-2.jpg',
      ),
    ]
    const isInline = !random.oneIn(3)
    const asked = await this.#write(
      'assessment',
      assessments,
      isInline ? assessmentBody(patientId, photographs) : declaration(patientId, photographs),
    )
    if (asked === undefined) return
    const record = isInline ? asked.body : await this.#submitted(asked.body, photographs)
    const next = random.below(10)
    if (record === undefined || next > 3) return
    const review = await this.#reviewOf(textAt(record, 'case_id'))
    if (review === undefined) return
    await sleep(random.below(300))
    if (next < 2) await this.#write('cancel', `/v1/ai-reviews/${review}/cancel`, undefined, 'aiReviewId')
    else await this.#supersede(review, textAt(record, 'id'))
  }

  async #submitted(record: unknown, photographs: readonly Photograph[]): Promise<unknown> {
    if (!(await isUploaded(record, photographs))) return undefined
    return (await this.#write('submit', `${assessments}/${textAt(record, 'id')}/submit`, undefined))?.body
  }

  async #supersede(review: string, assessmentId: string): Promise<void> {
    const record = await this.#options.client.ask(`${assessments}/${assessmentId}`)
    const presignedUrl = at(record?.body, 'images', 0, 'download_url')
    if (record?.status !== 200 || typeof presignedUrl !== 'string') return
    const image = {
      imageId: textAt(record.body, 'images', 0, 'id'),
      imageType: textAt(record.body, 'images', 0, 'capture_type').toUpperCase(),
      presignedUrl,
      presignedUrlExpiresAt: new Date(Date.now() + 600_000).toISOString(),
    }
    // By the review or by the slot: both routes replace the review that holds the slot.
    const images = [image]
    const [path, body] = this.#options.random.oneIn(2)
      ? [`/v1/ai-reviews/${review}/supersede`, { reason: 'once more', images }]
      : ['/v1/ai-reviews', { caseId: textAt(record.body, 'case_id'), supersede: true, images }]
    await this.#write('supersede', path, body, 'aiReviewId')
  }

  /** Waits for the review in the read models. Undefined when it does not appear during a long outage. */
  async #reviewOf(caseId: string): Promise<string | undefined> {
    for (let left = reviewTries; left > 0; left -= 1) {
      const id = at((await this.#options.client.ask(`/v1/ai-reviews?caseId=${caseId}`))?.body, 'data', 0, 'id')
      if (typeof id === 'string') return id
      await sleep(150)
    }
    return undefined
  }

  #write(operation: Operation, path: string, body: unknown, idMember = 'id'): Promise<ApiAnswer | undefined> {
    const request = body === undefined ? { method: 'POST' } : { body }
    return this.#send({ operation, path, request, idOf: (answered) => textAt(answered, idMember) })
  }

  /** Sometimes sends the request twice at once, or again after its answer. */
  async #send(unkeyed: Omit<Write, 'key'>): Promise<ApiAnswer | undefined> {
    const { client, random, name } = this.#options
    this.#count += 1
    const write = { ...unkeyed, key: `${name}-${this.#count}-${unkeyed.operation}` }
    const [isDoubled, isRepeated] = [random.oneIn(8), random.oneIn(6)]
    const [answer] = await Promise.all(isDoubled ? [client.write(write), client.write(write)] : [client.write(write)])
    if (isRepeated) await client.write(write)
    await sleep(random.below(400))
    return answer
  }
}
