import { ledgerKey, ledgerPrefix } from '../../contracts/clinical/erasure-ledger.ts'
import { noOrganisation, tenantOfFact } from '../../platform/kit/tenants.ts'
import type { SignedErasure } from '../../platform/vault/vault-rows.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { writeEntry } from './erased-keys.steps.ts'
import { inTurn, removeLate } from './sweep-erased.ts'

const dayMs = 86_400_000

/**
 * Makes the sweep of a bucket that was restored from a copy of its own. Such a copy may have photographs of patients who
 * were erased after it was made. The vault and the bucket each have the ledger of erasures, so an entry that only the
 * vault has names such a patient. The entry is written again when the objects are deleted. Compares at the first run and
 * then once a day. Resolves with the number of objects.
 */
export function createRestoredBucketSweep(deps: ProcessDependencies): (signal: AbortSignal) => Promise<number> {
  let nextMs = 0

  return async (signal) => {
    const atMs = deps.now().getTime()
    if (atMs < nextMs) return 0
    let removed = 0
    let isComplete = true
    await inTurn(missingEntries(deps), signal, async (entry) => {
      const { orgId, subjectId } = entry
      // No object is about a user.
      const isUser = orgId === noOrganisation
      const found = isUser ? noObjects : await removeLate(deps, { orgId: tenantOfFact(orgId), patientId: subjectId })
      removed += found?.objects ?? 0
      // Without the erasure in the log, a start begins it again. Its steps write the entry.
      if (found !== undefined && found.until <= atMs) await writeEntry(deps.objects, entry)
      else isComplete = false
    })
    if (isComplete && !signal.aborted) nextMs = atMs + dayMs
    return removed
  }
}

const noObjects = { objects: 0, until: 0 }

/** Entries that the vault signed and the bucket does not have. Both lists are in the order of ids. */
async function* missingEntries({ vault, objects }: ProcessDependencies): AsyncGenerator<SignedErasure> {
  const listed = objects.list(ledgerPrefix)[Symbol.asyncIterator]()
  let next = await listed.next()
  for await (const entry of vault.erasures()) {
    const key = ledgerKey(entry)
    while (next.done !== true && next.value.key < key) next = await listed.next()
    if ((next.done === true || next.value.key !== key) && vault.isSigned(entry)) yield entry
  }
}
