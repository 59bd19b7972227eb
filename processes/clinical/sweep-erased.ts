import { v7 } from 'uuid'
import type { DestroyedKey, FollowedPatientErasures } from '../../contracts/clinical/followed-erasures.ts'
import { Problem } from '../../platform/http/problems.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { patientErasures } from '../../streams/patient-erasure/aggregate.ts'
import { deleteAll } from './erased-objects.steps.ts'
import { endOpenWork, unlinkAccounts } from './erased-work.steps.ts'
import type { ProcessDependencies } from '../dependencies.ts'

interface SweepOptions {
  readonly deps: ProcessDependencies
  readonly erasures: Pick<FollowedPatientErasures, 'destroyedKeys'>
}

const minuteMs = 60_000
const dayMs = 1_440 * minuteMs
/** A process follows the log again within seconds after every failure. Then it refuses what is about the patient. */
const lagMs = 10 * minuteMs
/** Later nothing comes. A start sweeps again what is younger. */
const sweptMs = 3 * dayMs

/**
 * Makes the sweep of what was recorded about patients after the erasure had looked for the last time. A process that lags
 * does not know the erasure, so it still accepts images: their bytes are plain, and their events name them. It may also
 * link an account to the patient. Each erasure is swept when no process can lag so far, and a day after it, for a process that stood still. A repeat does no harm.
 * Resolves with the number of objects.
 */
export function createErasedSweep({ deps, erasures }: SweepOptions): (signal: AbortSignal) => Promise<number> {
  const { configuration, now } = deps
  // An upload address that such a process signed opens for so long.
  const agesMs = [lagMs + configuration.uploadUrlTtlSeconds * 1_000, dayMs]
  /** How many of the ages each erasure was swept at. */
  const sweptAt = new WeakMap<DestroyedKey, number>()

  return async (signal) => {
    let removed = 0
    const atMs = now().getTime()
    await inTurn(erasures.destroyedKeys(), signal, async (key) => {
      const ageMs = atMs - Date.parse(key.destroyedAt)
      const due = agesMs.filter((each) => ageMs >= each).length
      if (ageMs > sweptMs || (sweptAt.get(key) ?? 0) >= due) return
      const found = await removeLate(deps, key)
      removed += found?.objects ?? 0
      // A provider's answer may come while its attempt is open. The next sweep removes it.
      if ((found?.until ?? 0) <= atMs) sweptAt.set(key, due)
    })
    return removed
  }
}

/**
 * If one patient cannot be swept, a sweep goes on with the others, unless a server is away. Then it rejects with the
 * first error.
 */
export async function inTurn<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  signal: AbortSignal,
  sweepOne: (item: Item) => Promise<void>,
): Promise<void> {
  const refusals: unknown[] = []
  for await (const item of items) {
    if (signal.aborted) break
    try {
      await sweepOne(item)
    } catch (error) {
      refusals.push(error)
      // The object store or a read model is away. Each of the others would wait for it.
      if (error instanceof Problem) break
    }
  }
  if (refusals.length > 0) throw refusals[0]
}

/** `until`: the instant from which no more objects come, in milliseconds. Undefined if the log has no such erasure. */
export async function removeLate(
  deps: ProcessDependencies,
  { orgId, patientId }: { readonly orgId: TenantId; readonly patientId: string },
): Promise<{ readonly objects: number; readonly until: number } | undefined> {
  const { state } = await deps.store.load(patientErasures.of(orgId, patientId))
  if (state.erasure === undefined) return undefined
  const attempt = () => {
    const commandId = v7()
    return { commandId, correlationId: commandId, orgId, process: 'housekeeping' }
  }
  await endOpenWork({ orgId, patientId }, deps, { attempt }, deps.now())
  await unlinkAccounts({ orgId, patientId }, deps, { attempt }, deps.now())
  return deleteAll({ orgId, patientId, erasure: state.erasure }, deps)
}
