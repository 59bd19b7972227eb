import { problem } from '../platform/http/problems.ts'
import type { Pool } from '../platform/database/database.ts'
import type { ProcessDependencies } from '../processes/dependencies.ts'
import { auditSubjectsProjector } from '../projections/audit/audit-subjects.projector.ts'
import { usersProjector } from '../projections/users/users.projector.ts'
import { partsOf } from '../read-api/audit/subject-queries.ts'
import { idsOfPatient } from '../read-api/users/queries.ts'

interface Options {
  readonly pool: Pool
  /** Waits some seconds until a read model contains everything recorded before the call. False if it does not. */
  readonly isCurrent: (projector: string) => Promise<boolean>
}

const everything = { order: 'asc', after: undefined, from: undefined, to: undefined, categories: undefined } as const

/** How the erasure of a patient finds what there is about it: by the index of audit, and by the accounts of users. */
export function patientFinders({
  pool,
  isCurrent,
}: Options): Pick<ProcessDependencies, 'patientStreams' | 'usersOfPatient'> {
  async function requireCurrent(projector: string): Promise<void> {
    if (!(await isCurrent(projector))) throw problem('read-model-behind', { retryAfterSeconds: 1 })
  }
  return {
    async *patientStreams(tenant, id) {
      await requireCurrent(auditSubjectsProjector.name)
      const seen = new Set<string>()
      for await (const { stream } of partsOf(pool, { kind: 'patient', id, tenant }, everything)) {
        if (seen.has(stream)) continue
        seen.add(stream)
        yield stream
      }
    },
    async usersOfPatient(patientId) {
      await requireCurrent(usersProjector.name)
      return idsOfPatient(pool, patientId)
    },
  }
}
