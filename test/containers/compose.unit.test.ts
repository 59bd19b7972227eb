import { execFile, execFileSync, type ExecFileException } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { at } from '../../app/demo/members.ts'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfiguration } from '../../platform/configuration/configuration.ts'
import { isRole, needsOf, requireVariables } from '../../app/roles.ts'
import { createOwnServers } from '../../platform/outbound/own-servers.ts'
import { imageOf } from './compose-images.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const text = (path: string) => readFileSync(join(root, path), 'utf8')
const source = text('docker-compose.yml')
const compose: unknown = parse(source, { merge: true })
const services = Object.entries(membersOf(at(compose, 'services')))

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/**
 * The schema of the Compose specification. Its JSON Schema draft differs from ajv's only in parts that it does not use.
 */
function compiledSchema() {
  const { $schema: _draft, ...schema } = membersOf(JSON.parse(text('test/containers/compose-spec.json')))
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  return ajv.compile(schema)
}

test('the file matches the Compose specification', () => {
  const isAllowed = compiledSchema()
  expect([isAllowed(compose), isAllowed.errors]).toEqual([true, null])
})

test('the schema refuses invalid files', () => {
  const isAllowed = compiledSchema()
  expect(isAllowed({ services: { api: { imagine: 'a service' } } })).toBe(false)
})

test('every long-running service has a health check, and its dependents wait until it is healthy', () => {
  const lasting = services.filter(([, service]) => at(service, 'restart') !== 'no')
  expect(
    lasting.filter(([, service]) => at(service, 'healthcheck', 'test') === undefined).map(([name]) => name),
  ).toEqual([])
  const conditions = services.flatMap(([, service]) =>
    Object.entries(membersOf(at(service, 'depends_on'))).map(([on, how]) => [on, at(how, 'condition')]),
  )
  expect(conditions.length).toBeGreaterThan(5)
  for (const [on, condition] of conditions) {
    const ends = at(compose, 'services', String(on), 'restart') === 'no'
    expect([on, condition]).toEqual([on, ends ? 'service_completed_successfully' : 'service_healthy'])
  }
})

test('a start may take minutes, and a service that dies later is unhealthy within a minute', () => {
  for (const [name, service] of services) {
    const check = at(service, 'healthcheck')
    if (check === undefined) continue
    expect([name, check]).toEqual([
      name,
      {
        test: expect.any(Array),
        start_period: name === 'keycloak' ? '240s' : '120s',
        start_interval: '5s',
        interval: '15s',
        timeout: '5s',
        retries: 3,
      },
    ])
  }
})

test('the health check of Keycloak reads the status line of its answer', async () => {
  const command = at(compose, 'services', 'keycloak', 'healthcheck', 'test')
  const script = String(at(command, 3)).replaceAll('$$', '$')
  const checked = async (answer: string) => {
    const server = createServer((socket) => socket.on('error', () => {}).once('data', () => socket.end(answer)))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' ? String(address?.port) : ''
    const code = await exitOf('/bin/bash', ['-c', script.replace('/9000', `/${port}`)])
    await new Promise((resolve) => server.close(resolve))
    return code
  }
  expect([at(command, 0), at(command, 1), at(command, 2)]).toEqual(['CMD', '/bin/bash', '-c'])
  expect(await checked('HTTP/1.0 200 OK\r\n\r\n{"status":"UP"}')).toBe(0)
  expect(await checked('HTTP/1.1 503 Service Unavailable\r\n\r\n{"status":"DOWN","checks":[{"status":"UP"}]}')).toBe(1)
})

