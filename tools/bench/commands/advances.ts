import { textAt } from '../../../app/demo/members.ts'
import { createApiClient } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { workflowInstances } from '../../../streams/workflow-instance/aggregate.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import type { HttpJob } from '../load/jobs.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'
import { storedEvents } from '../load/stored-events.ts'
import { bearerOf, inFlight } from './assessments.ts'

const instances = '/v1/orchestrator/workflow-instances'
const advance = { step_id: 'intake', output: { answers: { age: 61, changed: true, note: 'Since last summer' } } }

/** Each advance answers the questions of a step, and comes back to it: an instance takes almost 1,000 of them. */
const workflow = {
  name: 'Bench',
  start_step_id: 'intake',
  steps: [
    {
      step_id: 'intake',
      kind: 'collect-questions',
      title: 'About the lesion',
      config: {
        questions: [
          { id: 'age', text: 'Age', type: 'number', required: true },
          { id: 'changed', text: 'Changed', type: 'boolean', required: true },
          { id: 'note', text: 'Note', type: 'text', required: false },
        ],
      },
      next: [{ when: { op: 'lt', path: 'intake.answers.age', value: 0 }, step_id: 'end' }, { step_id: 'intake' }],
    },
    { step_id: 'end', kind: 'output', title: 'End', config: { values: {} }, next: [] },
  ],
}

/** The ids of new instances on one case. */
async function startInstances(platform: BenchPlatform, count: number): Promise<readonly string[]> {
  const api = createApiClient(platform.baseUrl, bearerOf(platform))
  const post = async (path: string, body: object) => {
    const answer = await expecting(201, api.call(path, { body, headers: { prefer: 'respond-async' } }))
    return textAt(answer.body, 'id')
  }
  const person = { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29' }
  const caseId = await post('/v1/clinical-api/cases', { patient_id: await post('/v1/clinical-api/patients', person) })
  const definitionId = await post('/v1/orchestrator/workflow-definitions', workflow)
  const ids: string[] = []
  for (let made = 0; made < count; made += 1)
    ids.push(await post(instances, { workflow_definition_id: definitionId, case_id: caseId }))
  return ids
}

/** Compares advances of workflow instances with bare appends of the same events, one of them encrypted. */
export const workflowAdvances: Benchmark = {
  name: 'advances',
  goals: ['19'],
  about: 'advances of workflow instances over bare appends of the same events',
  run: async ({ quick }, { compare }) => {
    const count = quick ? 1_000 : 10_000
    await withScope(async ({ folder, started }) => {
      const platform = await started(startBenchPlatform({ folder, roles: ['api'] }))
      const driver = await started(startDriver())
      const ids = await startInstances(platform, quick ? 100 : 500)
      const requests: HttpJob = {
        kind: 'http',
        baseUrl: platform.baseUrl,
        method: 'POST',
        paths: ids.map((id) => `${instances}/${id}/advance`),
        headers: { ...platform.headers, prefer: 'respond-async' },
        bodies: [JSON.stringify(advance)],
        isKeyed: true,
        status: 200,
        makesRecords: false,
        count,
        inFlight,
      }
      await driver.run({ ...requests, count: ids.length })
      const { stream } = workflowInstances.of(tenantOfFact(platform.credentials.org_id), ids[0] ?? '')
      // The start made two events, and the advance two more.
      const events = (await storedEvents(platform.eventStoreUrl, stream)).slice(2, 4)
      await compare(
        single({
          goalNumber: '19',
          name: `POST …/advance, ${inFlight} in flight`,
          unit: 'per second',
          ours: { name: 'platform', measure: async () => (await driver.run(requests)).perSecond },
          other: {
            name: 'bare append',
            measure: async () =>
              (await driver.run({ kind: 'append', url: platform.eventStoreUrl, events, count, inFlight })).perSecond,
          },
          goal: atLeast(0.4, { reached: 0.34 }),
        }),
      )
    })
  },
}
