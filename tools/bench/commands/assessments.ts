import { randomUUID } from 'node:crypto'
import { textAt } from '../../../app/demo/members.ts'
import { createApiClient } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import type { AppendJob, HttpJob } from '../load/jobs.ts'
import type { BenchPlatform } from '../load/platform.ts'
import { storedEvents } from '../load/stored-events.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'

/** The requests are about this many patients in turn, like a day in a clinic. */
const patients = 200

export const inFlight = 64

/**
 * Requests an assessment of declared images. Each goes to a new stream and is answered 202 as soon as it is durable.
 */
export async function assessmentRequests(platform: BenchPlatform, count: number): Promise<HttpJob> {
  const api = createApiClient(platform.baseUrl, bearerOf(platform))
  const bodies: string[] = []
  for (let patient = 0; patient < patients; patient += 1) {
    const body = { given_name: 'Ada', family_name: `Example ${patient}`, dob: '1980-02-29' }
    const headers = { prefer: 'respond-async' }
    const { body: registered } = await expecting(201, api.call('/v1/clinical-api/patients', { body, headers }))
    bodies.push(
      JSON.stringify({
        patient_id: textAt(registered, 'id'),
        finding: { finding_type: 'lesion' },
        images: [{ capture_type: 'dermoscopic', mime_type: 'image/jpeg' }],
        external_reference: 'bench-1',
      }),
    )
  }
  return {
    kind: 'http',
    baseUrl: platform.baseUrl,
    method: 'POST',
    paths: ['/v1/clinical-api/assessments'],
    headers: { ...platform.headers, prefer: 'respond-async' },
    bodies,
    isKeyed: true,
    status: 202,
    makesRecords: true,
    count,
    inFlight,
  }
}

/** The events that one such request stores. */
export async function eventsOfRequest(
  platform: BenchPlatform,
  { bodies, paths }: HttpJob,
): Promise<AppendJob['events']> {
  const api = createApiClient(platform.baseUrl, bearerOf(platform))
  const body: unknown = JSON.parse(bodies[0] ?? '')
  const headers = { prefer: 'respond-async', 'idempotency-key': randomUUID() }
  const { body: record } = await expecting(202, api.call(paths[0] ?? '', { body, headers }))
  return storedEvents(
    platform.eventStoreUrl,
    assessments.of(tenantOfFact(platform.credentials.org_id), textAt(record, 'id')).stream,
  )
}

export function bearerOf({ headers }: Pick<BenchPlatform, 'headers'>): string {
  return headers['authorization']?.slice('Bearer '.length) ?? ''
}
