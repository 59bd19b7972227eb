import { Type, type Static } from 'typebox'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { ExportStatus } from '../../streams/types.ts'

export const ExportRecord = Type.Object(
  {
    id: Uuid,
    org_id: Uuid,
    patient_id: Uuid,
    status: ExportStatus,
    requested_at: Instant,
    finished_at: Nullable(Instant, { description: 'When it finished or failed' }),
    error_code: Nullable(Type.String()),
    bytes: Nullable(Type.Integer({ minimum: 0 })),
    sha256: Nullable(Type.String({ description: 'Of the ZIP file, lower-case hex' })),
    expires_at: Nullable(Instant, { description: 'The ZIP file is deleted then' }),
    download_url: Nullable(Type.String({ ...personal('export'), description: 'Signed, for 15 minutes' })),
  },
  { $id: 'ExportRecord' },
)
export type ExportRecord = Static<typeof ExportRecord>

export function toExportRecord(
  values: Omit<ValuesOf<typeof ExportRecord>, 'id'> & { readonly exportId: string },
): ExportRecord {
  return toRecord(ExportRecord, { ...values, id: values.exportId })
}

/** Whose content an export contains. */
export interface ExportOrder {
  readonly exportId: string
  readonly tenant: TenantId
  readonly patientId: string
}

/** A file of an export. Its chunks are read once, before the next file. */
export interface ExportFile {
  /** Relative, with `/` between its parts. */
  readonly path: string
  readonly chunks: AsyncIterable<Uint8Array>
  /** By the log, of a file that the platform received. The bytes may have been changed since. */
  readonly receivedSha256?: string
}

/** What an export lacks. The manifest names it. */
export interface LeftOut {
  /** Of the file that the export would have. */
  readonly path: string
  /** `object-missing`, or the code of the problem of the route that answers the same. */
  readonly reason: string
}

/** Everything about a patient. */
export interface PatientExports {
  /**
   * The files of an export, with a signed manifest as the last one.
   * @throws Problem `subject-erased`, `read-model-behind`, `object-store-unavailable`
   */
  files(order: ExportOrder): AsyncIterable<ExportFile>
}
