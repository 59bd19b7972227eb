import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Sealed } from '../../../engine/store/sealed.ts'
import { startOfLog, type Position } from '../../../platform/kit/positions.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, single } from '../harness/compare.ts'
import { installPeers } from '../harness/install-peers.ts'
import { withScope } from '../harness/scope.ts'
import { filled, fillOf, rateOf } from './filling.ts'
import { startLogProcess, type LogJobDone } from './jobs.ts'
import { endOf, writeMainJobs } from './log.ts'
import { startWorld, type World } from './world.ts'

/**
 * Compares with an alternative: a library's rebuild of the same read model from the same events, stored in Postgres.
 */
export const rebuildOverPeer: Benchmark = {
  name: 'emmett-rebuild',
  goals: ['7'],
  about: "filling a read model over Emmett's rebuildPostgreSQLProjections of the same events",
  run: async ({ quick, events: asked }, { compare }) => {
    await installPeers()
    await withScope(async ({ folder, started }) => {
      const world = await started(startWorld(folder))
      const written = await writeMainJobs(world.store, { events: asked ?? (quick ? 5_000 : 50_000) })
      const file = join(folder, 'events')
      await writeEvents(world, await endOf(world.store), file)
      const filler = await started(startLogProcess())
      const emmett = await started(startLogProcess('../peers/emmett-rebuild.ts'))
      const job = await fillOf(world, ['assessments'])
      const completed = written.byType.get('AssessmentCompleted')
      const checked = (done: LogJobDone): number => {
        if (done.rows['completed'] !== completed)
          throw new Error(`the peer has ${done.rows['completed']} completed assessments of ${completed}`)
        return rateOf(done, written.events)
      }
      // A round of the peer takes minutes.
      await compare({
        ...single({
          goalNumber: '7',
          name: `\`assessments\` of ${written.events.toLocaleString('en')} events of the main job`,
          unit: 'events per second',
          ours: { name: 'filling', measure: async () => rateOf(await filled(filler, job, written), written.events) },
          other: {
            name: 'Emmett',
            measure: async () =>
              checked(await emmett.run({ kind: 'peer-rebuild', databaseUrl: world.otherDatabase, file })),
          },
          goal: atLeast(15),
        }),
        rounds: 3,
      })
    })
  },
}

/** Writes the log's events as lines of JSON, without signatures. Both sides store what is sealed as it is. */
async function writeEvents({ store }: World, upTo: Position, file: string): Promise<void> {
  const filter = { streamPrefixes: [] }
  await pipeline(async function* () {
    for await (const { events } of store.readLog({
      filter,
      after: startOfLog,
      upTo,
      wants: () => true,
      batchSize: 1_000,
    })) {
      for (const { stream, type, data } of events)
        yield `${JSON.stringify({ stream, type, data: withSealedText(data) })}\n`
    }
  }, createWriteStream(file))
}

function withSealedText(data: unknown): object {
  const members = Object.entries(data ?? {}).map(([name, member]: [string, unknown]) => [
    name,
    member instanceof Sealed ? member.stored().toString('base64') : member,
  ])
  return Object.fromEntries(members)
}
