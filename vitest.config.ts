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

/** Files that take half a minute or more, most of it waiting. */
const longest = [
  'bad-days/stopped-servers.e2e.',
  'tools/equality/equality.int.',
  'tools/faults/faults.e2e.',
  'bad-days/rebuild.e2e.',
  'bad-days/stopped-projector.e2e.',
  'main-job/webhook-deliveries.e2e.',
  'app/serve.int.',
  'rebuild/switch.int.',
  'apart/killed-roles.e2e.',
]
const tiers = ['.e2e.', '.int.', '.unit.']

/**
 * The longest files start first. Otherwise one worker may run alone for a minute at the end. Files of both projects take
 * turns, so that few platforms of six processes run at once.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId, project }: TestSpecification) => {
      const list = project.name === 'apart' ? ofSeveralProcesses : longest
      const place = list.findIndex((name) => moduleId.includes(name))
      return place === -1 ? list.length + tiers.findIndex((name) => moduleId.includes(name)) : place
    }
    return (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other))
  }
}

/** They watch every socket of their process, so no other file may run in it. */
const watchingSockets = ['egress-corpus', 'own-servers'].map((name) => `test/platform/outbound/${name}.int.test.ts`)

// A test run starts about a hundred processes of the same sources, including the workers. They share one compile cache.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules', '.cache', 'compiled')

export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres.ts'],
    setupFiles: ['test/support/after-each-file.ts'],
    pool: 'forks',
    // A worker loads the sources once for all its files. Vitest restores mocks and settings after each file.
    isolate: false,
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // One event store holds one installation, so its test files run one after another.
    fileParallelism: !isOneEventStore,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
    reporters: report === undefined ? ['default'] : ['default', 'json'],
    ...(report === undefined ? {} : { outputFile: { json: report } }),
    projects: [
      {
        extends: true,
        test: { name: 'platform', include: ['test/**/*.{unit,int,e2e}.test.ts'], exclude: watchingSockets },
      },
      { extends: true, test: { name: 'embedded', include: ['packages/embedded-eventstore/test/**/*.test.ts'] } },
      { extends: true, test: { name: 'sockets', isolate: true, include: watchingSockets } },
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
