import { defineConfig } from 'vitest/config'

const report = process.env['VITEST_JSON_REPORT']
const isOneEventStore = (process.env['ESDB_URL'] ?? '') !== ''
const mainJob = (name: string) => `test/end-to-end/main-job/${name}.e2e.test.ts`
/** What one process answers by itself, from the request alone: these run over the roles together only. */
const ofOneProcess = ['access', 'images', 'inline-staging', 'input', 'organisations', 'production', 'specification'].map(mainJob)

export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres.ts'],
    pool: 'forks',
    maxWorkers: 2,
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
        test: { name: 'apart', include: [mainJob('*')], exclude: ofOneProcess, env: { PLATFORM_ROLES: 'apart' }, hookTimeout: 180_000, testTimeout: 120_000 },
      },
    ],
  },
})
