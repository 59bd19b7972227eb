import { at } from '../../../app/demo/members.ts'
import type { ApiClient } from '../../../test/support/raw-api.ts'
import type { Acknowledged, Operation } from '../acknowledged.ts'
import { text, type Fact, type Checked, type Finding } from '../facts.ts'
import { subscribedIn } from './subscriptions.ts'
import { stateOf, stateOfRecord, Workflows } from './workflows.ts'

/** The path of a write's record. Consents are read by patient. Subscriptions are compared with the log. */
const pathOf: Readonly<Partial<Record<Operation, (id: string) => string>>> = {
  patient: (id) => `/v1/clinical-api/patients/${id}`,
  assessment: (id) => `/v1/clinical-api/assessments/${id}`,
  submit: (id) => `/v1/clinical-api/assessments/${id}`,
  cancel: (id) => `/v1/ai-reviews/${id}`,
  supersede: (id) => `/v1/ai-reviews/${id}`,
  notify: (id) => `/v1/notifications/${id}`,
  publish: (id) => `/v1/orchestrator/workflow-definitions/${id}`,
  case: (id) => `/v1/clinical-api/cases/${id}`,
  receive: (id) => `/v1/clinical-api/images/${id}`,
}
const atOnce = 8

/**
 * The API returns every acknowledged write. A patient's consent is the last recorded one. A subscription has its last
 * state, and so has a workflow instance.
 */
export async function checkApi(
  api: Pick<ApiClient, 'call'>,
  acknowledged: readonly Acknowledged[],
  log: readonly Fact[],
): Promise<Checked> {
  const questions = new Map<
    string,
    { readonly status?: 404; readonly id: unknown; readonly idOf: (body: unknown) => unknown }
  >()
  for (const { operation, id } of acknowledged) {
    const path = pathOf[operation]?.(id)
    if (path !== undefined) questions.set(path, { id, idOf: (body) => at(body, 'id') })
  }
  for (const fact of log.filter(({ type }) => type === 'ConsentRecorded')) {
    const query = new URLSearchParams({
      patientId: text(fact, 'patientId'),
      consentTypeCode: text(fact, 'consentTypeCode'),
    })
    questions.set(`/v1/consent-records?${query.toString()}`, {
      id: text(fact, 'consentId'),
      idOf: (body) => at(body, 'record', 'id'),
    })
  }
  for (const { id, status, url } of subscribedIn(log).subscriptions.values()) {
    const asItIs = {
      id: `${id} ${status} ${url}`,
      idOf: (body: unknown) => [at(body, 'id'), at(body, 'status'), at(body, 'url')].join(' '),
    }
    questions.set(
      `/v1/clinical-api/webhook-subscriptions/${id}`,
      status === 'deleted' ? { status: 404, id: 'not-found', idOf: (body) => at(body, 'code') } : asItIs,
    )
  }
  for (const [id, instance] of new Workflows(log).instances)
    questions.set(`/v1/orchestrator/workflow-instances/${id}`, { id: stateOf(instance), idOf: stateOfRecord })
  const left = [...questions]
  const findings: Finding[] = []
  const ask = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [path, { status: expected = 200, id, idOf }] = next
      const { status, body } = await api.call(path)
      if (status !== expected || idOf(body) !== id)
        findings.push({ what: `answered ${status} without ${String(id)}`, where: path })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, ask))
  return { check: 'acknowledged writes answered by the API', examined: questions.size, findings }
}
