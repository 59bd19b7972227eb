import { setTimeout as sleep } from 'node:timers/promises'
import type { ExportOrder, PatientExports } from '../../contracts/audit/export.ts'
import type { StepContext } from '../../engine/processes/process.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import type { StoredBytes } from '../../platform/storage/stream-upload.ts'
import { zipOf } from './zip.ts'

/** The exports that this instance writes. A writing goes on while runs of its step ask for it. */
export interface ExportRuns {
  /** Begins the writing, or looks at it. Undefined if it is not finished within the time of the step. */
  written(order: ExportOrder, step: Pick<StepContext, 'hasTime' | 'signal'>): Promise<StoredBytes | undefined>
  /** Ends the writing, if there is one. */
  end(exportId: string): Promise<void>
  close(): Promise<void>
}

interface ExportRunsOptions {
  readonly objects: Pick<ObjectStore, 'putParts' | 'abandonParts'>
  readonly exports: PatientExports
  readonly newId: () => string
  readonly now: () => Date
}

interface Run {
  readonly ending: AbortController
  /** Resolves when the writing has ended. */
  readonly ended: Promise<void>
  outcome: { readonly stored: StoredBytes } | { readonly error: unknown } | undefined
  askedMs: number
}

/** A writing that no step asked for so long ends: another instance has the row. */
const patienceMs = 90_000
const lookMs = 50

export const exportsPrefix = 'exports/'

/** What the object store contains of an export. */
export function exportPrefix({ tenant, exportId }: ExportOrder): string {
  return `${exportsPrefix}${tenant}/${exportId}/`
}

export function createExportRuns({ objects, exports, newId, now }: ExportRunsOptions): ExportRuns {
  const runs = new Map<string, Run>()
  const timer = setInterval(() => {
    for (const [id, run] of runs) if (performance.now() - run.askedMs > patienceMs) void end(id)
  }, patienceMs / 3).unref()

  async function write(order: ExportOrder, signal: AbortSignal): Promise<StoredBytes> {
    const prefix = exportPrefix(order)
    await objects.abandonParts(prefix)
    // A key of its own: an instance that lost the row cannot overwrite the file that the event names.
    return objects.putParts(`${prefix}${newId()}.zip`, zipOf(exports.files(order), now()), 'application/zip', signal)
  }

  function begin(order: ExportOrder): Run {
    const ending = new AbortController()
    const ended = write(order, ending.signal).then(
      (stored) => void (run.outcome = { stored }),
      (error: unknown) => void (run.outcome = { error }),
    )
    const run: Run = { ending, ended, outcome: undefined, askedMs: performance.now() }
    runs.set(order.exportId, run)
    return run
  }

  async function end(exportId: string): Promise<void> {
    const run = runs.get(exportId)
    runs.delete(exportId)
    run?.ending.abort(new Error('the export is not written here any more'))
    await run?.ended
  }

  return {
    async written(order, { hasTime, signal }) {
      const run = runs.get(order.exportId) ?? begin(order)
      run.askedMs = performance.now()
      try {
        while (hasTime()) {
          signal.throwIfAborted()
          const { outcome } = run
          if (outcome !== undefined && 'error' in outcome) throw outcome.error
          if (outcome !== undefined) return outcome.stored
          await sleep(lookMs)
        }
        return undefined
      } catch (error) {
        // The next try begins again.
        await end(order.exportId)
        throw error
      }
    },
    end,
    async close() {
      clearInterval(timer)
      await Promise.all([...runs.keys()].map(end))
    },
  }
}
