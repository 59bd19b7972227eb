import { v7 } from 'uuid'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import type { Environment } from '../../platform/configuration/configuration.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { partsOf } from '../../read-api/audit/subject-queries.ts'
import { createExports } from '../export/exports.ts'
import { writeFolder, type WrittenFolder } from '../export/export-folder.ts'
import { recordOperatorAccess } from './operator-access.ts'
import { openOperatorServices } from './operator-services.ts'
import type { ExportFolderOrder } from './orders.ts'

/**
 * Exports everything about a patient into a folder, from the servers themselves. The access is recorded first.
 * @throws Error if nothing is known of the patient
 */
export async function exportToFolder(
  env: Environment,
  { patientId, folder }: ExportFolderOrder,
): Promise<WrittenFolder> {
  const { services, accessLog, close } = await openOperatorServices(env)
  try {
    const orgId = await organisationOf(services.pool, patientId)
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

async function organisationOf(pool: Pool, patientId: string): Promise<TenantId> {
  const question = { order: 'asc', after: undefined, from: undefined, to: undefined, categories: ['patient'] } as const
  for await (const { stream } of partsOf(pool, { kind: 'patient', id: patientId, tenant: null }, question))
    return parseOwnedStream(stream).orgId
  throw new Error(`nothing is known of patient ${patientId}`)
}
