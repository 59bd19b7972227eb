import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer, ApiClient } from '../../support/raw-api.ts'
import { expecting, photograph } from '../../support/main-job.ts'
import { waitFor } from '../../support/platform.ts'
import { put } from '../main-job/uploads.ts'

export const base = '/v1/orchestrator'
export const definitions = `${base}/workflow-definitions`
export const instances = `${base}/workflow-instances`
export const cases = '/v1/clinical-api/cases'
export const images = '/v1/clinical-api/images'

export type Headers = Readonly<Record<string, string>>

export async function publish(api: ApiClient, name: string, steps: unknown, start = 'intake'): Promise<string> {
  const body = { name, start_step_id: start, steps }
  return textAt((await expecting(201, api.call(definitions, { body }))).body, 'id')
}

export async function openCase(api: ApiClient, patientId: string, members: object = {}): Promise<string> {
  const body = { patient_id: patientId, ...members }
  return textAt((await expecting(201, api.call(cases, { body }))).body, 'id')
}

export async function begin(api: ApiClient, definitionId: string, caseId: string): Promise<string> {
  const body = { workflow_definition_id: definitionId, case_id: caseId }
  return textAt((await expecting(201, api.call(instances, { body }))).body, 'id')
}

export function advance(
  api: ApiClient,
  id: string,
  stepId: string,
  output: unknown,
  headers: Headers = {},
): Promise<ApiAnswer> {
  return api.call(`${instances}/${id}/advance`, { body: { step_id: stepId, output }, headers })
}

export async function instanceOf(api: ApiClient, id: string): Promise<unknown> {
  return (await expecting(200, api.call(`${instances}/${id}`))).body
}

/** The record once the instance is in that state. */
export function instanceIn(api: ApiClient, id: string, state: string): Promise<unknown> {
  return waitFor(`${id} to be ${state}`, async () => {
    const { status, body } = await api.call(`${instances}/${id}`)
    return status === 200 && at(body, 'state') === state ? body : undefined
  })
}

/** A received image of a case. */
export async function receivedImage(api: ApiClient, caseId: string, captureType = 'dermoscopic'): Promise<string> {
  const { bytes } = await photograph()
  const body = { case_id: caseId, capture_type: captureType, mime_type: 'image/jpeg' }
  const declared = await expecting(201, api.call(images, { body }))
  const id = textAt(declared.body, 'id')
  await put(textAt(declared.body, 'upload_url'), bytes)
  await expecting(200, api.call(`${images}/${id}/submit`, { method: 'POST' }))
  return id
}

/** `409 step-not-parked /pointer /pointer`. */
export function refusal({ status, body }: ApiAnswer): string {
  const errors = at(body, 'errors')
  const pointers = Array.isArray(errors) ? errors.map((_, place) => textAt(body, 'errors', place, 'pointer')) : []
  return [status, textAt(body, 'code'), ...pointers].join(' ')
}
