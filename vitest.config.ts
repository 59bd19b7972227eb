import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const report = process.env['VITEST_JSON_REPORT']
const isOneEventStore = (process.env['ESDB_URL'] ?? '') !== ''
const mainJob = (name: string) => `test/end-to-end/main-job/${name}.e2e.test.ts`
/**
 * What two processes of a role have to agree on. All else one process answers by itself; what is left when one ends amid its work is
 * `end-to-end/apart`'s, and the torture's.
 */
const ofSeveralProcesses = [
  'interface', // reads that wait for a projector elsewhere, and for an end that others bring about; pages and versions by way of two APIs
  'main-job', // the whole way: each step once, although two processors and two projectors see it
  'patients', // a record that is changed by way of one API and read, found and changed again by way of the other
  'repeats', // keys and requests that come at once by way of two APIs
  'review-ends', // an API that ends a review which a processor has in hand
  'webhook-rotation', // what a processor remembers of a subscription while an API changes it
].map(mainJob)

/** The files that take longest begin first: at the end there is no half minute in which one worker waits for the other. */
class LongestTiersFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const tier = ({ moduleId }: TestSpecification) =>
      ['.e2e.', '.int.', '.unit.'].findIndex((name) => moduleId.includes(name))
    return (await super.sort(files)).toSorted((one, other) => tier(one) - tier(other))
  }
}

// A test run starts some hundred processes of the same sources, the workers among them: what one has compiled, all others take.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules', '.cache', 'compiled')

export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres.ts'],
    pool: 'forks',
    maxWorkers: 2,
    sequence: { sequencer: LongestTiersFirst },
    // One event store holds one installation: its test files take turns.
    fileParallelism: !isOneEventStore,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
    reporters: report === undefined ? ['default'] : ['default', 'json'],
    ...(report === undefined ? {} : { outputFile: { json: report } }),
    projects: [
      { extends: true, test: { name: 'platform', include: ['test/**/*.{unit,int,e2e}.test.ts'] } },
      {
        // The main job once more, over two processes of each role, which take longer to start.
        extends: true,
        test: {
          name: 'apart',
          include: ofSeveralProcesses,
          env: { PLATFORM_ROLES: 'apart' },
          hookTimeout: 180_000,
          testTimeout: 120_000,
        },
      },
    ],
  },
})
