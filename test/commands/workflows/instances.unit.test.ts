import { describe, expect, it } from 'vitest'
import { advanceInstance, type AdvanceInstance } from '../../../commands/workflows/advance-instance.ts'
import type { WorkflowDefinition } from '../../../commands/workflows/definitions.ts'
import { cancelInstance, cancelWithCase, followAssessment } from '../../../commands/workflows/end-instance.ts'
import { publishDefinition } from '../../../commands/workflows/publish-definition.ts'
import { startInstance } from '../../../commands/workflows/start-instance.ts'
import { workflowDefinitions } from '../../../streams/workflow-definition/aggregate.ts'
import type { WorkflowStep } from '../../../streams/workflow-definition/steps.ts'
import { workflowInstances } from '../../../streams/workflow-instance/aggregate.ts'
import { given } from '../../support/given-decider.ts'
import { at, hash, ids } from '../../streams/facts.ts'
import { definitionFact, instanceFact, lesionSteps } from '../../streams/workflow-facts.ts'
import { decision, either, output, photos, questions, to } from './graphs.ts'

function definitionOf(steps: WorkflowStep[]): WorkflowDefinition {
  const { data } = definitionFact('WorkflowDefinitionPublished', { steps, startStepId: steps[0]?.step_id ?? '' })
  return { ...data, stepsById: new Map(steps.map((step) => [step.step_id, step])) }
}

const lesion = definitionOf(lesionSteps)
const request = { key: hash('a'), fingerprint: hash('b') }
const now = new Date(at(2))
const begun = instanceFact('WorkflowInstanceStarted')
const parked = instanceFact('WorkflowStepParked')
const atPhotos = instanceFact('WorkflowStepParked', {
  stepId: 'photos',
  kind: 'collect-images',
  passed: ['is-changed'],
})

const changed = { answers: { age: 61, changed: true } }
const unchanged = { answers: { age: 61, changed: false } }

function advancing(changes: Partial<AdvanceInstance> = {}): AdvanceInstance {
  const command = { definition: lesion, stepId: 'intake', output: changed, isValid: true }
  return { ...command, productId: null, request: null, now, ...changes }
}

const advanced = (changes: object) =>
  instanceFact('WorkflowStepAdvanced', { output: changed, advancedAt: at(2), ...changes })
const photosTaken = { image_ids: [ids.image] }
const assessing = [begun, parked, advanced({}), atPhotos, advanced({ stepId: 'photos', output: photosTaken })]
const produced = instanceFact('WorkflowOutputProduced', { values: { age: 61 }, producedAt: at(2) })
const requested = instanceFact('WorkflowAssessmentRequested', { requestedAt: at(2) })

describe('publishing a definition', () => {
  const { version: _, publishedAt: __, ...command } = definitionFact('WorkflowDefinitionPublished').data
  const publication = { ...command, now: new Date(at(0)) }

  it('makes the next version, also of the same content', () => {
    const first = definitionFact('WorkflowDefinitionPublished')
    given(workflowDefinitions).when(publishDefinition, publication).thenEvents([first])
    const other = { ...publication, request: null }
    const second = definitionFact('WorkflowDefinitionPublished', { version: 2, request: null })
    const third = definitionFact('WorkflowDefinitionPublished', { version: 3, request: null })
    given(workflowDefinitions, first).when(publishDefinition, other).thenEvents([second], [third])
  })

  it('refuses another body under the key of an earlier version', () => {
    const { key } = publication.request ?? request
    const other = { ...publication, request: { key, fingerprint: hash('3') } }
    given(workflowDefinitions, definitionFact('WorkflowDefinitionPublished'))
      .when(publishDefinition, other)
      .thenRefused('idempotency-key-reused')
  })
})

