import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { GrowingMap } from '../../engine/aggregates/growing-map.ts'
import { auditExportEvents, type AuditExportEvent } from './events.ts'

type DataOf<Type extends AuditExportEvent['type']> = Extract<AuditExportEvent, { type: Type }>['data']

export type AuditExport = DataOf<'AuditExportRequested'> &
  (
    | { readonly status: 'running' }
    | ({ readonly status: 'finished' } & DataOf<'AuditExportFinished'>)
    | ({ readonly status: 'failed' } & DataOf<'AuditExportFailed'>)
  )

export interface AuditExportState {
  /** Those that are not removed yet, the oldest first. One at most is running. */
  readonly exports: readonly AuditExport[]
  /** By their ids. A repeat of a key finds its export here, and begins no other one with the same id. */
  readonly removed: GrowingMap<AuditExport>
}

function evolve({ exports, removed }: AuditExportState, event: AuditExportEvent): AuditExportState {
  const changed = (change: (one: AuditExport) => AuditExport) => ({
    removed,
    exports: exports.map((one) => (one.exportId === event.data.exportId ? change(one) : one)),
  })
  switch (event.type) {
    case 'AuditExportRequested':
      return { removed, exports: [...exports, { ...event.data, status: 'running' }] }
    case 'AuditExportFinished':
      return changed((one) => ({ ...one, ...event.data, status: 'finished' }))
    case 'AuditExportFailed':
      return changed((one) => ({ ...one, ...event.data, status: 'failed' }))
    case 'AuditExportRemoved': {
      const { exportId } = event.data
      const ended = exports.find((one) => one.exportId === exportId)
      return {
        exports: exports.filter((one) => one !== ended),
        removed: ended === undefined ? removed : removed.with(exportId, ended),
      }
    }
  }
}

/** The exports of a patient. */
export const auditExports = defineAggregate({
  category: 'audit_export',
  id: idOfOrganisation,
  events: auditExportEvents,
  initialState: { exports: [], removed: new GrowingMap<AuditExport>() },
  evolve,
})
