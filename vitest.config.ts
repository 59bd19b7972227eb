import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const report = process.env['VITEST_JSON_REPORT']
const isOneEventStore = (process.env['ESDB_URL'] ?? '') !== ''
const mainJob = (name: string) => `test/end-to-end/main-job/${name}.e2e.test.ts`
/**
 * Tests of state that two processes of a role share. One process alone answers all other questions. `end-to-end/apart`
 * and the torture run cover the end of a process during its work.
 */
const ofSeveralProcesses = [
  'interface', // reads that wait for a projector elsewhere, and for an end that others cause; pages and versions through two APIs
  'main-job', // the whole way: each step once, although two processors and two projectors see it
  'patients', // a record that is changed through one API and read, found and changed again through the other
  'repeats', // keys and requests that arrive at once through two APIs
  'review-ends', // an API that ends a review during a processor's work on it
  'webhook-rotation', // a processor's memory of a subscription while an API changes it
].map(mainJob)

/** The longest files start first. Otherwise one worker may wait half a minute for the other at the end. */
class LongestTiersFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const tier = ({ moduleId }: TestSpecification) =>
      ['.e2e.', '.int.', '.unit.'].findIndex((name) => moduleId.includes(name))
    return (await super.sort(files)).toSorted((one, other) => tier(one) - tier(other))
  }
}

// A test run starts about a hundred processes of the same sources, including the workers. They share one compile cache.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules', '.cache', 'compiled')

export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres.ts'],
    pool: 'forks',
    maxWorkers: 2,
    sequence: { sequencer: LongestTiersFirst },
    // One event store holds one installation, so its test files run one after another.
    fileParallelism: !isOneEventStore,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
    reporters: report === undefined ? ['default'] : ['default', 'json'],
    ...(report === undefined ? {} : { outputFile: { json: report } }),
    projects: [
      { extends: true, test: { name: 'platform', include: ['test/**/*.{unit,int,e2e}.test.ts'] } },
      {
        // The main job again, with two processes of each role, which take longer to start.
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
