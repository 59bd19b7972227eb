import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer, ApiClient } from '../../support/raw-api.ts'
import { expecting, type Photograph } from '../../support/main-job.ts'

export const assessments = '/v1/clinical-api/assessments'

type Headers = Readonly<Record<string, string>>

/** The body of a request in slot mode, which declares photographs. */
export function declaration(
  patientId: string,
  photographs: readonly Photograph[],
  members: Readonly<Record<string, unknown>> = {},
) {
  const images = photographs.map(({ entry: { capture_type, mime_type } }) => ({ capture_type, mime_type }))
  return { patient_id: patientId, finding: { finding_type: 'lesion' }, images, ...members }
}

/** The answer to a new request in slot mode. */
export function declare(
  api: ApiClient,
  patientId: string,
  photographs: readonly Photograph[],
  headers: Headers = {},
): Promise<ApiAnswer> {
  return expecting(202, api.call(assessments, { body: declaration(patientId, photographs), headers }))
}

/** Sends a PUT without a token, as a product does. Returns the status of the object store. */
export async function put(
  url: string,
  bytes: Buffer,
  headers: Headers = { 'content-type': 'image/jpeg' },
): Promise<number> {
  const response = await fetch(url, { method: 'PUT', body: new Uint8Array(bytes), headers })
  await response.arrayBuffer()
  return response.status
}

/** Uploads each photograph to its address. Throws unless the object store accepts all. */
export async function uploadAll(record: unknown, photographs: readonly Photograph[]): Promise<void> {
  for (const [place, { bytes, entry }] of photographs.entries()) {
    const status = await put(uploadUrlOf(record, place), bytes, { 'content-type': entry.mime_type })
    if (status !== 200) throw new Error(`the upload of image ${place} was answered ${status}`)
  }
}

export function uploadUrlOf(record: unknown, place: number): string {
  return textAt(record, 'images', place, 'upload_url')
}

export function imageIdsOf(record: unknown): string[] {
  const images = at(record, 'images')
  return Array.isArray(images) ? images.map((_, place) => textAt(record, 'images', place, 'id')) : []
}

export function submit(api: ApiClient, id: string, headers: Headers = {}): Promise<ApiAnswer> {
  return api.call(`${assessments}/${id}/submit`, { method: 'POST', headers })
}

export function refusalOf({ status, body }: ApiAnswer): readonly unknown[] {
  return [status, at(body, 'code'), at(body, 'errors', 0, 'pointer')]
}
