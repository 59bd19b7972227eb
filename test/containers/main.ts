import { spawn } from 'node:child_process'
import { GenericContainer, Wait, getContainerRuntimeClient, type StartedTestContainer } from 'testcontainers'

/** The suites that pass on real servers and on embedded ones. */
const suites = ['test/embedded/eventstore/contract', 'test/streams/store', 'test/end-to-end/main-job']
const startLimitMs = 180_000
const password = 'only-for-this-run'

async function hasEngine(): Promise<boolean> {
  return getContainerRuntimeClient().then(
    () => true,
    () => false,
  )
}

function eventStore(): Promise<StartedTestContainer> {
  return new GenericContainer('eventstore/eventstore:23.10.1-jammy')
    .withEnvironment({
      EVENTSTORE_CLUSTER_SIZE: '1',
      EVENTSTORE_INSECURE: 'true',
      EVENTSTORE_RUN_PROJECTIONS: 'None',
      EVENTSTORE_MEM_DB: 'true',
    })
    .withExposedPorts(2113)
    .withWaitStrategy(Wait.forHttp('/health/live', 2113).forStatusCodeMatching((status) => status < 300))
    .withStartupTimeout(startLimitMs)
    .start()
}

function postgres(): Promise<StartedTestContainer> {
  return (
    new GenericContainer('postgres:17.6-bookworm')
      .withCommand(['postgres', '-c', 'max_connections=300', '-c', 'fsync=off'])
      .withEnvironment({ POSTGRES_USER: 'platform', POSTGRES_PASSWORD: password })
      .withExposedPorts(5432)
      // The server starts twice. The first start sets it up.
      .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2))
      .withStartupTimeout(startLimitMs)
      .start()
  )
}

function run(env: Readonly<Record<string, string>>): Promise<number> {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'platform', ...suites]
  const child = spawn(process.execPath, args, { stdio: 'inherit', env: { ...process.env, ...env } })
  return new Promise((resolve) => {
    child.on('close', (code) => resolve(code ?? 1))
  })
}

async function main(): Promise<number> {
  if (!(await hasEngine())) {
    process.stderr.write(
      'npm run test:containers needs a container engine (Docker or Podman) that it can reach; npm test needs none.\n',
    )
    return 1
  }
  const started: StartedTestContainer[] = []
  try {
    const [events, database] = await Promise.all(
      [eventStore(), postgres()].map(async (starting) => {
        const container = await starting
        started.push(container)
        return container
      }),
    )
    if (events === undefined || database === undefined) throw new Error('a container is missing')
    const server = `postgres://platform:${password}@${database.getHost()}:${database.getMappedPort(5432)}`
    return await run({
      ESDB_URL: `esdb://${events.getHost()}:${events.getMappedPort(2113)}?tls=false`,
      DATABASE_URL: `${server}/postgres`,
    })
  } finally {
    await Promise.all(started.map((container) => container.stop()))
  }
}

process.exit(await main())
