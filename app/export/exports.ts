import { createHash } from 'node:crypto'
import type { ExportFile, ExportOrder, LeftOut, PatientExports } from '../../contracts/audit/export.ts'
import type { ManifestFile } from '../../contracts/audit/offline/manifest.ts'
import { signManifest, type DocumentKeys } from '../../contracts/audit/sign-document.ts'
import { problem } from '../../platform/http/problems.ts'
import { formatPosition } from '../../platform/kit/positions.ts'
import { accessLogProjector } from '../../projections/audit/access-log.projector.ts'
import { auditSubjectsProjector } from '../../projections/audit/audit-subjects.projector.ts'
import { consentRecordsProjector } from '../../projections/consent/consent-records.projector.ts'
import { patientFiles, type ExportSources } from './patient-files.ts'

interface ExportDependencies extends ExportSources {
  readonly vault: ExportSources['vault'] & DocumentKeys
  readonly isCurrent: (projector: string) => Promise<boolean>
}

/** The read models that name what an export contains. */
const indexes = [auditSubjectsProjector, accessLogProjector, consentRecordsProjector]

export function createExports(deps: ExportDependencies): PatientExports {
  return {
    async *files(order: ExportOrder) {
      const moment = await deps.asOf.momentOf(deps.now())
      if (moment === undefined) throw problem('internal-error')
      for (const { name } of indexes) if (!(await deps.isCurrent(name))) throw problem('read-model-behind')
      const listed: ManifestFile[] = []
      const leftOut: LeftOut[] = []
      const files = patientFiles(deps, order, moment, (one) => void leftOut.push(one))
      for await (const file of files) yield hashed(file, listed)
      const about = {
        format: 'clinical-assessment-export/1',
        export_id: order.exportId,
        org_id: order.tenant,
        patient_id: order.patientId,
        position: formatPosition(moment.position),
        at: moment.at.toISOString(),
      }
      const manifest = await signManifest(deps.vault, { ...about, files: listed, left_out: leftOut })
      const bytes = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
      yield { path: 'manifest.json', chunks: once(bytes) }
    },
  }
}

/** The same file, which joins the list when it was read to its end. */
function hashed({ path, chunks, receivedSha256 }: ExportFile, listed: ManifestFile[]): ExportFile {
  async function* read(): AsyncGenerator<Uint8Array, void, undefined> {
    const hash = createHash('sha256')
    let bytes = 0
    for await (const chunk of chunks) {
      hash.update(chunk)
      bytes += chunk.length
      yield chunk
    }
    const sha256 = hash.digest('hex')
    const isChanged = receivedSha256 !== undefined && receivedSha256 !== sha256
    listed.push({ path, sha256, bytes, ...(isChanged ? { received_sha256: receivedSha256 } : {}) })
  }
  return { path, chunks: read() }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes
}
