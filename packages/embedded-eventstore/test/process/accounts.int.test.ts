import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { X509Certificate } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createSecureContext } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { selfSignedCertificate } from '../../access/self-signed.ts'
import { ownCertificate } from '../../access/tls-files.ts'
import { userLine } from '../../access/users.ts'
import { startEventStore, type EventStoreNode } from '../../start.ts'

const MAIN = fileURLToPath(new URL('../../main.ts', import.meta.url))

let folder = ''
let dataDir = ''
let usersFile = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'event-store-'))
  dataDir = join(folder, 'data')
  usersFile = join(folder, 'users')
})

afterEach(() => rm(folder, { recursive: true, force: true }))

/** Runs a command to its end. */
async function command(args: string[], input = ''): Promise<{ code: unknown; out: string; problems: string }> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...args])
  child.stdin.end(input)
  const [out, problems, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code, out, problems }
}

/** Sends a request over TLS as a browser does, by either protocol. Trusts the node's own certificate. */
async function ask(
  node: EventStoreNode,
  path: string,
  credentials?: string,
): Promise<{ status: number | undefined; body: string; challenge: string | undefined }> {
  const ca = await readFile(join(dataDir, 'tls', 'certificate.pem'))
  const options = {
    ca,
    agent: false,
    ALPNProtocols: ['h2', 'http/1.1'],
    ...(credentials === undefined ? {} : { auth: credentials }),
  }
  return new Promise((resolve, reject) => {
    get(`https://127.0.0.1:${node.port}${path}`, options, (response) => {
      const { statusCode: status, headers } = response
      text(response).then((body) => resolve({ status, body, challenge: headers['www-authenticate'] }), reject)
    }).on('error', reject)
  })
}

const secured = async (): Promise<EventStoreNode> => {
  await writeFile(usersFile, `${await userLine('alice', 'secret', ['$admins'])}\n`)
  return startEventStore({ dataDir, users: { file: usersFile } })
}

test('the command user prints a line with which its user can log in', async () => {
  const { out, code } = await command(['user', '--login', 'alice', '--groups', 'doctors, $admins'], 'a secret\n')
  expect(code).toBe(0)
  expect(JSON.parse(out)).toEqual({
    login: 'alice',
    password: expect.stringMatching(/^scrypt\$/),
    groups: ['doctors', '$admins'],
  })
  expect(out).not.toContain('a secret')
  await writeFile(usersFile, out)
  const node = await startEventStore({ dataDir, users: { file: usersFile } })
  const client = EventStoreDBClient.connectionString(node.url.replace('esdb://', 'esdb://alice:a%20secret@'))
  expect((await client.appendToStream('$own', jsonEvent({ type: 'Noted', data: {} }))).success).toBe(true)
  await client.dispose()
  await node.stop()
})

test.each([
  { args: ['user'], input: 'secret' },
  { args: ['user', '--login', 'a:b'], input: 'secret' },
  { args: ['user', '--login', 'alice'], input: '' },
  { args: ['--data', 'DATA', '--port', '65536'], input: '' },
  { args: ['--data', 'DATA', '--port', ''], input: '' },
  { args: ['--port', '0'], input: '' },
  { args: ['--data', 'DATA', '--port', '0', '--unknown'], input: '' },
  { args: ['--data', 'DATA', '--port', '0', '--host', '0.0.0.0'], input: '' },
  { args: ['--data', 'DATA', '--port', '0', '--host', '127.0.0.1.example.org'], input: '' },
  { args: ['--data', 'DATA', '--port', '0', '--certificate', 'here'], input: '' },
  { args: ['--data', 'DATA', '--port', '0', '--certificate', 'here', '--key', 'there'], input: '' },
])('$args ends with a description of the mistake', async ({ args, input }) => {
  const { code, out, problems } = await command(
    args.map((arg) => (arg === 'DATA' ? dataDir : arg)),
    input,
  )
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(JSON.parse(problems)).toMatchObject({
    level: 'fatal',
    event: 'event-store-stopped',
    message: expect.stringMatching(/./),
  })
})

test('--help contains every option', async () => {
  const { out, code } = await command(['--help'])
  expect(code).toBe(0)
  for (const option of [
    '--data',
    '--port',
    '--host',
    '--users',
    '--certificate',
    '--key',
    '--settings',
    '--exit-with-parent',
    'user --login',
  ])
    expect(out).toContain(option)
})

