import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { startDriver } from '../load/start-driver.ts'
import { inFlight, mail, startMailWorld } from './mail-world.ts'

/** Three quarters of the workers may serve one channel. */
const env = { NOTIFICATION_WORKERS: String((inFlight * 4) / 3) }
/** Each has its own stream of suppressions, which is read before the mail. */
const addresses = Array.from({ length: 500 }, (_, number) => `jane-${number}@example.org`)

/**
 * Mails from the first request until the last mail has arrived, over bare `nodemailer` with a pool of connections to
 * the same server. Each mail of the platform is a request, a notification and an attempt with its outcome.
 */
export const sentMails: Benchmark = {
  name: 'mails',
  goals: ['20'],
  about: 'mails sent through the whole service over bare pooled nodemailer to the same server',
  run: async ({ quick }, { compare }) => {
    const count = quick ? 200 : 2_000
    // The other side takes the same time for more mails.
    const bareCount = quick ? 500 : 5_000
    await withScope(async (scope) => {
      const world = await startMailWorld(scope, env)
      await world.platform.run(['processor'])
      const driver = await scope.started(startDriver())
      await compare(
        single({
          goalNumber: '20',
          name: `mails sent, ${inFlight} in flight`,
          unit: 'per second',
          goal: atLeast(0.25, { reached: 0.1 }),
          ours: {
            name: 'platform',
            measure: async () => {
              await world.empty()
              const begun = Date.now()
              await driver.run(world.requests('email', addresses, count))
              // Reading the mail box costs its process time, so that comes last.
              await world.recorded('email', count)
              const ended = await world.arrived(count)
              return (count * 1_000) / (ended - begun)
            },
          },
          other: {
            name: 'bare nodemailer',
            measure: async () => {
              await world.empty()
              const { perSecond } = await driver.run({
                kind: 'mails',
                smtpUrl: world.smtp.url,
                mail,
                count: bareCount,
                inFlight,
              })
              await world.arrived(bareCount)
              return perSecond
            },
          },
        }),
      )
    })
  },
}
