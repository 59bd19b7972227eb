import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { memoryFolder } from './test/support/memory-folder.ts'

const report = process.env['VITEST_JSON_REPORT']
const isOneEventStore = (process.env['ESDB_URL'] ?? '') !== ''

/** They watch every socket of their process, so no other file may run in it. */
const watchingSockets = ['egress-corpus', 'own-servers'].map((name) => `test/platform/outbound/${name}.int.test.ts`)

/** It builds and packs the client, then installs it. */
const packed = 'packages/client/test/packed.int.test.ts'

/** `npm run test:long`. `test/README.md` has the reason of each line, and what remains in `npm test`. */
const long = [
  'test/end-to-end/apart/**/*.test.ts',
  'test/end-to-end/bad-days/**/*.test.ts',
  'test/end-to-end/hostile/**/*.test.ts',
  'test/end-to-end/audit/{access-and-export,provenance}.e2e.test.ts',
  'test/end-to-end/backup/**/*.test.ts',
  'test/end-to-end/erasure/**/*.test.ts',
  'test/end-to-end/main-job/{deadlines,inline-staging,repeats-over-restart,review-renewal,slot-mode-interrupted}.e2e.test.ts',
  'test/end-to-end/main-job/{production,round-trips,unhappy-ways}.e2e.test.ts',
  'test/end-to-end/operations/faults.e2e.test.ts',
  'test/end-to-end/users/**/*.test.ts',
  'test/app/console/pages.int.test.ts',
  'test/app/serve.int.test.ts',
  'test/app/demo/{both-modes,stopped}.e2e.test.ts',
  'test/docs/closed-event-store.e2e.test.ts',
  'test/containers/*.int.test.ts',
  'test/docs/{examples.unit,tours.e2e}.test.ts',
  'test/embedded/**/*.test.ts',
  'test/app/event-store-restarts.int.test.ts',
  'test/commands/auth/secret-races.int.test.ts',
  'test/engine/rebuild/many-switches.int.test.ts',
  'test/engine/{projections,relay,store}/killed-node.int.test.ts',
  'test/examples/**/*.test.ts',
  'test/platform/templates/rendering-turns.unit.test.ts',
  'test/platform/vault/destroyed-keys.int.test.ts',
  'test/tools/{browser-check,faults,torture}/**/*.test.ts',
  'test/tools/equality/*.int.test.ts',
  'test/platform/storage/many-objects.int.test.ts',
  'test/processes/users/races.int.test.ts',
  'test/support/postgres.int.test.ts',
  packed,
]

/** Files that take long, most of it waiting. */
const longest = [
  'bad-days/sigkill.e2e.',
  'apart/two-processes.e2e.',
  'console/pages.int.',
  'hostile/event-loop.e2e.',
  'backup/restore-drill.e2e.',
  'bad-days/secrecy.e2e.',
  'bad-days/lost-read-models.e2e.',
  'bad-days/lost-event-store.e2e.',
  'operations/faults.e2e.',
  'bad-days/rebuild.e2e.',
  'bad-days/stopped-servers.e2e.',
  'webhooks/endpoint-steps.int.',
  'store/leader-watch.int.',
  'store/node-connection.int.',
  'processes/timeline/',
  'rebuild/switch.int.',
]
const tiers = ['.e2e.', '.int.', '.unit.']

/** The longest files start first. Otherwise one worker may run alone for a minute at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification) => {
      const place = longest.findIndex((name) => moduleId.includes(name))
      return place === -1 ? longest.length + tiers.findIndex((name) => moduleId.includes(name)) : place
    }
    // A worker serves one project. It goes on with the next file only if that is of the same project.
    const projects = [...new Set(files.map(({ project }) => project.name))]
    const sorted = (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other))
    return projects.flatMap((name) => sorted.filter(({ project }) => project.name === name))
  }
}

// A test run starts about a hundred processes of the same sources, including the workers. They share one compile cache.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules', '.cache', 'compiled')

// The servers of the tests make and remove thousands of small files.
const memory = memoryFolder()
if ((process.env['TMPDIR'] ?? '') === '' && memory !== undefined) process.env['TMPDIR'] = memory

export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres.ts'],
    setupFiles: ['test/support/after-each-file.ts'],
    pool: 'forks',
    // A worker loads the sources once for all its files. Vitest restores mocks and settings after each file.
    isolate: false,
    // For a part, beside other work. The commands that run everything have a machine for themselves, and set more.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // One event store holds one installation, so its test files run one after another.
    fileParallelism: !isOneEventStore,
    testTimeout: 300_000,
    // Vitest does not give `--hookTimeout` to projects.
    hookTimeout: Number(process.env['TEST_HOOK_TIMEOUT_MS'] ?? 300_000),
    teardownTimeout: 20_000,
    reporters: report === undefined ? ['default'] : ['default', 'json'],
    ...(report === undefined ? {} : { outputFile: { json: report } }),
    // Each file is in one project.
    projects: [
      {
        extends: true,
        test: {
          name: 'platform',
          include: ['test/**/*.{unit,int,e2e}.test.ts'],
          exclude: [...watchingSockets, ...long],
        },
      },
      {
        extends: true,
        test: { name: 'client', include: ['packages/client/test/**/*.test.ts'], exclude: [packed] },
      },
      { extends: true, test: { name: 'sockets', isolate: true, include: watchingSockets } },
      { extends: true, test: { name: 'long', include: long } },
      { extends: true, test: { name: 'embedded', include: ['packages/embedded-eventstore/test/**/*.test.ts'] } },
    ],
  },
})
