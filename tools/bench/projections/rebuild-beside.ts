import { formatPosition } from '../../../platform/kit/positions.ts'
import { assessmentRequests } from '../commands/assessments.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atMost } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import type { HttpJob, VisibleJob } from '../load/jobs.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'
import { allModels } from './filling.ts'
import { startLogProcess, type RefillJob } from './jobs.ts'
import { endOf, writeMainJobs } from './log.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Addresses } from './world.ts'

/** Per second: commands with measured answers, and requests whose records are awaited. */
const perSecond = 20

/** The effect of a rebuild on the users of a platform. All read models are filled repeatedly while the users work. */
export const rebuildBeside: Benchmark = {
  name: 'rebuild-beside',
  goals: ['9'],
  about: 'command p99 and projection lag p99 while all read models are rebuilt over without a rebuild',
  run: async ({ quick, events: asked }, { compare }) => {
    const seconds = quick ? 2 : 20
    await withScope(async ({ folder, started }) => {
      const platform = await started(startBenchPlatform({ folder, roles: ['api', 'projector'] }))
      await writeMainJobs(platform.store, {
        organisationId: tenantOfFact(platform.credentials.org_id),
        events: asked ?? (quick ? 5_000 : 100_000),
      })
      const [commands, reads, rebuilder] = [
        await started(startDriver()),
        await started(startDriver()),
        await started(startLogProcess()),
      ]
      const requests: HttpJob = await assessmentRequests(platform, perSecond * seconds)
      const visible: VisibleJob = {
        kind: 'visible',
        requests,
        readPath: '/v1/clinical-api/assessments/{id}',
        perSecond,
      }
      const used = async (): Promise<readonly number[]> => {
        const [answered, seen] = await Promise.all([commands.run({ ...requests, inFlight: 2 }), reads.run(visible)])
        return [answered.p99, seen.p99]
      }
      const addresses = await addressesOf(platform, folder)
      const beside = async (): Promise<readonly number[]> => {
        const job: RefillJob = {
          kind: 'refill',
          addresses,
          models: allModels,
          upTo: formatPosition(await endOf(platform.store)),
        }
        const rebuilding = rebuilder.run(job)
        try {
          return await used()
        } finally {
          rebuilder.enough()
          await rebuilding
        }
      }
      await compare({
        goal: '9',
        figures: [
          { name: 'POST → 202, p99', unit: 'ms', goal: atMost(2) },
          { name: 'acknowledged → visible, p99', unit: 'ms', goal: atMost(3) },
        ],
        ours: { name: 'beside a rebuild', measure: beside },
        other: { name: 'without', measure: used },
      })
    })
  },
}

/** The addresses of a platform's embedded servers for another process. Their keys are in `folder`. */
async function addressesOf(
  { eventStoreUrl, databaseUrl, vaultUrl }: BenchPlatform,
  folder: string,
): Promise<Addresses> {
  const masterKeys = (await readFile(join(folder, 'master-keys'), 'utf8')).trim()
  return { eventStoreUrl, databaseUrl, vaultUrl, masterKeys }
}
