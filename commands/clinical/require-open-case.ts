import { invalidMember, problem } from '../../platform/http/problems.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { cases, type ExistingCase } from '../../streams/case/aggregate.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'

/**
 * The case in the member `case_id` of a body. Loads fresh state, because another instance may have closed the case.
 *
 * @throws Problem `case-not-found`, also for a case of another organisation; `case-closed`
 */
export async function requireOpenCase(
  { store }: Pick<CommandDependencies, 'store'>,
  orgId: TenantId,
  caseId: string,
): Promise<ExistingCase> {
  const { state } = await store.load(cases.of(orgId, caseId.toLowerCase()))
  if (state.status === 'absent')
    throw invalidMember('/case_id', 'is not a case of the organisation', 'unknown-case', 'case-not-found')
  if (state.status === 'closed') throw problem('case-closed')
  return state
}

/** For what names its case indirectly. A case without a stream is one of another service. @throws Problem `case-closed` */
export async function refuseClosedCase(
  { store }: Pick<CommandDependencies, 'store'>,
  orgId: TenantId,
  caseId: string,
): Promise<void> {
  const { state } = await store.load(cases.of(orgId, caseId))
  if (state.status === 'closed') throw problem('case-closed')
}
