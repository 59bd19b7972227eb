import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import {
  assessmentBody,
  endOf,
  expecting,
  photograph,
  requestAssessment,
  reviewOfCase,
} from '../../support/main-job.ts'
import { waitFor, type PlatformInUse } from '../../support/platform.ts'

export const cases = '/v1/clinical-api/cases'

/** Two lesions. The second one has nothing that could be coded. */
export const lesions = [
  { classification: 'MEL' },
  {
    classification: 'NV',
    suspectedDiagnosisIcd10Code: null,
    suspectedDiagnosisIcd10Term: null,
    suspectedDiagnosisSnomedCode: null,
    suspectedDiagnosisSnomedTerm: null,
  },
]

export interface Job {
  readonly record: unknown
  readonly caseId: string
  readonly review: unknown
  readonly bodySiteId: string
}

/** Where the findings of a patient come from. */
export interface FindingSource {
  readonly platform: Pick<PlatformInUse, 'provider'>
  readonly api: ApiClient
  readonly patientId: string
}

/** A completed assessment with these lesions from the provider. */
export async function ended(
  { platform, api, patientId }: FindingSource,
  found: Readonly<Record<string, unknown>> = { lesions },
): Promise<Job> {
  const photo = await photograph()
  const sites = (await expecting(200, api.call('/v1/clinical-api/body-sites?limit=2'))).body
  const bodySiteId = textAt(sites, 'data', 1, 'id')
  await platform.provider.result({ sha256: photo.sha256, ...found })
  const body = {
    ...assessmentBody(patientId, [photo]),
    finding: { finding_type: 'lesion' as const, body_site_id: bodySiteId },
  }
  const record = await endOf(api, await requestAssessment(api, body))
  const caseId = textAt(record, 'case_id')
  return { record, caseId, review: await reviewOfCase(api, caseId), bodySiteId }
}

/** The list of a case, when it has so many items. */
export function listed(
  client: ApiClient,
  caseId: string,
  what: 'findings' | 'diagnoses',
  count: number,
): Promise<readonly unknown[]> {
  return waitFor(`${count} ${what} of case ${caseId}`, async () => {
    const { body } = await expecting(200, client.call(`${cases}/${caseId}/${what}`))
    const data: unknown = at(body, 'data')
    return Array.isArray(data) && data.length === count ? data : undefined
  })
}

/** Supersedes the review of a completed assessment. Returns the id of the new review. */
export async function superseded(api: ApiClient, { record, review }: Job): Promise<string> {
  const presignedUrlExpiresAt = new Date(Date.now() + 60_000).toISOString()
  const image = {
    imageId: textAt(record, 'images', 0, 'id'),
    imageType: 'DERMOSCOPIC',
    presignedUrl: textAt(record, 'images', 0, 'download_url'),
    presignedUrlExpiresAt,
  }
  const made = await expecting(
    202,
    api.call(`/v1/ai-reviews/${textAt(review, 'id')}/supersede`, { body: { images: [image] } }),
  )
  return textAt(made.body, 'aiReviewId')
}

export const supersededOf = (statuses: readonly unknown[]) =>
  statuses.filter((status) => status === 'superseded').length
export const statusesOf = (diagnoses: readonly unknown[]) => diagnoses.map((diagnosis) => at(diagnosis, 'status'))
