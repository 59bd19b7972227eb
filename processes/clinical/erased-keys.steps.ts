import { areDone } from '../../commands/clinical/erase-patient.ts'
import { patientErasures } from '../../streams/patient-erasure/aggregate.ts'
import { ErasureStep } from '../../streams/patient-erasure/events.ts'
import { ledgerKey, ledgerText } from '../../contracts/clinical/erasure-ledger.ts'
import { deleteAll } from './erased-objects.steps.ts'
import { endOpenWork, unlinkAccounts } from './erased-work.steps.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { SignedErasure } from '../../platform/vault/vault-rows.ts'
import type { StepContext, StepOutcome } from '../../engine/processes/process.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { erasureStep } from './erasures.steps.ts'

/** What must be done before the keys are destroyed. */
const before = ErasureStep.enum.slice(0, ErasureStep.enum.indexOf('keys_destroyed'))

/** The point of no return: afterwards nothing about the patient can be decrypted, in any stream. */
export const destroyKeys = erasureStep('keys_destroyed', async (patient, deps, todo, context) => {
  const { orgId, patientId } = patient
  const { store } = deps
  const { state } = await store.load(patientErasures.of(orgId, patientId))
  if (!areDone(state, before)) return { kind: 'open' }
  if (await endOpenWork(patient, deps, todo, context.now()))
    return { kind: 'retry', after: 1_000, reason: 'work_was_open' }
  await unlinkAccounts(patient, deps, todo, context.now())
  // A process that learned of the erasure late may have taken photographs since. Events name them, so no sweep would.
  await deleteAll(patient, deps)
  await destroyKeyOf(deps, orgId, patientId)
  return undefined
})

export const writeLedger = erasureStep('ledger_written', async ({ orgId, patientId }, { vault, objects }) => {
  await writeEntry(objects, await vault.eraseSubject(orgId, patientId))
  return undefined
})

export const rewriteVault = erasureStep('vault_rewritten', async ({ orgId, patientId }, deps, _, context) =>
  rewriteVaultAfter(deps, orgId, patientId, context),
)

/** The key of a patient or, with `noOrganisation`, of a user. May be repeated, as the functions below. */
export async function destroyKeyOf(
  { vault, store }: Pick<ProcessDependencies, 'vault' | 'store'>,
  orgId: TenantId,
  subjectId: string,
): Promise<SignedErasure> {
  const entry = await vault.eraseSubject(orgId, subjectId)
  store.forgetStates()
  return entry
}

/** The entry of the vault, beside the objects. */
export async function writeEntry(objects: ProcessDependencies['objects'], entry: SignedErasure): Promise<void> {
  await objects.put(ledgerKey(entry), Buffer.from(ledgerText(entry)), 'application/json')
}

/**
 * Many erasures share one rewriting, because it locks the table: after one, the next comes when ERASURE_VAULT_HOURS are
 * over at the latest.
 */
export async function rewriteVaultAfter(
  { vault, configuration }: Pick<ProcessDependencies, 'vault' | 'configuration'>,
  orgId: TenantId,
  subjectId: string,
  context: Pick<StepContext, 'now'>,
): Promise<Extract<StepOutcome, { kind: 'wait' }> | undefined> {
  const { isAfterErasure, ageMs } = await vault.lastRewrite(orgId, subjectId)
  if (isAfterErasure) return undefined
  const leftMs = configuration.erasureVaultHours * 3_600_000 - ageMs
  if (leftMs > 0) return { kind: 'wait', until: new Date(context.now().getTime() + leftMs) }
  await vault.rewriteFiles()
  return undefined
}