describe('starting an instance', () => {
  const { workflowDefinitionId: _, definitionVersion: __, startedAt: ___, ...started } = begun.data
  const command = { ...started, definition: lesion, now: new Date(at(1)) }

  it('waits at the first step that collects', () => {
    given(workflowInstances).when(startInstance, command).thenEvents([begun, parked])
  })

  it('runs to its end if no step waits', () => {
    const definition = definitionOf([decision('d', to('end')), output('end')])
    given(workflowInstances)
      .when(startInstance, { ...command, definition })
      .thenEvents([
        begun,
        instanceFact('WorkflowOutputProduced', { stepId: 'end', passed: ['d'], values: {}, producedAt: at(1) }),
        instanceFact('WorkflowInstanceCompleted', { stepId: 'end', completedAt: at(1) }),
      ])
  })

  it('fails if no branch fits', () => {
    const when = { op: 'exists', path: 'q.answers.text' } as const
    const definition = definitionOf([decision('d', [{ when, step_id: 'q' }]), questions('q', to('end')), output('end')])
    given(workflowInstances)
      .when(startInstance, { ...command, definition })
      .thenEvents([begun, instanceFact('WorkflowInstanceFailed', { stepId: 'd', passed: ['d'], failedAt: at(1) })])
  })

  it('happens once per key', () => {
    given(workflowInstances, begun, parked)
      .when(startInstance, { ...command, fingerprint: hash('e') })
      .thenRefused('idempotency-key-reused')
  })
})

