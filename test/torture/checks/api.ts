import { at, type ApiClient } from '../../../platform/demo/api-client.ts'
import type { Acknowledged, Operation } from '../acknowledged.ts'
import { text, type Fact } from '../facts.ts'
import type { Checked, Finding } from './checked.ts'

/** Where a write's record is found; consents are asked for by patient. */
const pathOf: Readonly<Record<Exclude<Operation, 'consent'>, (id: string) => string>> = {
  patient: (id) => `/v1/clinical-api/patients/${id}`,
  assessment: (id) => `/v1/clinical-api/assessments/${id}`,
  submit: (id) => `/v1/clinical-api/assessments/${id}`,
  cancel: (id) => `/v1/ai-reviews/${id}`,
  supersede: (id) => `/v1/ai-reviews/${id}`,
  subscription: (id) => `/v1/clinical-api/webhook-subscriptions/${id}`,
}
const atOnce = 8

/** Every acknowledged write is what the API answers with, and each patient's consent is the last that was recorded. */
export async function checkApi(api: Pick<ApiClient, 'call'>, acknowledged: readonly Acknowledged[], log: readonly Fact[]): Promise<Checked> {
  const questions = new Map<string, { readonly id: string; readonly idOf: (body: unknown) => unknown }>()
  for (const { operation, id } of acknowledged) {
    if (operation !== 'consent') questions.set(pathOf[operation](id), { id, idOf: (body) => at(body, 'id') })
  }
  for (const fact of log.filter(({ type }) => type === 'ConsentRecorded')) {
    const query = new URLSearchParams({ patientId: text(fact, 'patientId'), consentTypeCode: text(fact, 'consentTypeCode') })
    questions.set(`/v1/consent-records?${query.toString()}`, { id: text(fact, 'consentId'), idOf: (body) => at(body, 'record', 'id') })
  }
  const left = [...questions]
  const findings: Finding[] = []
  const ask = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [path, { id, idOf }] = next
      const { status, body } = await api.call(path)
      if (status !== 200 || idOf(body) !== id) findings.push({ what: `answered ${status}, and not with ${id}`, where: path })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, ask))
  return { check: 'acknowledged writes answered by the API', examined: questions.size, findings }
}
