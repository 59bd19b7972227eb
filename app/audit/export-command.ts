import { v7 } from 'uuid'
import type { Environment } from '../../platform/configuration/configuration.ts'
import { createExports } from '../export/exports.ts'
import { writeFolder, type WrittenFolder } from '../export/export-folder.ts'
import { recordOperatorAccess } from './operator-access.ts'
import { openOperatorServices, organisationOf } from './operator-services.ts'
import type { ExportFolderOrder } from './orders.ts'

/**
 * Exports everything about a patient into a folder, from the servers themselves. The access is recorded first.
 * @throws Error if nothing is known of the patient, or if several organisations know one with this id and none is named
 */
export async function exportToFolder(
  env: Environment,
  { patientId, org, folder }: ExportFolderOrder,
): Promise<WrittenFolder> {
  const { services, accessLog, close } = await openOperatorServices(env)
  try {
    const orgId = await organisationOf(services.pool, 'patient', patientId, org)
    await recordOperatorAccess(accessLog, {
      orgId,
      persons: { patientId },
      categories: ['export'],
      operation: 'getExport',
    })
    const order = { exportId: v7(), tenant: orgId, patientId }
    return await writeFolder(folder, createExports(services).files(order))
  } finally {
    await close()
  }
}
