import { setTimeout as sleep } from 'node:timers/promises'
import type { Channel } from './channel-store.ts'
import type { ExampleRun } from './example-run.ts'
import type { TotalsFile } from './totals-file.ts'

/** Publishes events until it is stopped. Returns the ids of the counted ones. */
function publishSteadily(channel: Channel, orgId: string): { stop(): Promise<string[]> } {
  const ending = new AbortController()
  const published: string[] = []
  const running = (async () => {
    while (!ending.signal.aborted) {
      published.push(...(await channel.publish(4, orgId)))
      await sleep(20)
    }
  })()
  return {
    async stop() {
      ending.abort()
      await running
      return published
    },
  }
}

/**
 * Kills an example at random moments while events arrive. Then it lets the example finish. Returns the ids of the counted events.
 */
export async function killWhileEventsArrive(
  channel: Channel,
  orgId: string,
  kills: number,
  start: () => ExampleRun,
  readTable: () => Pick<TotalsFile, 'handled'>,
): Promise<string[]> {
  const publishing = publishSteadily(channel, orgId)
  let published: string[]
  let handledBefore = 0
  try {
    for (let kill = 0; kill < kills; kill += 1) {
      const run = start()
      // Each run makes progress before its kill.
      await run.printed(/assessment\.(?:completed|failed|reviewed) /)
      await sleep(Math.random() * 200)
      await run.kill()
      const handled = readTable().handled().length
      if (handled <= handledBefore) throw new Error(`no progress before kill ${kill}:\n${run.output()}`)
      handledBefore = handled
    }
  } finally {
    published = await publishing.stop()
  }
  const last = start()
  let [handled, progressAt] = [0, Date.now()]
  while (handled < published.length) {
    const now = readTable().handled().length
    if (now > handled) [handled, progressAt] = [now, Date.now()]
    if (Date.now() - progressAt > 30_000)
      throw new Error(`no progress after ${handled} events:\n${last.output().slice(-2000)}`)
    await sleep(100)
  }
  // A doubled event would come now.
  await sleep(300)
  await last.kill()
  return published
}