describe('advancing an instance', () => {
  it('passes a decision by its first branch that fits', () => {
    given(workflowInstances, begun, parked)
      .when(advanceInstance, advancing())
      .thenEvents([advanced({}), { ...atPhotos, data: { ...atPhotos.data, parkedAt: at(2) } }])
    given(workflowInstances, begun, parked)
      .when(advanceInstance, advancing({ output: unchanged }))
      .thenEvents([
        advanced({ output: unchanged }),
        instanceFact('WorkflowOutputProduced', {
          stepId: 'no-photos',
          passed: ['is-changed'],
          values: { age: 61, note: null },
          producedAt: at(2),
        }),
        instanceFact('WorkflowInstanceCompleted', { stepId: 'no-photos', completedAt: at(2) }),
      ])
  })

  it('requests the assessment of the collected images, each once, for the product of the token', () => {
    const toPhotos = advancing({ stepId: 'photos', output: photosTaken })
    const expected = [advanced({ stepId: 'photos', output: photosTaken }), produced]
    given(workflowInstances, ...assessing.slice(0, 4))
      .when(advanceInstance, toPhotos)
      .thenEvents([...expected, requested])
    given(workflowInstances, ...assessing.slice(0, 4))
      .when(advanceInstance, { ...toPhotos, productId: ids.case })
      .thenEvents([
        ...expected,
        instanceFact('WorkflowAssessmentRequested', { requestedAt: at(2), productId: ids.case }),
      ])
    given(workflowInstances, instanceFact('WorkflowInstanceStarted', { productId: null }), ...assessing.slice(1, 4))
      .when(advanceInstance, toPhotos)
      .thenRefused('product-required')
  })

  it('requests an image once that two steps collected', () => {
    const definition = definitionOf([
      photos('photos', to('more')),
      photos('more', to('assessed')),
      output('assessed', { effect: 'assessment' }),
    ])
    const atMore = instanceFact('WorkflowStepParked', { stepId: 'more', kind: 'collect-images', passed: [] })
    const taken = advanced({ stepId: 'photos', output: photosTaken })
    given(workflowInstances, begun, instanceFact('WorkflowStepParked', { ...atPhotos.data }), taken, atMore)
      .when(advanceInstance, advancing({ definition, stepId: 'more', output: photosTaken }))
      .thenEvents([
        advanced({ stepId: 'more', output: photosTaken }),
        instanceFact('WorkflowOutputProduced', { values: {}, producedAt: at(2) }),
        instanceFact('WorkflowAssessmentRequested', { requestedAt: at(2), findingType: 'lesion' }),
      ])
  })

  it.each([
    [0, 'no-images-collected'],
    [11, 'too-many-images'],
  ] as const)('fails before an assessment of %i images', (count, code) => {
    const image_ids = Array.from({ length: count }, (_, index) => `image ${index}`)
    const events = given(workflowInstances, ...assessing.slice(0, 4))
      .when(advanceInstance, advancing({ stepId: 'photos', output: { image_ids } }))
      .thenEvents([
        advanced({ stepId: 'photos', output: { image_ids } }),
        produced,
        instanceFact('WorkflowInstanceFailed', { stepId: 'assessed', passed: [], code, failedAt: at(2) }),
      ])
    expect(events).toMatchObject({ status: 'failed', code })
  })

  it('refuses an output that does not fit a parked step', () => {
    given(workflowInstances, begun, parked)
      .when(advanceInstance, advancing({ isValid: false }))
      .thenRefused('output-invalid')
  })

  it('takes only the same output again for a step that is not parked', () => {
    const story = [begun, parked, advanced({}), atPhotos]
    given(workflowInstances, ...story)
      .when(advanceInstance, advancing({ isValid: false }))
      .thenNothing()
    given(workflowInstances, ...story)
      .when(advanceInstance, advancing({ output: unchanged }))
      .thenRefused('step-not-parked')
    given(workflowInstances, ...story)
      .when(advanceInstance, advancing({ stepId: 'assessed' }))
      .thenRefused('step-not-parked')
    given(workflowInstances, ...assessing, produced, requested)
      .when(advanceInstance, advancing({ output: unchanged }))
      .thenRefused('workflow-instance-not-parked')
    const cancelled = instanceFact('WorkflowInstanceCancelled')
    given(workflowInstances, begun, parked, cancelled)
      .when(advanceInstance, advancing())
      .thenRefused('workflow-instance-not-parked')
    given(workflowInstances).when(advanceInstance, advancing()).thenRefused('not-found')
  })

  it('compares with null after an erasure, which equals nothing', () => {
    given(workflowInstances, begun, parked, advanced({ output: null }), atPhotos)
      .when(advanceInstance, advancing())
      .thenRefused('step-not-parked')
  })

  it('takes the same output again for a step that is parked again, but once per key', () => {
    const again = definitionOf([
      questions('intake', either({ op: 'eq', path: 'intake.answers.text', value: 'stop' }, 'end', 'intake')),
      output('end'),
    ])
    const same = { answers: { text: 'more' } }
    const command = advancing({ definition: again, output: same })
    const step = advanced({ output: same })
    const parkedAgain = instanceFact('WorkflowStepParked', { parkedAt: at(2) })
    given(workflowInstances, begun, parked)
      .when(advanceInstance, command)
      .thenEvents([step, parkedAgain], [step, parkedAgain])
    const keyed = advanced({ output: same, request })
    given(workflowInstances, begun, parked)
      .when(advanceInstance, { ...command, request })
      .thenEvents([keyed, parkedAgain])
    given(workflowInstances, begun, parked, keyed, parkedAgain)
      .when(advanceInstance, { ...command, request: { ...request, fingerprint: hash('c') } })
      .thenRefused('idempotency-key-reused')
  })

  it('keeps the key of the same output for a step that is not parked, so a repeat does not advance it later', () => {
    const cycle = definitionOf([questions('intake', to('other')), questions('other', to('intake'))])
    const command = advancing({ definition: cycle, request })
    const atOther = instanceFact('WorkflowStepParked', { stepId: 'other', parkedAt: at(2) })
    const unneeded = instanceFact('WorkflowAdvanceUnneeded')
    const once = [begun, parked, advanced({}), atOther]
    given(workflowInstances, ...once)
      .when(advanceInstance, { ...command, request: null })
      .thenNothing()
    given(workflowInstances, ...once)
      .when(advanceInstance, command)
      .thenEvents([unneeded])
    const parkedAgain = [advanced({ stepId: 'other' }), instanceFact('WorkflowStepParked', { parkedAt: at(2) })]
    given(workflowInstances, ...once, unneeded, ...parkedAgain)
      .when(advanceInstance, command)
      .thenNothing()
    given(workflowInstances, ...once, instanceFact('WorkflowInstanceCancelled'))
      .when(advanceInstance, command)
      .thenNothing()
  })

  it('fails an instance that enters its 1,001st step', () => {
    const chain = Array.from({ length: 99 }, (_, index) =>
      decision(`d${index}`, to(index === 98 ? 'intake' : `d${index + 1}`)),
    )
    const definition = definitionOf([questions('intake', to('d0')), ...chain])
    const passed = chain.map(({ step_id: stepId }) => stepId)
    const round = [advanced({}), instanceFact('WorkflowStepParked', { passed, parkedAt: at(2) })]
    const nine = [begun, parked, ...Array.from({ length: 9 }, () => round).flat()]
    expect(given(workflowInstances, ...nine).state).toMatchObject({ status: 'parked', moves: 901 })
    given(workflowInstances, ...nine)
      .when(advanceInstance, advancing({ definition }))
      .thenEvents([
        advanced({}),
        instanceFact('WorkflowInstanceFailed', {
          stepId: 'intake',
          passed,
          code: 'workflow-too-long',
          failedAt: at(2),
        }),
      ])
  })

  it('fails an instance whose output has too large values, so they fit into one append', () => {
    const names = Array.from({ length: 100 }, (_, index) => `name${index}`)
    const values = Object.fromEntries(names.map((name) => [name, 'intake.answers.text']))
    const definition = definitionOf([questions('intake', to('d')), decision('d', to('end')), output('end', { values })])
    const answered = (length: number) => ({ answers: { text: 'a'.repeat(length) } })
    const small = given(workflowInstances, begun, parked).when(
      advanceInstance,
      advancing({ definition, output: answered(5_000) }),
    )
    const ended = { stepId: 'end', passed: ['d'] }
    const producedValues = Object.fromEntries(names.map((name) => [name, 'a'.repeat(5_000)]))
    small.thenEvents([
      advanced({ output: answered(5_000) }),
      instanceFact('WorkflowOutputProduced', { ...ended, values: producedValues, producedAt: at(2) }),
      instanceFact('WorkflowInstanceCompleted', { stepId: 'end', completedAt: at(2) }),
    ])
    given(workflowInstances, begun, parked)
      .when(advanceInstance, advancing({ definition, output: answered(10_000) }))
      .thenEvents([
        advanced({ output: answered(10_000) }),
        instanceFact('WorkflowInstanceFailed', { ...ended, code: 'values-too-large', failedAt: at(2) }),
      ])
  })

  it('leaves a collecting step by its conditions too', () => {
    const definition = definitionOf([
      questions('intake', [{ when: { op: 'exists', path: 'p.image_ids' }, step_id: 'p' }]),
      photos('p', to('intake')),
    ])
    given(workflowInstances, begun, parked)
      .when(advanceInstance, advancing({ definition }))
      .thenEvents([
        advanced({}),
        instanceFact('WorkflowInstanceFailed', { stepId: 'intake', passed: [], failedAt: at(2) }),
      ])
  })
})

