import { v5 } from 'uuid'
import { startErasureAgain } from '../commands/users/status.ts'
import { users } from '../streams/user/aggregate.ts'
import { patientErasures, isErasing } from '../streams/patient-erasure/aggregate.ts'
import type { PatientErasureEvent } from '../streams/patient-erasure/events.ts'
import { ledgerPrefix, readLedgerEntry } from '../contracts/clinical/erasure-ledger.ts'
import { overdueErasures } from '../processes/clinical/overdue-erasures.ts'
import type { Configuration } from '../platform/configuration/configuration.ts'
import type { Pool } from '../platform/database/database.ts'
import { execute } from '../engine/commands/execute.ts'
import type { EventStore } from '../engine/store/event-store.ts'
import { noOrganisation, tenantOfFact } from '../platform/kit/tenants.ts'
import type { HealthCheck } from '../platform/observability/health.ts'
import type { Logger } from '../platform/observability/logging.ts'
import type { ObjectStore } from '../platform/storage/object-store.ts'
import type { SignedErasure } from '../platform/vault/vault-rows.ts'
import type { Vault } from '../platform/vault/vault.ts'

interface Options {
  readonly store: EventStore
  readonly vault: Vault
  readonly objects: Pick<ObjectStore, 'list' | 'get'>
  readonly logger: Logger
  readonly now: () => Date
}

/** What a start found in the ledger of erasures. */
export interface AppliedLedger {
  /** Keys of erased persons that existed again, because a server was restored. They are destroyed. */
  readonly destroyed: number
  /** Erasures that the log does not have. They begin again. */
  readonly begun: number
  /** Entries that the vault did not sign. They erase nothing. */
  readonly unsigned: readonly string[]
}

const atOnce = 1_000
const by = 'erasure-ledger'
const mostNamed = 10

/**
 * Erases again whom an older copy of a server brought back: the vault and the object store each have the ledger. To be
 * called when all erasures of the log are known, and before anything is served.
 */
export async function applyLedger({ store, vault, objects, logger, now }: Options): Promise<AppliedLedger> {
  const unsigned: string[] = []
  let [destroyed, begun] = [0, 0]

  async function apply(entries: readonly SignedErasure[]): Promise<void> {
    for (const entry of entries)
      if (!vault.isSigned(entry) && unsigned.length < mostNamed) unsigned.push(`${entry.orgId}/${entry.subjectId}`)
    destroyed += await vault.reapply(entries)
    for (const entry of entries) {
      if (!vault.isSigned(entry) || vault.isClosed(entry.orgId, entry.subjectId)) continue
      if (await beginAgain(store, entry, now())) begun += 1
      vault.closeSubject(entry.orgId, entry.subjectId)
    }
  }

  for await (const entries of inBatches(vault.erasures())) await apply(entries)
  for await (const listed of inBatches(objects.list(ledgerPrefix))) {
    // An entry whose erasure the log has, and whose key is gone, needs no look at the object.
    const open = await vault.unappliedOf(listed.map(({ key }) => key.slice(ledgerPrefix.length, -'.json'.length)))
    const entries: SignedErasure[] = []
    for (const id of open) {
      const key = `${ledgerPrefix}${id}.json`
      const entry = readLedgerEntry(Buffer.from(await objects.get(key)).toString())
      if (entry !== undefined && `${entry.orgId}/${entry.subjectId}` === id) entries.push(entry)
      else if (unsigned.length < mostNamed) unsigned.push(id)
    }
    await apply(entries)
  }
  if (destroyed > 0) await rewriteFiles(vault, logger)
  if (destroyed + begun > 0)
    logger.warn({ component: 'erasures', count: destroyed + begun }, 'persons who were erased before are erased again')
  return { destroyed, begun, unsigned }
}

/** The log may have an erasure as complete: then no step of it removes the key from the files of the vault again. */
async function rewriteFiles(vault: Vault, logger: Logger): Promise<void> {
  await vault.rewriteFiles().catch((error: unknown) =>
    // A backup holds it up, for example. The next start finds no key. Each later erasure rewrites the whole file.
    logger.warn(
      { component: 'erasures', err: error },
      'destroyed keys stay in the files of the vault until the next erasure',
    ),
  )
}

/**
 * If the log lacks the erasure, it comes from a backup from before. Then everything about the person ends again. False if
 * the log has the erasure, or does not know the user.
 */
async function beginAgain(store: EventStore, { orgId, subjectId }: SignedErasure, now: Date): Promise<boolean> {
  const at = now.toISOString()
  const commandId = v5(`erasure again ${orgId} ${subjectId} ${at}`, v5.URL)
  const context = { commandId, correlationId: commandId, orgId, process: by }
  if (orgId === noOrganisation) {
    const command = { holdId: v5('hold', commandId), changedBy: by, now }
    const target = users.of(subjectId)
    return (await execute(store, target, (state) => startErasureAgain(command, state), context)).events.length > 0
  }
  const organisationId = tenantOfFact(orgId)
  const request = { patientId: subjectId, organisationId, reason: 'legal_obligation', reference: 'ledger' } as const
  const done = await execute(
    store,
    patientErasures.of(organisationId, subjectId),
    (state): readonly PatientErasureEvent[] =>
      isErasing(state)
        ? []
        : [
            {
              type: 'PatientErasureRequested',
              data: { ...request, approvals: 1, requestedBy: by, request: null, requestedAt: at },
            },
            { type: 'PatientErasureStarted', data: { patientId: subjectId, organisationId, startedAt: at } },
          ],
    context,
  )
  return done.events.length > 0
}

async function* inBatches<Item>(items: AsyncIterable<Item>): AsyncGenerator<readonly Item[], void, undefined> {
  let batch: Item[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length < atOnce) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Warns of entries that nobody of this installation wrote, and of steps that fail for an hour. */
export function erasuresCheck(
  { unsigned }: AppliedLedger,
  pool: Pool,
  { erasureVaultHours }: Pick<Configuration, 'erasureVaultHours'>,
): HealthCheck {
  return {
    name: 'erasures',
    gatesReadiness: false,
    run: async () => {
      if (unsigned.length > 0)
        return { status: 'warning', detail: `entries without a signature of this vault: ${unsigned.join(', ')}` }
      const overdue = await overdueErasures(pool, erasureVaultHours)
      return overdue === null ? { status: 'ok' } : { status: 'warning', detail: overdue }
    },
  }
}