test.each([
  { what: 'nobody', content: '\n' },
  { what: 'a line that is no JSON', content: 'alice:secret' },
  { what: 'a password in the clear', content: '{"login":"alice","password":"secret","groups":[]}' },
  {
    what: 'a hash with a high memory cost',
    content: '{"login":"alice","password":"scrypt$1048576$64$1$c2FsdA$aGFzaA","groups":[]}',
  },
  { what: 'a login with a colon', content: '{"login":"a:b","password":"scrypt$16384$8$1$c2FsdA$aGFzaA","groups":[]}' },
  {
    what: 'a group that is no text',
    content: '{"login":"alice","password":"scrypt$16384$8$1$c2FsdA$aGFzaA","groups":[1]}',
  },
])('a users file with $what stops the start', async ({ content }) => {
  await writeFile(usersFile, content)
  await expect(startEventStore({ dataDir, users: { file: usersFile } })).rejects.toThrow(usersFile)
})

test('a duplicate login stops the start', async () => {
  const line = await userLine('alice', 'secret', [])
  await writeFile(usersFile, `${line}\n\n${line}\n`)
  await expect(startEventStore({ dataDir, users: { file: usersFile } })).rejects.toThrow('line 3: alice occurs twice')
})

test('the node keeps its own certificate, and only its owner can read the key', async () => {
  const first = await secured()
  const certificate = await readFile(join(dataDir, 'tls', 'certificate.pem'), 'utf8')
  expect((await stat(join(dataDir, 'tls', 'key.pem'))).mode & 0o777).toBe(0o600)
  await first.stop()
  const second = await secured()
  expect(await readFile(join(dataDir, 'tls', 'certificate.pem'), 'utf8')).toBe(certificate)
  await second.stop()
})

const hosts = ['localhost', '127.0.0.1', '::1']

test.each([
  { damage: 'an empty certificate', file: 'certificate.pem', content: '' },
  {
    damage: 'half a certificate',
    file: 'certificate.pem',
    content: selfSignedCertificate(hosts).certificate.slice(0, 300),
  },
  { damage: 'an empty key', file: 'key.pem', content: '' },
  {
    damage: 'a certificate for another host',
    file: 'certificate.pem',
    content: selfSignedCertificate(['elsewhere.test']).certificate,
  },
])('$damage, as after a crash, is replaced', async ({ file, content }) => {
  await ownCertificate(dataDir, hosts)
  await writeFile(join(dataDir, 'tls', file), content)
  const { certificate, key } = await ownCertificate(dataDir, hosts)
  expect(() => createSecureContext({ cert: certificate, key })).not.toThrow()
  const made = new X509Certificate(certificate)
  expect([made.checkHost('localhost'), made.checkIP('127.0.0.1'), made.checkIP('::1')]).not.toContain(undefined)
  expect(await ownCertificate(dataDir, hosts)).toMatchObject({ certificate, key })
})

test('the key of another certificate, as after a crash, is replaced by a start', async () => {
  await ownCertificate(dataDir, hosts)
  await writeFile(join(dataDir, 'tls', 'key.pem'), selfSignedCertificate(['localhost']).key)
  const node = await secured()
  expect((await ask(node, '/stats', 'alice:secret')).status).toBe(200)
  await node.stop()
})

test("the node's certificate is valid at any clock setting", () => {
  const { validFromDate, validToDate } = new X509Certificate(selfSignedCertificate(['localhost']).certificate)
  expect([validFromDate, validToDate]).toEqual([new Date('2000-01-01T00:00:00Z'), new Date('9999-12-31T23:59:59Z')])
})

test("the node's certificate is that of a server, not of an authority", () => {
  // Clients with Rust's verifier refuse a server with the certificate of an authority.
  expect(new X509Certificate(selfSignedCertificate(['localhost']).certificate).ca).toBe(false)
})

const users = [{ login: 'the platform', password: 'p@ss:w/rd?&#% ö', groups: ['$admins'] }]
const password = users[0]?.password ?? ''

