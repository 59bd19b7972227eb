import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GenericContainer, Wait, getContainerRuntimeClient, type StartedTestContainer } from 'testcontainers'
import { freePort } from '../../embedded/children/free-port.ts'
import { imageOf } from './compose-images.ts'
import { issueNodeCertificate } from './node-certificate.ts'

/** The suites that pass on real servers and on embedded ones. */
const suites = ['packages/embedded-eventstore/test/contract', 'test/engine/store', 'test/end-to-end/main-job']
const startLimitMs = 180_000
const password = 'only-for-this-run'
const certificates = '/etc/kurrentdb/certs'

async function hostOfEngine(): Promise<string | undefined> {
  return getContainerRuntimeClient().then(
    ({ info }) => info.containerRuntime.host,
    () => undefined,
  )
}

/** A node that gives its clients an address which they reach: without these variables it would be the container's port. */
function eventStore(host: string, port: number): GenericContainer {
  return new GenericContainer(imageOf('eventstore'))
    .withEnvironment({
      KURRENTDB_CLUSTER_SIZE: '1',
      KURRENTDB_RUN_PROJECTIONS: 'None',
      KURRENTDB_TELEMETRY_OPTOUT: 'true',
      KURRENTDB_ADVERTISE_HOST_TO_CLIENT_AS: host,
      KURRENTDB_ADVERTISE_NODE_PORT_TO_CLIENT_AS: String(port),
    })
    .withExposedPorts({ container: 2113, host: port })
    .withStartupTimeout(startLimitMs)
}

const lives = () => Wait.forHttp('/health/live', 2113).forStatusCodeMatching((status) => status < 300)

function insecureEventStore(host: string, port: number): GenericContainer {
  return eventStore(host, port).withEnvironment({ KURRENTDB_INSECURE: 'true' }).withWaitStrategy(lives())
}

async function securedEventStore(host: string, port: number, folder: string): Promise<GenericContainer> {
  const files = await issueNodeCertificate(folder, host)
  const copied = async (file: string, target: string) => ({
    content: await readFile(file, 'utf8'),
    target: `${certificates}/${target}`,
    mode: 0o644,
  })
  return eventStore(host, port)
    .withEnvironment({
      KURRENTDB_DEFAULT_ADMIN_PASSWORD: password,
      KURRENTDB_CERTIFICATE_FILE: `${certificates}/node.crt`,
      KURRENTDB_CERTIFICATE_PRIVATE_KEY_FILE: `${certificates}/node.key`,
      KURRENTDB_TRUSTED_ROOT_CERTIFICATES_PATH: `${certificates}/ca`,
    })
    .withCopyContentToContainer([
      await copied(files.certificate, 'node.crt'),
      await copied(files.key, 'node.key'),
      await copied(files.authority, 'ca/ca.crt'),
    ])
    .withWaitStrategy(lives().usingTls().allowInsecure())
}

function postgres(): GenericContainer {
  return (
    new GenericContainer(imageOf('postgres'))
      .withCommand(['postgres', '-c', 'max_connections=300', '-c', 'fsync=off'])
      .withEnvironment({ POSTGRES_USER: 'platform', POSTGRES_PASSWORD: password })
      .withExposedPorts(5432)
      // The server starts twice. The first start sets it up.
      .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2))
      .withStartupTimeout(startLimitMs)
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
  const host = await hostOfEngine()
  if (host === undefined) {
    process.stderr.write(
      'npm run test:containers needs a container engine (Docker or Podman) that it can reach; npm test needs none.\n',
    )
    return 1
  }
  const started: { container: GenericContainer; running: StartedTestContainer }[] = []
  const folder = await mkdtemp(join(tmpdir(), 'test-containers-'))
  try {
    const [open, secured] = [await freePort(), await freePort()]
    const database = postgres()
    const containers = [insecureEventStore(host, open), await securedEventStore(host, secured, folder), database]
    // Waits for all, because nobody would stop a container that starts after a failure.
    const outcomes = await Promise.allSettled(
      containers.map(async (container) => {
        started.push({ container, running: await container.start() })
      }),
    )
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    const port = started.find(({ container }) => container === database)?.running.getMappedPort(5432)
    return await run({
      ESDB_URL: `esdb://${host}:${open}?tls=false`,
      ESDB_SECURED_URL: `esdb://admin:${password}@${host}:${secured}?tls=true&tlsCAFile=${join(folder, 'ca.crt')}`,
      DATABASE_URL: `postgres://platform:${password}@${host}:${port}/postgres`,
    })
  } catch (error) {
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
    process.stderr.write(`npm run test:containers cannot start its servers: ${reason}\n`)
    return 1
  } finally {
    await Promise.allSettled(started.map(({ running }) => running.stop()))
    await rm(folder, { recursive: true, force: true })
  }
}

process.exit(await main())
