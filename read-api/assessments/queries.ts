import type { Pool } from '../../platform/database/database.ts'
import type { AssessmentView } from '../../contracts/assessments/record.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { rowOf, type Found } from '../rows.ts'

interface AssessmentRow {
  assessment_id: string
  patient_id: string
  case_id: string | null
  status: AssessmentView['status']
  external_reference: string | null
  result: AssessmentView['result']
  failure_code: AssessmentView['failureCode']
  images: AssessmentView['images']
  stream_revision: string
}

/** The assessment and its images in one statement, so that both are of the same moment. */
export async function getAssessment(pool: Pool, org: TenantId, id: string): Promise<Found<AssessmentView>> {
  const row = await rowOf<AssessmentRow>(
    pool,
    `select a.*, (
       select jsonb_agg(jsonb_build_object('imageId', i.image_id, 'captureType', i.capture_type, 'objectKey', i.object_key)
                        order by i.ordinal)
       from assessments.assessment_images i where i.assessment_id = a.assessment_id) as images
     from assessments.assessments a where a.org_id = $1 and a.assessment_id = $2`,
    [org, id],
  )
  return {
    id: row.assessment_id,
    status: row.status,
    patientId: row.patient_id,
    caseId: row.case_id,
    externalReference: row.external_reference,
    images: row.images,
    result: row.result,
    failureCode: row.failure_code,
    revision: BigInt(row.stream_revision),
  }
}
