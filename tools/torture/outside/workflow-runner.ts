import { setTimeout as sleep } from 'node:timers/promises'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer } from '../../../test/support/raw-api.ts'
import { decision, either, output, photos, questions, to } from '../../../test/commands/workflows/graphs.ts'
import { photograph } from '../../../test/support/main-job.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import type { Operation } from '../acknowledged.ts'
import type { PatientClient, Write } from './api.ts'
import { isUploaded } from './uploads.ts'

const definitions = '/v1/orchestrator/workflow-definitions'
const instances = '/v1/orchestrator/workflow-instances'
const cases = '/v1/clinical-api/cases'
const images = '/v1/clinical-api/images'

const isTrue = (path: string) => ({ op: 'eq', path, value: true }) as const
/** Photographs of a changed lesion, as often as the client wants, and then an assessment. Otherwise only the answers. */
const steps = [
  questions('intake', to('is-changed')),
  decision('is-changed', either(isTrue('intake.answers.boolean'), 'photos', 'unchanged')),
  photos('photos', to('more')),
  questions('more', either(isTrue('more.answers.boolean'), 'photos', 'assessed')),
  output('assessed', { effect: 'assessment' }),
  output('unchanged', { values: { changed: 'intake.answers.boolean' } }),
]
const answer = (boolean: boolean) => ({ answers: { boolean } })

const startTries = 20

export interface WorkflowRunnerOptions {
  readonly name: string
  readonly client: PatientClient
  readonly random: SeededRandom
}

type Send = (write: Omit<Write, 'key'>) => Promise<ApiAnswer | undefined>

/** Publishes definitions, opens cases with instances of them, and drives the instances to an end or leaves them. */
export class WorkflowRunner {
  readonly #options: WorkflowRunnerOptions
  readonly #send: Send
  #published = 0

  constructor(options: WorkflowRunnerOptions, send: Send) {
    this.#options = options
    this.#send = send
  }

  /** One case. Its second instance takes the assessment of the first. */
  async tend(patientId: string): Promise<void> {
    const { random } = this.#options
    const definitionId = await this.#publish()
    if (definitionId === undefined) return
    const workflow = random.oneIn(2) ? { workflow_definition_id: definitionId } : {}
    const opened = await this.#write('case', cases, { patient_id: patientId, ...workflow })
    if (opened === undefined) return
    const caseId = textAt(opened.body, 'id')
    // The instance may be starting.
    if (random.oneIn(8)) return this.#close(caseId)
    const first = at(opened.body, 'workflow_instance_id')
    if (typeof first === 'string') {
      if (!(await this.#hasStarted(caseId)) || !(await this.#drive(first, caseId))) return
      if (random.oneIn(2)) return
    }
    const body = { workflow_definition_id: definitionId, case_id: caseId }
    const started = await this.#write('start', instances, body)
    if (started === undefined || !(await this.#drive(textAt(started.body, 'id'), caseId))) return
    if (random.oneIn(3)) await this.#close(caseId)
  }

  /** The id of a definition with a new name, because each request must be identifiable in the log. */
  async #publish(): Promise<string | undefined> {
    this.#published += 1
    const body = { name: `${this.#options.name} ${this.#published}`, start_step_id: 'intake', steps }
    const published = await this.#write('publish', definitions, body)
    return published === undefined ? undefined : textAt(published.body, 'id')
  }

  /** Waits for the instance of a new case. The list is empty until then. */
  async #hasStarted(caseId: string): Promise<boolean> {
    for (let left = startTries; left > 0; left -= 1) {
      const listed = await this.#options.client.ask(`${instances}?case_id=${caseId}`)
      if (typeof at(listed?.body, 'data', 0, 'id') === 'string') return true
      await sleep(150)
    }
    return false
  }

  /** False if the case is closed, or a request was not accepted. */
  async #drive(instanceId: string, caseId: string): Promise<boolean> {
    const { random } = this.#options
    let advances = 0
    const advance = (stepId: string, supplied: object) => {
      advances += 1
      return this.#advance(instanceId, stepId, supplied, advances)
    }
    const isChanged = !random.oneIn(4)
    if (!(await advance('intake', answer(isChanged)))) return false
    // Under another key. The step is never parked again.
    if (random.oneIn(3) && !(await this.#advance(instanceId, 'intake', answer(isChanged), 1))) return false
    if (!isChanged) return true
    if (random.oneIn(8)) return this.#abandon(instanceId)
    const image_ids: string[] = []
    for (const isMore of random.oneIn(3) ? [true, false] : [false]) {
      const imageId = await this.#receivedImage(caseId)
      if (imageId === undefined) return false
      image_ids.push(imageId)
      if (!(await advance('photos', { image_ids }))) return false
      if (random.oneIn(10)) {
        await this.#close(caseId)
        return false
      }
      if (!(await advance('more', answer(isMore)))) return false
    }
    // The assessment goes on.
    return random.oneIn(6) ? this.#abandon(instanceId) : true
  }

  /** The place of the advance among those of the instance identifies it, because a step may be parked again. */
  async #advance(instanceId: string, stepId: string, supplied: object, place: number): Promise<boolean> {
    const request = { body: { step_id: stepId, output: supplied } }
    const path = `${instances}/${instanceId}/advance`
    const answered = await this.#send({ operation: 'advance', path, request, idOf: () => `${instanceId} ${place}` })
    return answered !== undefined
  }

  /** Always true. An instance that has ended refuses it. */
  async #abandon(instanceId: string): Promise<boolean> {
    await this.#write('abandon', `${instances}/${instanceId}/cancel`)
    return true
  }

  async #close(caseId: string): Promise<void> {
    await this.#write('close', `${cases}/${caseId}/close`)
  }

  async #receivedImage(caseId: string): Promise<string | undefined> {
    const taken = await photograph()
    const body = { case_id: caseId, capture_type: 'dermoscopic', mime_type: 'image/jpeg' }
    const declared = await this.#write('image', images, body)
    if (declared === undefined) return undefined
    const imageId = textAt(declared.body, 'id')
    if (!(await isUploaded({ images: [declared.body] }, [taken]))) return undefined
    return (await this.#write('receive', `${images}/${imageId}/submit`)) === undefined ? undefined : imageId
  }

  #write(operation: Operation, path: string, body?: unknown): Promise<ApiAnswer | undefined> {
    const request = body === undefined ? { method: 'POST' } : { body }
    return this.#send({ operation, path, request, idOf: (answered) => textAt(answered, 'id') })
  }
}
