import { randomBytes, randomUUID } from 'node:crypto'
import { actorContext, textAt } from '../../../app/demo/members.ts'
import { createApiClient } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import type { ConsentEvent } from '../../../streams/consent/events.ts'
import { consents } from '../../../streams/consent/aggregate.ts'
import type { HttpJob } from '../load/jobs.ts'
import type { BenchPlatform } from '../load/platform.ts'
import { bearerOf } from './assessments.ts'
import { tenantOfFact, type TenantId } from '../../../platform/kit/tenants.ts'

export const inFlight = 32
const appendSize = 100

export interface ConsentText {
  readonly consentTypeId: string
  readonly textVersionId: string
}

/** Publishes a consent type with a text in effect. */
export async function publishConsentText(platform: BenchPlatform): Promise<ConsentText> {
  const api = createApiClient(platform.baseUrl, bearerOf(platform))
  const headers = {
    'x-actor-context': actorContext(platform.credentials.org_id, ['consents:admin']),
    prefer: 'respond-async',
  }
  const type = { code: 'bench', displayName: 'Bench', legalBasis: 'consent', required: true }
  const { body: created } = await expecting(201, api.call('/v1/admin/consent-types', { body: type, headers }))
  const consentTypeId = textAt(created, 'id')
  const text = { locale: 'en-GB', text: 'I agree.' }
  const { body: published } = await expecting(
    201,
    api.call(`/v1/admin/consent-types/${consentTypeId}/text-versions`, { body: text, headers }),
  )
  return { consentTypeId, textVersionId: textAt(published, 'id') }
}

/** Creates patients with keys in the vault, as for registered ones, and with this number of recorded decisions each. */
export async function patientsWithDecisions(
  { store, vault, credentials }: BenchPlatform,
  text: ConsentText,
  count: number,
  decisions: number,
): Promise<readonly string[]> {
  const organisationId = credentials.org_id
  const patients = Array.from({ length: count }, () => randomUUID())
  const fill = async (patientId: string): Promise<void> => {
    await vault.subjectKeyForWriting(organisationId, patientId)
    const context = { correlationId: randomUUID(), orgId: organisationId, clientId: 'bench' }
    for (let first = 0; first < decisions; first += appendSize) {
      const events = Array.from({ length: Math.min(appendSize, decisions - first) }, () =>
        decision(tenantOfFact(organisationId), patientId, text),
      )
      const expected = first === 0 ? 'no_stream' : BigInt(first - 1)
      await store.append(consents.of(tenantOfFact(organisationId), patientId), expected, events, {
        ...context,
        commandId: randomUUID(),
      })
    }
  }
  for (let first = 0; first < count; first += 8) await Promise.all(patients.slice(first, first + 8).map(fill))
  return patients
}

/** One keyed request for each decision, on the patients in turn. */
export function decisionRequests(
  { baseUrl, headers }: BenchPlatform,
  text: ConsentText,
  patients: readonly string[],
  count: number,
): HttpJob {
  return {
    kind: 'http',
    baseUrl,
    method: 'POST',
    paths: patients.map((patient) => `/v1/patients/${patient}/consents`),
    headers: { ...headers, prefer: 'respond-async' },
    bodies: [
      JSON.stringify({ consent_type_id: text.consentTypeId, text_version_id: text.textVersionId, decision: 'granted' }),
    ],
    isKeyed: true,
    status: 201,
    makesRecords: true,
    count,
    inFlight,
  }
}

function decision(organisationId: TenantId, patientId: string, text: ConsentText): ConsentEvent {
  const now = new Date().toISOString()
  return {
    type: 'ConsentRecorded',
    data: {
      consentId: randomUUID(),
      organisationId,
      patientId,
      ...text,
      consentTypeCode: 'bench',
      textSha256: '0'.repeat(64),
      decision: 'granted',
      recordedAt: now,
      recordedBy: 'bench',
      createdAt: now,
      fingerprint: randomBytes(32).toString('hex'),
    },
  }
}
