import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { startBenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'
import { decisionRequests, inFlight, patientsWithDecisions, publishConsentText } from './consents.ts'

/**
 * Compares decisions of patients with many recorded decisions with first decisions. It shows whether a command slows
 * down as its aggregate grows. The long streams are cached, like aggregates in use. The other side has new streams in
 * every round.
 */
export const commandsOnLongStreams: Benchmark = {
  name: 'long-streams',
  goals: ['2'],
  about: 'commands on aggregates of 20 and of 1,000 events over commands on new streams',
  run: async ({ quick }, { compare }) => {
    const count = quick ? 200 : 4_000
    await withScope(async ({ folder, started }) => {
      const platform = await started(startBenchPlatform({ folder, roles: ['api'] }))
      const driver = await started(startDriver())
      const text = await publishConsentText(platform)
      const newStreams = async () => {
        const patients = await patientsWithDecisions(platform, text, count, 0)
        return (await driver.run(decisionRequests(platform, text, patients, count))).perSecond
      }
      const sizes = [
        { events: 20, patients: quick ? 50 : 1_000, ratio: 0.9 },
        { events: 1_000, patients: quick ? inFlight + 8 : 200, ratio: 0.85 },
      ]
      for (const { events, patients, ratio } of sizes) {
        const known = await patientsWithDecisions(platform, text, patients, events)
        const requests = decisionRequests(platform, text, known, count)
        await compare(
          single({
            goalNumber: '2',
            name: `commands, ${inFlight} in flight`,
            unit: 'per second',
            ours: {
              name: `${events.toLocaleString('en')} events`,
              measure: async () => (await driver.run(requests)).perSecond,
            },
            other: { name: 'new streams', measure: newStreams },
            goal: atLeast(ratio),
          }),
        )
      }
    })
  },
}
