import { at } from '../../../app/demo/members.ts'
import { placeOf, text, type Checked, type Fact, type Finding } from '../facts.ts'

/** `moving` only inside an append, `waiting` for the assessment of an output step. */
type Status = 'moving' | 'parked' | 'waiting' | 'completed' | 'failed' | 'cancelled'

export interface FollowedInstance {
  readonly started: Fact
  status: Status
  parkedAt: string | null
  assessmentId: string | null
  code: string | null
  /** Steps that were answered or that produced values. */
  readonly outputs: Set<string>
}

/** The states in which an event may come, and the state after it. */
const moves: Readonly<Record<string, { readonly from: readonly Status[]; readonly to: Status }>> = {
  WorkflowStepParked: { from: ['moving'], to: 'parked' },
  WorkflowStepAdvanced: { from: ['parked'], to: 'moving' },
  WorkflowAdvanceUnneeded: { from: ['parked'], to: 'parked' },
  WorkflowOutputProduced: { from: ['moving'], to: 'moving' },
  WorkflowAssessmentRequested: { from: ['moving'], to: 'waiting' },
  WorkflowAssessmentAssigned: { from: ['waiting'], to: 'waiting' },
  WorkflowInstanceCompleted: { from: ['moving', 'waiting'], to: 'completed' },
  WorkflowInstanceFailed: { from: ['moving', 'waiting'], to: 'failed' },
  WorkflowInstanceCancelled: { from: ['parked', 'waiting'], to: 'cancelled' },
}
/** The events of a case that give it its assessment. Others only name it. */
const assigning = ['CaseOpened', 'CaseAssessmentAssigned']
const endings = { WorkflowInstanceCompleted: true, WorkflowInstanceFailed: true }
const ends: Readonly<Record<string, Status>> = { AssessmentCompleted: 'completed', AssessmentFailed: 'failed' }

/** Instances, and the assessments of their cases, from a second definition that is independent of the aggregates. */
export class Workflows {
  readonly instances = new Map<string, FollowedInstance>()
  readonly findings: Finding[] = []
  /** The events of cases that name an instance, by its id. */
  readonly #named = new Map<string, Fact>()
  readonly #closed = new Set<string>()
  /** The assessment of each case. */
  readonly #assessments = new Map<string, string>()
  /** Assignments and creations of collected assessments, by their ids. */
  readonly #assigned = new Map<string, Fact>()
  readonly #created = new Set<string>()
  readonly #ended = new Map<string, Status>()

  constructor(log: readonly Fact[]) {
    for (const fact of log) {
      if (fact.stream.startsWith('case-')) this.#followCase(fact)
      else if (fact.stream.startsWith('assessment-')) this.#followAssessment(fact)
      else if (fact.stream.startsWith('workflow_instance-')) this.#followInstance(fact)
    }
  }

