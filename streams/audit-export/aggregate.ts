import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
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
}

function evolve({ exports }: AuditExportState, event: AuditExportEvent): AuditExportState {
  const changed = (change: (one: AuditExport) => AuditExport) => ({
    exports: exports.map((one) => (one.exportId === event.data.exportId ? change(one) : one)),
  })
  switch (event.type) {
    case 'AuditExportRequested':
      return { exports: [...exports, { ...event.data, status: 'running' }] }
    case 'AuditExportFinished':
      return changed((one) => ({ ...one, ...event.data, status: 'finished' }))
    case 'AuditExportFailed':
      return changed((one) => ({ ...one, ...event.data, status: 'failed' }))
    case 'AuditExportRemoved':
      return { exports: exports.filter(({ exportId }) => exportId !== event.data.exportId) }
  }
}

/** The exports of a patient. */
export const auditExports = defineAggregate({
  category: 'audit_export',
  id: idOfOrganisation,
  events: auditExportEvents,
  initialState: { exports: [] },
  evolve,
})
