import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at } from '../../app/demo/members.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../app/demo/webhook-receiver.ts'
import { startInProcessPlatform, type InProcessPlatform } from '../support/in-process-platform.ts'
import {
  assessmentBody,
  decideConsent,
  endOf,
  expecting,
  photograph,
  registerPatient,
  requestAssessment,
  subscribeToEnds,
  webhookAbout,
} from '../support/main-job.ts'
import { waitFor } from '../support/platform.ts'
import { startTraceReceiver, type ReceivedSpan, type TraceReceiver } from '../support/trace-receiver.ts'

/** In every free text, in the address of the webhook, and in headers. */
const canary = 'Zanzibar'
const callersSpan = '00f067aa0ba902b7'

let collector: TraceReceiver
let receiver: WebhookReceiver
let world: InProcessPlatform
let patientId: string

beforeAll(async () => {
  ;[collector, receiver] = await Promise.all([startTraceReceiver(), startWebhookReceiver()])
  world = await startInProcessPlatform({
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.endpoint}/base`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20secret',
    OTEL_SERVICE_NAME: 'clinic',
  })
  await subscribeToEnds(world.api, { url: `${receiver.url}/${canary}?key=${canary}` })
  patientId = await registerPatient(world.api, { given_name: canary, family_name: canary })
  await decideConsent(world.api, patientId, world.terms, 'granted')
})
afterAll(async () => {
  await world.close()
  await collector.close()
  await receiver.close()
})

const attributeNames = [
  'error.type',
  'http.request.method',
  'http.response.status_code',
  'http.route',
  'platform.correlation.id',
  'platform.event.count',
  'platform.event.id',
  'platform.event.types',
  'platform.organisation.id',
  'platform.outcome',
  'platform.stream',
  'server.address',
]

/** An assessment in a trace of its caller, up to its webhook, with all its spans. */
async function tracedAssessment(flags = '01') {
  const traceId = randomBytes(16).toString('hex')
  const headers = {
    traceparent: `00-${traceId}-${callersSpan}-${flags}`,
    tracestate: `vendor=${canary}`,
    baggage: `name=${canary}`,
    'x-request-id': canary,
    'user-agent': canary,
  }
  const assessmentId = await requestAssessment(world.api, assessmentBody(patientId, [await photograph()]), headers)
  await endOf(world.api, assessmentId)
  const webhook = await webhookAbout(receiver, assessmentId)
  return { traceId, assessmentId, webhook }
}

const namesOf = (spans: readonly ReceivedSpan[]) => [...new Set(spans.map(({ name }) => name))].toSorted()

test('an assessment is one trace, from the POST to the webhook', async () => {
  const { traceId, assessmentId, webhook } = await tracedAssessment()
  const trace = await collector.trace(traceId, [
    'append assessment',
    'append ai_review.events',
    'project assessments',
    'project webhooks_todo',
    'step ai_review.start',
    'call provider',
    'call image',
    'call object_store',
    'read consent',
    'step assessments.conclude',
    'step webhooks.deliver',
    'call webhook',
  ])
  expect(trace.root).toMatchObject({
    name: 'POST /v1/clinical-api/assessments',
    parentSpanId: callersSpan,
    kind: 2,
    status: { code: 0 },
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/v1/clinical-api/assessments',
      'http.response.status_code': 202,
      'platform.organisation.id': world.platform.credentials.org_id,
    },
    resource: {
      'service.name': 'clinic',
      'service.version': expect.any(String),
      'service.instance.id': expect.any(String),
    },
  })
  expect(trace.parentOf('call webhook')?.name).toBe('step webhooks.deliver')
  expect(trace.parentOf('append webhook_delivery')?.name).toBe('step webhooks.deliver')
  expect(webhook.headers).toMatchObject({ traceparent: `00-${traceId}-${trace.span('call webhook')?.spanId}-01` })
  expect(Object.keys(webhook.headers)).not.toContain('tracestate')
  expect(Object.keys(webhook.headers)).not.toContain('baggage')

  // The events of steps and of channels continue the request that caused them.
  const orgId = world.platform.credentials.org_id
  const traceparents = new Set<string | undefined>()
  for (const stream of [`assessment-${orgId}-${assessmentId}`, 'assessment.events'])
    for await (const { data, metadata, stream: of } of world.platform.store.readStream(stream))
      if (of !== 'assessment.events' || at(data, 'assessment_id') === assessmentId)
        traceparents.add(metadata.traceparent)
  expect([...traceparents]).toEqual([`00-${traceId}-${trace.root.spanId}-01`])

  expect(collector.heads[0]).toMatchObject({
    path: '/base/v1/traces',
    headers: { 'content-type': 'application/json', 'x-key': 'a secret' },
  })
})

test('a caller that does not record its trace is followed: no span leaves, and the webhook continues its trace', async () => {
  const { traceId, webhook } = await tracedAssessment('00')
  expect(webhook.headers['traceparent']).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`))
  // A later trace is there, so this one would be as well.
  const later = await tracedAssessment()
  await collector.trace(later.traceId, ['call webhook'])
  expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([])
})

