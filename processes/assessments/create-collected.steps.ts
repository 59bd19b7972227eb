import { Type, type Static } from 'typebox'
import { createCollectedAssessment } from '../../commands/assessments/create-collected.ts'
import { appends } from '../../engine/processes/attempt.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { images } from '../../streams/image/aggregate.ts'
import type { ProcessStep } from '../dependencies.ts'

export const CollectedPayload = Type.Object({ caseId: Type.String() })

/** Creates the assessment that a workflow instance requested. The case has everything that it needs. */
export const createCollected: ProcessStep<Static<typeof CollectedPayload>> = async (todo, { store, configuration }) => {
  const { orgId, key, payload, dueAt: now } = todo
  const { state: ofCase } = await store.load(cases.of(orgId, payload.caseId))
  if (ofCase.status === 'absent' || ofCase.assigned?.assessmentId !== key)
    throw new Error('a case has not assigned the assessment that its event requests')
  const loaded = await Promise.all(ofCase.assigned.imageIds.map((id) => store.load(images.of(orgId, id))))
  const received = loaded.flatMap(({ state }) => (state.status === 'received' ? [state] : []))
  if (received.length < loaded.length) throw new Error('an image that a workflow collected was not received')

  const deadlineMs = configuration.assessmentDeadlineSeconds * 1000
  const command = { ofCase: { ...ofCase, assigned: ofCase.assigned }, images: received, now, deadlineMs }
  const target = { ...assessments.of(orgId, key), isNew: true }
  const created = todo.command('assessments.create-collected')
  return appends(store, target, (state) => createCollectedAssessment(command, state), created)
}
