import { randomUUID } from 'node:crypto'
import { EventStoreDBClient } from '@eventstore/db-client'
import { v7 } from 'uuid'
import { requestToken } from '../../../test/support/raw-api.ts'
import { at, textAt } from '../../../app/demo/members.ts'
import { formatPosition } from '../../../platform/kit/positions.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import type { CaseEvent } from '../../../streams/case/events.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atMost, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'

const events = 200

/** An answer of the past: today's handlers and queries over the events up to a position. */
export const pastAnswers: Benchmark = {
  name: 'as-of',
  goals: ['31'],
  about: 'as-of of a case with 200 events over a read of its stream by the official client, one at a time',
  run: async ({ quick }, { compare }) => {
    const count = quick ? 50 : 500
    await withScope(async ({ folder, started }) => {
      const platform = await started(startBenchPlatform({ folder, roles: ['api', 'projector'] }))
      const { stream, path, position } = await longCase(platform)
      const headers = await auditor(platform)
      const address = `${platform.baseUrl}/v1/audit/as-of?at=${encodeURIComponent(position)}&path=${encodeURIComponent(path)}`
      const client = EventStoreDBClient.connectionString(platform.eventStoreUrl)
      await compare(
        single({
          goalNumber: '31',
          name: `answer of the past from ${events} events`,
          unit: 'ms',
          ours: {
            name: 'as-of',
            measure: () => msOf(count, async () => expectCase(await fetch(address, { headers }))),
          },
          other: {
            name: 'readStream',
            measure: () =>
              msOf(count, async () => {
                let read = 0
                for await (const _ of client.readStream(stream)) read += 1
                if (read !== events) throw new Error(`${read} events of ${events}`)
              }),
          },
          goal: atMost(5),
        }),
      )
      await client.dispose()
    })
  },
}

async function msOf(count: number, once: () => Promise<void>): Promise<number> {
  const begun = performance.now()
  for (let done = 0; done < count; done += 1) await once()
  return (performance.now() - begun) / count
}

async function expectCase(answer: Response): Promise<void> {
  const body: unknown = await answer.json()
  if (answer.status !== 200 || at(body, 'status') !== 200)
    throw new Error(`no answer of the past: ${JSON.stringify(body)}`)
}

/** A case with findings, as reviews of many lesions leave it. */
async function longCase({ store, credentials }: BenchPlatform) {
  const orgId = tenantOfFact(credentials.org_id)
  const [caseId, patientId, aiReviewId, now] = [v7(), v7(), v7(), new Date().toISOString()]
  const opened: CaseEvent = {
    type: 'CaseOpened',
    data: {
      caseId,
      organisationId: orgId,
      patientId,
      productId: null,
      assessmentId: null,
      externalReference: 'bench',
      clinicalContext: null,
      customFields: null,
      workflow: null,
      fingerprint: null,
      openedAt: now,
    },
  }
  const findings = Array.from({ length: events - 1 }, (_, index): CaseEvent => ({
    type: 'CaseFindingRecorded',
    data: {
      caseId,
      findingId: v7(),
      source: 'ai',
      aiReviewId,
      lesionNumber: index + 1,
      bodySiteId: null,
      coordinates: { x1: 1, y1: 1, x2: 2, y2: 2 },
      ordinal: index + 1,
      lesionCount: events - 1,
      recordedAt: now,
    },
  }))
  const target = cases.of(orgId, caseId)
  const context = { commandId: randomUUID(), correlationId: randomUUID(), clientId: 'bench', orgId }
  const { position } = await store.append(target, 'no_stream', [opened, ...findings], context)
  return { stream: target.stream, path: `/v1/clinical-api/cases/${caseId}`, position: formatPosition(position) }
}

/** Headers of a client that only a platform caller can register. */
async function auditor({ baseUrl, credentials, headers }: BenchPlatform): Promise<Record<string, string>> {
  const { org_id: orgId, admin_api_secret: secret } = credentials
  const answer = await fetch(`${baseUrl}/v1/auth/clients?org_id=${orgId}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-admin-api-secret': secret ?? '' },
    body: JSON.stringify({ name: 'auditor', org_id: orgId, scopes: ['audit:read', 'audit:read-phi'] }),
  })
  const body: unknown = await answer.json()
  const client = { client_id: textAt(body, 'client_id'), client_secret: textAt(body, 'client_secret') }
  const token = await requestToken(baseUrl, client)
  return { ...headers, authorization: `Bearer ${textAt(token.body, 'access_token')}` }
}