/** Exit code of a command that this file contains. */
function exitOf(file: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<unknown> {
  return new Promise((resolve) => {
    execFile(file, args, { env: { PATH: process.env['PATH'] ?? '', ...env } }, (error: ExecFileException | null) =>
      resolve(error === null ? 0 : error.code),
    )
  })
}

test('the file contains no secret and no default for one; .env.example names every variable without a value', () => {
  const variables = [...source.matchAll(/\$\{([A-Z0-9_]+)([^}]*)\}/g)]
  expect(variables.filter(([, , rest]) => !rest?.startsWith(':?')).map(([whole]) => whole)).toEqual([])
  const named = [...new Set(variables.map(([, name]) => name ?? ''))].toSorted()
  const lines = text('.env.example')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  expect(lines.toSorted()).toEqual(named.map((name) => `${name}=`))
  for (const [name, service] of services) {
    for (const [variable, value] of Object.entries(membersOf(at(service, 'environment')))) {
      if (/PASSWORD|SECRET|MASTER_KEYS|ACCESS_KEY/.test(variable))
        expect([name, variable, value]).toEqual([name, variable, expect.stringMatching(/^\$\{[A-Z0-9_]+:\?/)])
    }
  }
})

test("foreign images are named by digest, also in the Dockerfile, and the project's own by version", () => {
  const digest = /:v?\d+\.\d+[\w.-]*@sha256:[0-9a-f]{64}$/
  for (const [name, service] of services) {
    const image = String(at(service, 'image'))
    expect([name, image]).toEqual([
      name,
      expect.stringMatching(image.startsWith('clinical-assessment-platform:') ? /:\d+\.\d+\.\d+$/ : digest),
    ])
  }
  expect(text('Dockerfile')).toMatch(/^FROM node:[\w.-]+@sha256:[0-9a-f]{64}$/m)
  // The tests with containers run the same images.
  expect(imageOf('eventstore')).toBe(at(compose, 'services', 'eventstore', 'image'))
  expect(text('test/containers/main.ts')).not.toMatch(/GenericContainer\((?!imageOf\()/)
})

test('every service drops its capabilities, can gain none, and writes only to its volumes and to memory', () => {
  for (const [name, service] of services) {
    const hardened = [at(service, 'cap_drop', 0), at(service, 'security_opt', 0), at(service, 'read_only')]
    expect([name, hardened]).toEqual([name, ['ALL', 'no-new-privileges:true', true]])
  }
  const added = services
    .filter(([, service]) => at(service, 'cap_add') !== undefined)
    .map(([name, service]) => [name, at(service, 'cap_add')])
  expect(added).toEqual([
    ['eventstore-upgrade', ['CHOWN', 'DAC_READ_SEARCH']],
    ['s3', ['CHOWN', 'SETGID', 'SETUID']],
    ['s3-bucket', ['CHOWN', 'SETGID', 'SETUID']],
  ])
})

test('every log has limits, and no folder that an image declares as a volume gets one without a name', () => {
  const declared: Readonly<Record<string, readonly string[]>> = {
    kurrentdb: ['/var/lib/kurrentdb', '/var/log/kurrentdb'],
    postgres: ['/var/lib/postgresql/data'],
    seaweedfs: ['/data'],
  }
  for (const [name, service] of services) {
    expect([
      name,
      at(service, 'logging', 'options', 'max-size'),
      at(service, 'logging', 'options', 'max-file'),
    ]).toEqual([name, '10m', '5'])
    const image = /([\w-]+):/.exec(String(at(service, 'image')))?.[1] ?? ''
    const mounts = [at(service, 'volumes'), at(service, 'tmpfs')].flatMap((list) => Object.values(membersOf(list)))
    for (const folder of declared[image] ?? [])
      expect([name, folder, mounts.some((mount) => String(mount).split(':').includes(folder))]).toEqual([
        name,
        folder,
        true,
      ])
  }
})

test('the event store keeps its data where KurrentDB looks for it, as its account, and may stop slowly', () => {
  const store = at(compose, 'services', 'eventstore')
  expect(at(store, 'image')).toMatch(/^docker\.kurrent\.io\/kurrent-lts\/kurrentdb:26\.0\.\d+@/)
  expect(at(store, 'volumes')).toEqual(['eventstore-data:/var/lib/kurrentdb'])
  expect(at(store, 'tmpfs')).toEqual(['/tmp', '/var/log/kurrentdb:uid=1001,gid=1001'])
  expect(Object.keys(membersOf(at(store, 'environment'))).filter((name) => !name.startsWith('KURRENTDB_'))).toEqual([])
  // Also after exit code 0.
  expect(at(store, 'restart')).toBe('unless-stopped')
  expect(['eventstore', 'postgres'].map((name) => at(compose, 'services', name, 'stop_grace_period'))).toEqual([
    '60s',
    '60s',
  ])
})

test('an upgrade gives the files of the event store to the account of KurrentDB, and runs only when it is asked to', () => {
  const upgrade = at(compose, 'services', 'eventstore-upgrade')
  expect(at(upgrade, 'image')).toBe(at(compose, 'services', 'eventstore', 'image'))
  expect(at(upgrade, 'profiles')).toEqual(['upgrade'])
  expect(at(upgrade, 'entrypoint')).toEqual(['chown', '--recursive', '1001:1001', '/var/lib/kurrentdb'])
  expect(at(upgrade, 'volumes')).toEqual(at(compose, 'services', 'eventstore', 'volumes'))
  expect(at(upgrade, 'network_mode')).toBe('none')
})

test("a new version of Keycloak begins with its own build's volume", () => {
  const version = /:([\d.]+)@/.exec(String(at(compose, 'services', 'keycloak', 'image')))?.[1]
  expect(at(compose, 'services', 'keycloak', 'volumes')).toContain(
    `keycloak-build-${version}:/opt/keycloak/lib/quarkus`,
  )
})

test('webhooks leave through a network of the processor alone, and reach no server of the platform', () => {
  const members = (network: string) =>
    services
      .filter(([, service]) => Object.values(membersOf(at(service, 'networks'))).includes(network))
      .map(([name]) => name)
  expect(members('outbound')).toEqual(['processor'])
  expect(members('mail')).toEqual(['mail', 'processor'])
  const reached = [...members('servers'), ...members('mail')].filter((name) => name !== 'processor')
  const env = membersOf(at(compose, 'services', 'processor', 'environment'))
  const own = createOwnServers(
    loadConfiguration(Object.fromEntries(Object.entries(env).map(([name, value]) => [name, filled(String(value))]))),
  )
  const ports: Record<string, number> = {
    eventstore: 2113,
    postgres: 5432,
    s3: 8333,
    provider: 8090,
    api: 8080,
    keycloak: 8080,
    mail: 1025,
  }
  expect(Object.entries(ports).filter(([host, port]) => !own.includes(host, port))).toEqual([])
  // One service creates a bucket and ends. The other listens only on its own loopback.
  expect(reached.filter((name) => ports[name] === undefined)).toEqual(['s3-bucket', 'projector'])
  expect(members('forwarded')).toEqual(['s3', 's3-port', 'api', 'api-port'])
  expect(at(compose, 'services', 'projector', 'environment', 'HOST')).toBe('127.0.0.1')
})

test('the vault and the read models have different roles and passwords', () => {
  const { DATABASE_URL, VAULT_DATABASE_URL } = membersOf(at(compose, 'services', 'api', 'environment'))
  expect([String(DATABASE_URL).split(':?')[0], String(VAULT_DATABASE_URL).split(':?')[0]]).toEqual([
    'postgres://platform:${PLATFORM_DATABASE_PASSWORD',
    'postgres://vault:${VAULT_DATABASE_PASSWORD',
  ])
  const roles = '/docker-entrypoint-initdb.d/roles.sql:ro'
  expect(Object.values(membersOf(at(compose, 'services', 'postgres', 'volumes')))).toContain(
    `./docker-compose.postgres.sql:${roles}`,
  )
})

test('only the API, the object store and the mail page are published, and only on this machine', () => {
  const published = services.filter(([, service]) => at(service, 'ports') !== undefined)
  expect(published.map(([name]) => name).toSorted()).toEqual(['api-port', 'mail', 's3-port'])
  for (const [, service] of published) expect(at(service, 'ports', 0)).toMatch(/^127\.0\.0\.1:/)
})

test('this machine has no way into the network of the servers, and reaches only forwarders on the published one', () => {
  for (const network of ['servers', 'forwarded'])
    expect(at(compose, 'networks', network)).toEqual({
      internal: true,
      driver_opts: { 'com.docker.network.bridge.inhibit_ipv4': 'true' },
    })
  const onPublished = services.filter(([, service]) =>
    Object.values(membersOf(at(service, 'networks'))).includes('published'),
  )
  const image = /^alpine\/socat:/
  expect(onPublished.map(([name, service]) => [name, at(service, 'command', 2), at(service, 'user')])).toEqual([
    ['s3-port', 'TCP:s3:8333', '65534:65534'],
    ['api-port', 'TCP:api:8080', '65534:65534'],
  ])
  for (const [, service] of onPublished) expect(at(service, 'image')).toMatch(image)
})

test('one service builds the shared image, because parallel builds cannot export one tag', () => {
  const ours = services.filter(([, service]) =>
    String(at(service, 'image')).startsWith('clinical-assessment-platform:'),
  )
  expect(ours.length).toBeGreaterThan(3)
  expect(services.filter(([, service]) => at(service, 'build') !== undefined).map(([name]) => name)).toEqual(['api'])
  expect(ours.filter(([, service]) => at(service, 'pull_policy') !== 'never').map(([name]) => name)).toEqual([])
})

test('the provider simulator has a control secret, and its health check needs none', () => {
  const provider = at(compose, 'services', 'provider')
  expect(at(provider, 'environment', 'PROVIDER_CONTROL_SECRET')).toMatch(/^\$\{PROVIDER_CONTROL_SECRET:\?/)
  expect(String(at(provider, 'healthcheck', 'test', 3))).toContain("fetch('http://127.0.0.1:8090/health')")
})

test('processors reach the object store at S3_ENDPOINT through a shared network', () => {
  const { hostname } = new URL(String(at(compose, 'services', 'processor', 'environment', 'S3_ENDPOINT')))
  const networksOf = (name: string) => at(compose, 'services', name, 'networks')
  expect(networksOf(hostname)).toContain('servers')
  expect(networksOf('processor')).toContain('servers')
})

test('processors send mails to the mail catcher, and ask the API for addresses', () => {
  const env = membersOf(at(compose, 'services', 'processor', 'environment'))
  expect(new URL(String(env['SMTP_URL'])).host).toBe('mail:1025')
  expect(
    loadConfiguration({ SMTP_URL: String(env['SMTP_URL']), SMTP_FROM: String(env['SMTP_FROM']) }).smtpFrom,
  ).toBeDefined()
  expect(at(compose, 'services', 'mail', 'networks')).toEqual(['mail'])
  expect([env['USERS_BASE_URL'], at(compose, 'services', 'api', 'environment', 'USERS_BASE_URL')]).toEqual([
    env['AI_REVIEW_BASE_URL'],
    undefined,
  ])
})

test('the realm of Keycloak has the client of the platform, with its rights and without a secret in the file', () => {
  const realm: unknown = JSON.parse(text('docker-compose.keycloak.json'))
  const given = membersOf(at(compose, 'services', 'api', 'environment'))
  expect([at(realm, 'realm'), at(realm, 'clients', 0, 'clientId')]).toEqual([
    given['KEYCLOAK_REALM'],
    given['KEYCLOAK_CLIENT_ID'],
  ])
  expect(at(realm, 'clients', 0, 'secret')).toBe('${KEYCLOAK_CLIENT_SECRET}')
  expect(at(realm, 'users', 0, 'clientRoles', 'realm-management')).toContain('manage-users')
  const profile = 'org.keycloak.userprofile.UserProfileProvider'
  const attributes = JSON.parse(String(at(realm, 'components', profile, 0, 'config', 'kc.user.profile.config', 0)))
  expect(at(attributes, 'unmanagedAttributePolicy')).toBe('ADMIN_EDIT')
  const mounted = Object.values(membersOf(at(compose, 'services', 'keycloak', 'volumes'))).map(String)
  expect(mounted.some((volume) => volume.startsWith('./docker-compose.keycloak.json:'))).toBe(true)
})

test('Postgres is healthy when the platform can log in by TCP, not while it creates its first database', () => {
  const [kind, command] = Object.values(membersOf(at(compose, 'services', 'postgres', 'healthcheck', 'test')))
  expect(kind).toBe('CMD-SHELL')
  expect(String(command)).toMatch(
    /^PGPASSWORD="\$\$PLATFORM_DATABASE_PASSWORD" psql --host=postgres --username=platform .*--command="select 1"$/,
  )
})

test('the bucket is created once; when it is gone later, its service fails and creates none', async ({
  onTestFinished,
}) => {
  const folder = mkdtempSync(join(tmpdir(), 'compose-bucket-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [buckets, made, weed] = [join(folder, 'buckets'), join(folder, 'made'), join(folder, 'weed')]
  // Answers as the shell of SeaweedFS does, with its prompt. It ends with 0 whatever happens.
  writeFileSync(
    weed,
    `#!/bin/sh
read -r command
case $command in
  s3.bucket.list) printf '> '; cat '${buckets}' ;;
  's3.bucket.create -name clinical-assessments') printf '  clinical-assessments\tsize:0\tchunk:0\n' >> '${buckets}' ;;
esac
exit 0
`,
    { mode: 0o755 },
  )
  writeFileSync(buckets, '  clinical-assessments-old\tsize:0\tchunk:0\n')
  const script = join(root, 'docker-compose.s3-bucket.sh')
  const env = { PATH: `${folder}:${process.env['PATH'] ?? ''}`, PAUSE_SECONDS: '0' }
  const run = () => exitOf('/bin/sh', [script, made], env)

  expect([await run(), existsSync(made)]).toEqual([0, true])
  expect(readFileSync(buckets, 'utf8').split('\n')).toHaveLength(3)
  expect(await run()).toBe(0)
  writeFileSync(buckets, '')
  expect([await run(), readFileSync(buckets, 'utf8')]).toEqual([1, ''])

  const service = at(compose, 'services', 's3-bucket')
  expect(at(service, 'entrypoint', 2)).toContain('/bin/sh /bucket.sh /data/made')
  expect(at(service, 'volumes')).toEqual(['s3-bucket-made:/data', './docker-compose.s3-bucket.sh:/bucket.sh:ro'])
})

test('compose:env gives a fresh value to every variable that the file needs, and the program accepts them', () => {
  const scripts = at(JSON.parse(text('package.json')), 'scripts')
  const [, ...command] = String(at(scripts, 'compose:env')).split(' ')
  const written = () =>
    membersOf(parseEnv(execFileSync(process.execPath, command.slice(1), { encoding: 'utf8', cwd: root })))
  const [first, second] = [written(), written()]
  const needed = new Set([...source.matchAll(/\$\{([A-Z0-9_]+)/g)].map(([, name]) => name ?? ''))
  expect(Object.keys(first).toSorted()).toEqual([...needed].toSorted())
  const same = Object.keys(first).filter((name) => first[name] === second[name])
  expect(same.toSorted()).toEqual(['API_PORT', 'MAIL_PORT', 'S3_PORT'])
  const values = Object.values(first).map(String)
  expect([new Set(values).size, values.filter((value) => value.length < 4)]).toEqual([values.length, []])
  for (const role of ['api', 'processor'] as const) {
    const env = Object.fromEntries(
      Object.entries(membersOf(at(compose, 'services', role, 'environment'))).map(([name, value]) => [
        name,
        String(value).replace(/\$\{([A-Z0-9_]+)[^}]*\}/g, (_, variable: string) => String(first[variable])),
      ]),
    )
    requireVariables(env, needsOf([role], env), role)
    expect(loadConfiguration(env)).toMatchObject({ profile: 'development' })
    expect(new URL(env['DATABASE_URL'] ?? '').password).toBe(first['PLATFORM_DATABASE_PASSWORD'])
  }
})

test('every role runs, twice where it needs no address, with all its settings and no unknown ones', () => {
  const commands = services
    .map(([, service]) => ({ service, command: at(service, 'command') }))
    .filter(({ command }) => at(command, 0) === 'serve')
  expect(commands.map(({ command }) => String(at(command, 2))).toSorted()).toEqual(['api', 'processor', 'projector'])
  for (const { service, command } of commands) {
    const role = String(at(command, 2))
    const given = membersOf(at(service, 'environment'))
    const env = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, filled(String(value))]))
    if (isRole(role)) requireVariables(env, needsOf([role], env), role)
    expect(loadConfiguration(env)).toMatchObject({
      profile: 'development',
      host: role === 'api' ? '0.0.0.0' : '127.0.0.1',
      s3Bucket: 'clinical-assessments',
    })
    if (role !== 'api') expect(at(service, 'deploy', 'replicas')).toBe(2)
  }
})

function filled(value: string): string {
  return value
    .replace(/\$\{(?:API|S3)_PORT[^}]*\}/g, '8080')
    .replace(/\$\{MASTER_KEYS[^}]*\}/g, 'first:c2VjcmV0')
    .replace(/\$\{[^}]*\}/g, 'x'.repeat(32))
}

test('the image contains every stage that the program imports', () => {
  const copied = [...text('Dockerfile').matchAll(/^COPY (\S+) \1$/gm)].map(([, folder]) => folder ?? '')
  expect(copied.toSorted()).toEqual([
    'app',
    'commands',
    'contracts',
    'embedded',
    'engine',
    'packages',
    'platform',
    'processes',
    'projections',
    'read-api',
    'streams',
  ])
  const sent = text('.dockerignore')
  expect(copied.filter((folder) => !sent.includes(`\n!${folder}\n`))).toEqual([])
})
