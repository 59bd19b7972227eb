import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { startSealing } from '../../../processes/sealing/sealing.ts'
import { assessmentRequests, inFlight } from '../commands/assessments.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { startBenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'
import { sealAll, startBenchObjects } from './sealed-world.ts'

/** The sealing reads and hashes each event that the requests write, on the same cores. */
export const sealingUnderLoad: Benchmark = {
  name: 'sealing',
  goals: ['33'],
  about: 'POST → 202 at saturation while the log is sealed, over without sealing',
  run: async ({ quick }, { compare }) => {
    const count = quick ? 2_000 : 20_000
    await withScope(async ({ folder, started, atEnd }) => {
      const platform = await started(startBenchPlatform({ folder, roles: ['api'] }))
      const driver = await started(startDriver())
      const { objects, ...server } = await startBenchObjects(folder)
      atEnd(() => server.stop())
      const requests = await assessmentRequests(platform, count)
      const configuration = loadConfiguration({ SEAL_INTERVAL_SECONDS: '1' })
      const logger = createLogger({ level: 'silent' })
      const egress = createEgress({ configuration, logger })
      atEnd(() => egress.close())
      const { store, vault } = platform
      const servers = { store, vault, objects, failpoint: () => undefined }
      const plain = async () => (await driver.run(requests)).perSecond
      const sealed = async () => {
        // What the other side wrote is not part of this one.
        const before = (await sealAll({ store, vault, objects })).writer.checkpoint?.size ?? 0
        const origin = 'bench.example/log'
        const sealing = startSealing({
          ...servers,
          configuration,
          origin,
          egress,
          pool: undefined,
          logger,
          now: () => new Date(),
        })
        const { perSecond } = await driver.run(requests)
        await sealing.close()
        const { writer } = await sealAll({ store, vault, objects })
        if ((writer.checkpoint?.size ?? 0) - before < count) throw new Error('the log was not sealed')
        return perSecond
      }
      await compare(
        single({
          goalNumber: '33',
          name: `POST /assessments, ${inFlight} in flight, while the log is sealed`,
          unit: 'per second',
          ours: { name: 'with sealing', measure: sealed },
          other: { name: 'without', measure: plain },
          goal: atLeast(0.95),
        }),
      )
    })
  },
}