test('a request without traceparent starts a trace', async () => {
  const { headers } = await expecting(200, world.api.call(`/v1/clinical-api/patients/${patientId}`))
  const [, traceId = ''] = (headers.get('traceparent') ?? '').split('-')
  const name = 'GET /v1/clinical-api/patients/:id'
  const { root } = await collector.trace(traceId, [name])
  expect(root.name).toBe(name)
  expect(root.parentSpanId).toBeUndefined()
})

test('a call that fails has its status, and none of the answer', async () => {
  await world.provider.fault({ call: 'case', status: 500, body: canary })
  const { traceId } = await tracedAssessment()
  const { spans } = await collector.trace(traceId, ['call webhook'])
  const failed = spans.filter(({ name, status }) => name.startsWith('call ') && status.code === 2)
  expect(failed.map(({ name, attributes }) => ({ name, ...attributes }))).toEqual([
    {
      name: 'call provider',
      'server.address': new URL(world.platform.credentials.provider_url ?? '').host,
      'platform.outcome': 'failed',
      'http.response.status_code': 500,
      'error.type': '500',
    },
  ])
})

test('spans contain what the closed list allows, and nothing personal', async () => {
  const { traceId } = await tracedAssessment()
  for (const path of [`/v1/clinical-api/patients/${canary}`, `/v1/clinical-api/patients?q=${canary}`, `/${canary}`])
    expect((await world.api.call(path)).status).toBeGreaterThanOrEqual(400)
  await collector.trace(traceId, ['call webhook', 'project webhook_deliveries'])
  const names = new Set(collector.spans.flatMap(({ attributes }) => Object.keys(attributes)))
  expect([...names].filter((name) => !attributeNames.includes(name))).toEqual([])
  const kinds =
    /^(?:(?:GET|POST|PUT|PATCH|DELETE) (?:\/[a-z0-9_:/.A-Z-]+|unknown)|(?:append|read|project|call) [a-z_.]+|step [a-z_]+\.[a-z-]+)$/
  expect(namesOf(collector.spans).filter((name) => !kinds.test(name))).toEqual([])

  const text = collector.bodies.join('\n')
  expect(text).toContain(patientId)
  for (const personal of [canary, '1980-02-29', 'http://', 'X-Amz', 'Bearer', '127.0.0.1"', '?'])
    expect(text, personal).not.toContain(personal)
})

test('the figures count the spans', async () => {
  await waitFor('the figures', async () => {
    const text = await (await fetch(`${world.platform.credentials.base_url}/metrics`)).text()
    return /^trace_spans_total\{outcome="exported"\} [1-9]/m.test(text) ? true : undefined
  })
})
