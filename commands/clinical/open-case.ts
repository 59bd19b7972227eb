import type { CaseEvent } from '../../streams/case/events.ts'
import type { CaseState } from '../../streams/case/aggregate.ts'
import { repeated, type Decision } from '../../engine/commands/decision.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

export interface OpenCase {
  readonly caseId: string
  readonly organisationId: TenantId
  readonly patientId: string
  readonly productId: string | null
  readonly assessmentId: string | null
  readonly externalReference: string | null
  readonly clinicalContext: Record<string, unknown> | null
  readonly customFields: Record<string, string> | null
  readonly workflow: Extract<CaseEvent, { type: 'CaseOpened' }>['data']['workflow']
  readonly now: Date
  readonly fingerprint: string | null
}

/** The case of an assessment may be opened twice: by the route, and by the process after a crash. */
export function openCase(command: OpenCase, state: CaseState): Decision<CaseEvent, 'idempotency-key-reused'> {
  if (state.status !== 'absent') {
    const isOwn = command.assessmentId !== null && command.assessmentId === state.assessmentId
    return isOwn ? [] : repeated(command, state)
  }
  const { now, ...data } = command
  return [{ type: 'CaseOpened', data: { ...data, openedAt: now.toISOString() } }]
}
