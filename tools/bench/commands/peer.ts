import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, single } from '../harness/compare.ts'
import { installPeers } from '../harness/install-peers.ts'
import { withScope } from '../harness/scope.ts'
import { startBenchPlatform } from '../load/platform.ts'
import { startDriver, startEmmett } from '../load/start-driver.ts'
import { assessmentRequests, eventsOfRequest, inFlight } from './assessments.ts'

/** Compares with an alternative: the commands of a library on Postgres. They have no HTTP, tokens or keys. */
export const commandsOverPeer: Benchmark = {
  name: 'emmett-commands',
  goals: ['3'],
  about: "commands through HTTP over Emmett's CommandHandler on Postgres without HTTP",
  run: async ({ quick }, { compare }) => {
    const count = quick ? 1_000 : 10_000
    await installPeers()
    await withScope(async ({ folder, started }) => {
      const platform = await started(startBenchPlatform({ folder, roles: ['api'] }))
      const driver = await started(startDriver())
      const emmett = await started(startEmmett())
      const requests = await assessmentRequests(platform, count)
      const events = await eventsOfRequest(platform, requests)
      const databaseUrl = await platform.otherDatabase('emmett')
      await compare(
        single({
          goalNumber: '3',
          name: `commands on new streams, ${inFlight} in flight`,
          unit: 'per second',
          ours: { name: 'platform, through HTTP', measure: async () => (await driver.run(requests)).perSecond },
          other: {
            name: 'Emmett on Postgres',
            measure: async () =>
              (await emmett.run({ kind: 'peer-commands', databaseUrl, events, count, inFlight })).perSecond,
          },
          goal: atLeast(2.5, { reached: 0.66 }),
        }),
      )
    })
  },
}
