import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { startDriver } from '../load/start-driver.ts'
import { until } from '../webhooks/filling.ts'
import { startMailWorld } from './mail-world.ts'
import { startSwitchableServer } from './switchable-server.ts'

const waiting = "channel = 'email' and status not in ('sent', 'failed')"

/** The loss of chat messages while mails wait for a mail server that hangs, and for one that is not there. */
export const deadMailServer: Benchmark = {
  name: 'dead-mail-server',
  goals: ['23'],
  about: 'chat messages sent beside mails to a server that hangs, or that is not there, over without',
  run: async ({ quick }, { compare }) => {
    const chats = quick ? 100 : 2_000
    const mails = quick ? 20 : 500
    await withScope(async (scope) => {
      const world = await startMailWorld(scope)
      const { port, url } = world.smtp
      const server = await scope.started(startSwitchableServer(port))
      await world.platform.run(['processor'], { SMTP_URL: url.replace(`:${port}`, `:${server.port}`) })
      const driver = await scope.started(startDriver())
      const perSecond = async (): Promise<number> => {
        const begun = Date.now()
        await driver.run(world.requests('slack', ['C0WARD7'], chats))
        return (chats * 1_000) / ((await world.recorded('slack', chats)) - begun)
      }
      const figure = (kind: string) => ({
        name: `chat messages sent beside mails to a server ${kind}`,
        unit: 'per second',
        goal: atLeast(0.95),
      })
      await perSecond()
      await compare({
        goal: '23',
        figures: [figure('that hangs'), figure('behind a closed port')],
        ours: {
          name: 'beside it',
          measure: async () => {
            await server.become('hangs')
            await driver.run(world.requests('email', ['jane@example.org'], mails))
            await until(async () => (await world.counted(`${waiting} and attempts > 0`)) > 0, 'no mail was tried')
            const hanging = await perSecond()
            await server.become('closed')
            return [hanging, await perSecond()]
          },
        },
        other: {
          name: 'alone',
          measure: async () => {
            await server.become('through')
            await until(async () => (await world.counted(waiting)) === 0, 'mails were not sent later')
            const alone = await perSecond()
            return [alone, alone]
          },
        },
        ...(quick ? { rounds: 1 } : {}),
      })
    })
  },
}
