import { expect, it } from 'vitest'
import { auditExportsProjector } from '../../../projections/audit/audit-exports.projector.ts'
import type { AuditExportEvent } from '../../../streams/audit-export/events.ts'
import { exportFact, exportId, ofExports } from '../../streams/audit-export-facts.ts'
import { at, hash, ids } from '../../streams/facts.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'

const rowsOf = (...events: readonly AuditExportEvent[]) =>
  rowsAfter(auditExportsProjector, recorded(events.map((event) => ofExports(event))))
const requested = exportFact('AuditExportRequested')

const running = {
  export_id: exportId,
  org_id: ids.org,
  patient_id: ids.patient,
  status: 'running',
  requested_at: at(0),
  finished_at: null,
  error_code: null,
  object_key: null,
  bytes: null,
  sha256: null,
  expires_at: null,
  stream_revision: '0',
}

it('an export has a row, with its ZIP file once it has finished', async () => {
  expect(await rowsOf(requested)).toEqual({ exports: [running] })
  expect(await rowsOf(requested, exportFact('AuditExportFinished'))).toEqual({
    exports: [
      {
        ...running,
        status: 'finished',
        finished_at: at(10),
        object_key: `exports/${ids.org}/${exportId}/one.zip`,
        bytes: '2000000',
        sha256: hash('a'),
        expires_at: at(86_410),
        stream_revision: '1',
      },
    ],
  })
})

it('a failed one has the reason', async () => {
  expect(await rowsOf(requested, exportFact('AuditExportFailed'))).toEqual({
    exports: [
      { ...running, status: 'failed', finished_at: at(10), error_code: 'SUBJECT_ERASED', stream_revision: '1' },
    ],
  })
})
