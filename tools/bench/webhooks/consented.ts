import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { actorContext, textAt } from '../../../app/demo/members.ts'
import { createApiClient } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import { bearerOf } from '../commands/assessments.ts'
import type { HttpJob } from '../load/jobs.ts'
import type { BenchPlatform } from '../load/platform.ts'

export const imagePath = fileURLToPath(new URL('../../../embedded/photos/lesion-1.jpg', import.meta.url))

const patients = 20

/** Requests assessments with one photograph in the body, for patients who have consented. */
export async function consentedRequests(
  platform: Pick<BenchPlatform, 'baseUrl' | 'credentials' | 'headers'>,
  count: number,
): Promise<HttpJob> {
  const api = createApiClient(platform.baseUrl, bearerOf(platform))
  const create = async (path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<string> =>
    textAt(
      (await expecting(201, api.call(path, { body, headers: { prefer: 'respond-async', ...headers } }))).body,
      'id',
    )
  const admin = { 'x-actor-context': actorContext(platform.credentials.org_id, ['consents:admin']) }
  const consent_type_id = await create(
    '/v1/admin/consent-types',
    { code: 'ai_analysis', displayName: 'Automated analysis', legalBasis: 'consent', required: true },
    admin,
  )
  const text_version_id = await create(
    `/v1/admin/consent-types/${consent_type_id}/text-versions`,
    { locale: 'en-GB', text: 'I agree.' },
    admin,
  )
  const image = {
    capture_type: 'dermoscopic',
    mime_type: 'image/jpeg',
    data: (await readFile(imagePath)).toString('base64'),
  }
  const bodies: string[] = []
  for (let patient = 0; patient < patients; patient += 1) {
    const patient_id = await create('/v1/clinical-api/patients', {
      given_name: 'Ada',
      family_name: `Example ${patient}`,
      dob: '1980-02-29',
    })
    await create(`/v1/patients/${patient_id}/consents`, { consent_type_id, text_version_id, decision: 'granted' })
    bodies.push(
      JSON.stringify({
        patient_id,
        finding: { finding_type: 'lesion' },
        images: [image],
        external_reference: 'bench-1',
      }),
    )
  }
  return {
    kind: 'http',
    baseUrl: platform.baseUrl,
    method: 'POST',
    paths: ['/v1/clinical-api/assessments'],
    headers: platform.headers,
    bodies,
    isKeyed: true,
    status: 202,
    makesRecords: true,
    count,
    inFlight: 1,
  }
}