test('with its own account: the connection string contains it, arguments and environment do not, and its file contains a hash', async () => {
  dataDir = join(folder, 'da ta?&#%ö')
  vi.stubEnv('SECRET_OF_THE_PARENT', password)
  const node = await startEventStore({ dataDir, users })
  vi.unstubAllEnvs()
  const client = EventStoreDBClient.connectionString(node.url)
  expect((await client.appendToStream('$own', jsonEvent({ type: 'Noted', data: {} }))).success).toBe(true)
  await client.dispose()
  const seen = await Promise.all(
    [`/proc/${node.pid}/cmdline`, `/proc/${node.pid}/environ`, join(dataDir, 'users')].map((file) =>
      readFile(file, 'utf8'),
    ),
  )
  for (const content of seen) expect(content).not.toContain(password)
  expect(seen[1]).not.toContain('SECRET_OF_THE_PARENT')
  expect((await stat(join(dataDir, 'users'))).mode & 0o777).toBe(0o600)
  expect((await stat(dataDir)).mode & 0o777).toBe(0o700)
  await node.stop()
})

test('a folder used without accounts keeps its events when accounts are added', async () => {
  const open = await startEventStore({ dataDir })
  const before = EventStoreDBClient.connectionString(open.url)
  await before.appendToStream('a-1', jsonEvent({ type: 'Noted', data: {} }))
  await before.dispose()
  await open.stop()
  const node = await startEventStore({ dataDir, users })
  const client = EventStoreDBClient.connectionString(node.url)
  const types: string[] = []
  for await (const { event } of client.readStream('a-1')) if (event !== undefined) types.push(event.type)
  expect(types).toEqual(['Noted'])
  await client.dispose()
  await node.stop()
})

test('liveness and server information need no account; statistics do', async () => {
  const node = await secured()
  for (const path of ['/health/live', '/ping']) expect((await ask(node, path)).status).toBe(200)
  expect(JSON.parse((await ask(node, '/info')).body)).toMatchObject({ authentication: { type: 'internal' } })
  expect((await ask(node, '/info', 'alice:wrong')).status).toBe(401)
  expect(await ask(node, '/stats')).toMatchObject({ status: 401, challenge: 'X-Basic realm="ESDB"' })
  expect((await ask(node, '/stats', 'alice:secret')).status).toBe(200)
  await node.stop()
})

test('password guesses do not lock other users out', async () => {
  const node = await secured()
  const alice = EventStoreDBClient.connectionString(node.url.replace('esdb://', 'esdb://alice:secret@'))
  const guesser = EventStoreDBClient.connectionString(node.url)
  await alice.appendToStream('a-1', jsonEvent({ type: 'Noted', data: {} }))
  const guesses = Array.from({ length: 40 }, (_, n) =>
    guesser.getStreamMetadata('a-1', { credentials: { username: 'alice', password: `guess ${n}` } }).then(
      () => 'in',
      () => 'out',
    ),
  )
  const written = await Promise.all(
    Array.from({ length: 20 }, () => alice.appendToStream('a-1', jsonEvent({ type: 'Noted', data: {} }))),
  )
  expect(written.every(({ success }) => success)).toBe(true)
  expect(new Set(await Promise.all(guesses))).toEqual(new Set(['out']))
  await alice.dispose()
  await guesser.dispose()
  await node.stop()
})

test('refuses unencrypted connections', async () => {
  const node = await secured()
  await expect(fetch(`http://127.0.0.1:${node.port}/info`)).rejects.toThrow()
  const client = EventStoreDBClient.connectionString(`esdb://alice:secret@127.0.0.1:${node.port}?tls=false`)
  await expect(client.appendToStream('a-1', jsonEvent({ type: 'Noted', data: {} }))).rejects.toMatchObject({ code: 14 })
  await client.dispose()
  await node.stop()
})

test('listens on every address with a given certificate; discovery returns the called address', async () => {
  await writeFile(usersFile, `${await userLine('alice', 'secret', [])}\n`)
  const made = selfSignedCertificate(['localhost'])
  const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
  await writeFile(certificate, made.certificate)
  await writeFile(key, made.key)
  const args = [
    '--data',
    dataDir,
    '--port',
    '0',
    '--host',
    '0.0.0.0',
    '--users',
    usersFile,
    '--certificate',
    certificate,
    '--key',
    key,
  ]
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...args])
  const port = await new Promise<string>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (said: string) => {
      const ready = /"ready":true,"port":(\d+)/.exec(said)?.[1]
      if (ready !== undefined) resolve(ready)
    })
  })
  const client = EventStoreDBClient.connectionString(
    `esdb+discover://alice:secret@localhost:${port}?tls=true&tlsCAFile=${certificate}`,
  )
  expect((await client.appendToStream('a-1', jsonEvent({ type: 'Noted', data: {} }))).success).toBe(true)
  await client.dispose()
  child.kill('SIGTERM')
  await once(child, 'exit')
})
