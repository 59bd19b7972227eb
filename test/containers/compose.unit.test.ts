import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { at } from '../../app/demo/api-client.ts'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfiguration } from '../../platform/configuration/configuration.ts'
import { isRole, needsOf, requireVariables } from '../../app/roles.ts'
import { createOwnServers } from '../../platform/outbound/own-servers.ts'

const text = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
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
  const digest = /:v?\d+\.\d+[\w.-]*@(?:sha256:[0-9a-f]{64}|\$\{(EVENTSTORE|KEYCLOAK)_DIGEST:\?set \1_DIGEST\})$/
  for (const [name, service] of services) {
    const image = String(at(service, 'image'))
    expect([name, image]).toEqual([
      name,
      expect.stringMatching(image.startsWith('clinical-assessment-platform:') ? /:\d+\.\d+\.\d+$/ : digest),
    ])
  }
  expect(text('Dockerfile')).toMatch(/^FROM node:[\w.-]+@sha256:[0-9a-f]{64}$/m)
})

test('every service drops its capabilities, can gain none, and writes only to its volumes and to memory', () => {
  for (const [name, service] of services) {
    const hardened = [at(service, 'cap_drop', 0), at(service, 'security_opt', 0), at(service, 'read_only')]
    expect([name, hardened]).toEqual([name, ['ALL', 'no-new-privileges:true', true]])
  }
  const added = services
    .filter(([, service]) => at(service, 'cap_add') !== undefined)
    .map(([name, service]) => [name, at(service, 'cap_add')])
  expect(added).toEqual([['s3', ['CHOWN', 'SETGID', 'SETUID']]])
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
  expect(published.map(([name]) => name).toSorted()).toEqual(['api', 'mail', 's3'])
  for (const [, service] of published) expect(at(service, 'ports', 0)).toMatch(/^127\.0\.0\.1:/)
})

test('one service builds the shared image, because parallel builds cannot export one tag', () => {
  const ours = services.filter(([, service]) =>
    String(at(service, 'image')).startsWith('clinical-assessment-platform:'),
  )
  expect(ours.length).toBeGreaterThan(3)
  expect(services.filter(([, service]) => at(service, 'build') !== undefined).map(([name]) => name)).toEqual(['api'])
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
    env['CLINICAL_BASE_URL'],
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

test('Postgres is healthy when it answers by TCP, not while it creates its first database', () => {
  expect(at(compose, 'services', 'postgres', 'healthcheck', 'test')).toContain('--host=127.0.0.1')
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
    'platform',
    'processes',
    'projections',
    'read-api',
    'streams',
  ])
  const sent = text('.dockerignore')
  expect(copied.filter((folder) => !sent.includes(`\n!${folder}\n`))).toEqual([])
})