  /** What is not finished at the end of the log. */
  unfinished(): readonly Finding[] {
    const findings: Finding[] = []
    for (const [id, named] of this.#named)
      if (!this.instances.has(id)) findings.push({ what: 'a case without its instance', where: placeOf(named) })
    for (const [id, assigned] of this.#assigned)
      if (!this.#created.has(id)) findings.push({ what: 'an assessment that was never made', where: placeOf(assigned) })
    for (const { status, started } of this.instances.values()) {
      const where = placeOf(started)
      if (status === 'waiting') findings.push({ what: 'an instance that waits for its assessment', where })
      if (status === 'moving') findings.push({ what: 'an instance that stopped between two steps', where })
      if (status === 'parked' && this.#closed.has(text(started, 'caseId')))
        findings.push({ what: 'an open instance of a closed case', where })
    }
    return findings
  }

  /** Instances that have another assessment than their case, or another end than their assessment. */
  disagreements(): readonly Finding[] {
    return [...this.instances.values()].flatMap(({ started, status, assessmentId, code }): Finding[] => {
      if (assessmentId === null) return []
      const where = placeOf(started)
      const end = this.#ended.get(assessmentId)
      const isEnded = status === 'completed' || code === 'assessment-failed'
      return [
        ...(this.#assessments.get(text(started, 'caseId')) === assessmentId
          ? []
          : [{ what: 'another assessment than that of the case', where }]),
        ...(!isEnded || status === end ? [] : [{ what: `${status}, but its assessment is ${end ?? 'open'}`, where }]),
      ]
    })
  }

  #followCase(fact: Fact): void {
    const caseId = text(fact, 'caseId')
    if (fact.type === 'CaseClosed') this.#closed.add(caseId)
    if (fact.type === 'CaseOpened') {
      const instanceId = at(fact.data, 'workflow', 'workflowInstanceId')
      if (typeof instanceId === 'string') this.#named.set(instanceId, fact)
    }
    const assessmentId = text(fact, 'assessmentId')
    if (assessmentId === '' || !assigning.includes(fact.type)) return
    if (this.#assessments.has(caseId)) this.#report('a second assessment of a case', fact)
    this.#assessments.set(caseId, assessmentId)
    if (fact.type === 'CaseAssessmentAssigned') this.#assigned.set(assessmentId, fact)
  }

  #followAssessment(fact: Fact): void {
    const id = text(fact, 'assessmentId')
    const end = ends[fact.type]
    if (end !== undefined) this.#ended.set(id, end)
    if (fact.type !== 'AssessmentRequested' || at(fact.data, 'mode') !== 'collected') return
    if (!this.#assigned.has(id)) this.#report('a collected assessment that no case has', fact)
    if (this.#created.has(id)) this.#report('an assessment that was made twice', fact)
    this.#created.add(id)
  }

  #followInstance(fact: Fact): void {
    const id = text(fact, 'workflowInstanceId')
    const one = this.instances.get(id)
    if (fact.type === 'WorkflowInstanceStarted') {
      if (one !== undefined) return this.#report('an instance that started twice', fact)
      const none = { parkedAt: null, assessmentId: null, code: null }
      return void this.instances.set(id, { started: fact, status: 'moving', ...none, outputs: new Set() })
    }
    const move = moves[fact.type]
    if (move === undefined) return this.#report('an event of an unknown type', fact)
    if (one === undefined) return this.#report('an event before the start', fact)
    const stepId = text(fact, 'stepId')
    if (!move.from.includes(one.status)) this.#report(`an event of an instance that is ${one.status}`, fact)
    else if (fact.type === 'WorkflowStepAdvanced' && stepId !== one.parkedAt)
      this.#report('an advance of a step that is not parked', fact)
    else if (one.status === 'waiting' && one.assessmentId === null && fact.type in endings)
      this.#report('an end without the awaited assessment', fact)
    one.status = move.to
    if (fact.type !== 'WorkflowAdvanceUnneeded') one.parkedAt = move.to === 'parked' ? stepId : null
    if (fact.type === 'WorkflowStepAdvanced' || fact.type === 'WorkflowOutputProduced') one.outputs.add(stepId)
    if (fact.type === 'WorkflowAssessmentAssigned') one.assessmentId = text(fact, 'assessmentId')
    if (fact.type === 'WorkflowInstanceFailed') one.code = text(fact, 'code')
  }

  #report(what: string, fact: Fact): void {
    this.findings.push({ what, where: placeOf(fact) })
  }
}

/** The members of an instance's record that the log decides, as one text. */
export function stateOf({ status, parkedAt, assessmentId, code, outputs }: FollowedInstance): string {
  const state = status === 'moving' || status === 'waiting' ? 'running' : status
  return JSON.stringify([state, parkedAt, assessmentId, code, [...outputs].toSorted()])
}

/** The same text from a record of the API. */
export function stateOfRecord(record: unknown): string {
  const outputs = Object.keys(Object(at(record, 'outputs'))).toSorted()
  const parkedAt = at(record, 'parked_step', 'step_id') ?? null
  const code = at(record, 'error', 'code') ?? null
  return JSON.stringify([at(record, 'state'), parkedAt, at(record, 'assessment_id'), code, outputs])
}

/** Work on workflows that is not finished at the end of the log. */
export function workflowsUnderWay(log: readonly Fact[]): readonly string[] {
  return new Workflows(log).unfinished().map(({ what, where }) => `${what}: ${where}`)
}

/**
 * Each instance moves as documented, once with its case, and has no event after its end. An output step leads to the
 * one assessment of the case, and the instance ends with it. No instance of a closed case stays open.
 */
export function checkWorkflows(log: readonly Fact[]): Checked {
  const workflows = new Workflows(log)
  const findings = [...workflows.findings, ...workflows.unfinished(), ...workflows.disagreements()]
  const counts = Map.groupBy(workflows.instances.values(), ({ status }) => status)
  const counted = [...counts].map(([status, all]) => `${all.length} ${status}`).join(', ')
  return {
    check: `workflow instances and their assessments (${counted})`,
    examined: workflows.instances.size,
    findings,
  }
}