describe('ending an instance', () => {
  const cancel = { request: null, now: new Date(at(5)) }

  it('cancels one that has not ended', () => {
    const cancelled = instanceFact('WorkflowInstanceCancelled')
    given(workflowInstances, begun, parked)
      .when(cancelInstance, cancel)
      .thenEvents([cancelled], 'workflow-instance-ended')
    given(workflowInstances, begun, parked)
      .when(cancelInstance, { ...cancel, request })
      .thenEvents([instanceFact('WorkflowInstanceCancelled', { request })])
    given(workflowInstances).when(cancelInstance, cancel).thenRefused('not-found')
    const ended = instanceFact('WorkflowInstanceCompleted')
    given(workflowInstances, begun, ended)
      .when(cancelInstance, { ...cancel, request })
      .thenRefused('workflow-instance-ended')
  })

  it('cancels one with its case, once', () => {
    given(workflowInstances, begun, parked)
      .when(cancelWithCase, cancel)
      .thenEvents([instanceFact('WorkflowInstanceCancelled', { reason: 'case_closed' })])
    given(workflowInstances, begun, instanceFact('WorkflowInstanceCompleted'))
      .when(cancelWithCase, cancel)
      .thenNothing()
    given(workflowInstances).when(cancelWithCase, cancel).thenNothing()
  })

  it('takes an assessment, and then its end', () => {
    const awaiting = [...assessing, produced, requested]
    const follow = { assessmentId: ids.assessment, now: new Date(at(20)) }
    const assigned = instanceFact('WorkflowAssessmentAssigned', { assignedAt: at(20) })
    given(workflowInstances, ...awaiting)
      .when(followAssessment, { ...follow, end: null })
      .thenEvents([assigned])
    given(workflowInstances, ...awaiting, assigned)
      .when(followAssessment, { ...follow, end: 'completed' })
      .thenEvents([instanceFact('WorkflowInstanceCompleted')])
    const failed = instanceFact('WorkflowInstanceFailed', {
      stepId: 'assessed',
      passed: [],
      code: 'assessment-failed',
      failedAt: at(20),
    })
    given(workflowInstances, ...awaiting)
      .when(followAssessment, { ...follow, end: 'failed' })
      .thenEvents([assigned, failed])
    given(workflowInstances, begun, parked)
      .when(followAssessment, { ...follow, end: 'failed' })
      .thenNothing()
  })
})
