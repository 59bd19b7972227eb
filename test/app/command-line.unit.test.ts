import { expect, test } from 'vitest'
import { clientScopes } from '../../commands/auth/scopes.ts'
import { commandsIn, readCommand, wholeProgram } from '../../app/command-line.ts'
import { needsOf, needsOfUp, requireVariables } from '../../app/roles.ts'

/** A UUID without a version: callers may use any UUID as an id. */
const org = 'A1B2C3D4-0000-0000-0000-000000000001'

const kid = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'

test.each([
  [['up'], { name: 'up', order: {} }],
  [['serve'], { name: 'serve', order: { roles: ['api', 'projector', 'processor'] } }],
  [
    ['verify', 'receipt', 'receipt.json', '--jwks', 'keys.json'],
    { name: 'verify-receipt', order: { file: 'receipt.json', jwks: 'keys.json' } },
  ],
  [['foreign-events', 'rejected'], { name: 'foreign-events', order: { channel: undefined } }],
  [
    ['foreign-events', 'rejected', '--channel', 'clinic.events'],
    { name: 'foreign-events', order: { channel: 'clinic.events' } },
  ],
  [['keys', 'rotate', 'token'], { name: 'keys', order: { action: 'rotate', purpose: 'token' } }],
  [['keys', 'rotate', 'actor-context'], { name: 'keys', order: { action: 'rotate', purpose: 'actor-context' } }],
  [['keys', 'rotate', 'provenance'], { name: 'keys', order: { action: 'rotate', purpose: 'provenance' } }],
  [['keys', 'rotate', 'unsubscribe'], { name: 'keys', order: { action: 'rotate', purpose: 'unsubscribe' } }],
  [['keys', 'list'], { name: 'keys', order: { action: 'list', isJson: false } }],
  [['keys', 'list', '--json'], { name: 'keys', order: { action: 'list', isJson: true } }],
  [['keys', 'rewrap'], { name: 'keys', order: { action: 'rewrap' } }],
  [['keys', 'rotate', 'seal'], { name: 'keys', order: { action: 'rotate', purpose: 'seal' } }],
  [
    ['keys', 'rotate', 'webhook', '--org', org, '--endpoint', org],
    {
      name: 'keys',
      order: {
        action: 'rotate-webhook',
        orgId: org.toLowerCase(),
        endpoint: org.toLowerCase(),
        graceSeconds: undefined,
      },
    },
  ],
  [
    ['keys', 'rotate', 'webhook', '--org', org, '--endpoint', org, '--grace-seconds', '0'],
    {
      name: 'keys',
      order: { action: 'rotate-webhook', orgId: org.toLowerCase(), endpoint: org.toLowerCase(), graceSeconds: 0 },
    },
  ],
  [['keys', 'end', 'seal'], { name: 'keys', order: { action: 'end-seal' } }],
  [['keys', 'end', 'token', '--kid', kid], { name: 'keys', order: { action: 'end-token', kid } }],
  [
    ['serve', '--role', 'processor', '--role', 'api', '--role=api'],
    { name: 'serve', order: { roles: ['api', 'processor'] } },
  ],
])('%j is understood', async (args, command) => {
  expect(await readCommand(args)).toEqual(command)
})

test.each([
  [[]],
  [['--help']],
  [['help', 'serve']],
  [['serve', '--help']],
  [['keys', '--help']],
  [['keys', 'list', '-h']],
])('%j asks for help', async (args) => {
  expect(await readCommand(args)).toEqual({ name: 'help', text: expect.stringMatching(/^Usage: platform /) })
})

test('the help of each command has an example, which is understood', async () => {
  const leaves = commandsIn(await wholeProgram()).filter(({ commands }) => commands.length === 0)
  expect(leaves.length).toBeGreaterThan(40)
  for (const leaf of leaves) {
    const path = [leaf.name()]
    for (let above = leaf.parent; above?.parent !== null && above !== null; above = above.parent)
      path.unshift(above.name())
    const { text = '' } = (await readCommand([...path, '--help'])) as { text?: string }
    const [, line = ''] = /\nExample:\n {2}npm run platform -- (.*)\n/.exec(text) ?? []
    expect(line.startsWith(path.join(' ')), path.join(' ')).toBe(true)
    const words = [...line.replace(/ > .*/, '').matchAll(/'([^']*)'|(\S+)/g)].map(
      ([, quoted, word]) => quoted ?? word ?? '',
    )
    expect(await readCommand(words)).toMatchObject({ order: expect.anything() })
  }
})

test('reads a client of a given organisation, with its id in lower case, or of a new organisation', async () => {
  expect(
    await readCommand([
      'clients',
      'register',
      '--org',
      org,
      '--new-product',
      '--scope',
      'patients:read',
      'cases:read,patients:read',
      '--trusted-actor-context',
    ]),
  ).toEqual({
    name: 'register-client',
    order: {
      orgId: org.toLowerCase(),
      productId: null,
      scopes: ['patients:read', 'cases:read'],
      trustedActorContext: true,
    },
  })
  expect(await readCommand(['clients', 'register', '--new-org', '--product', org, '--scope', 'all'])).toEqual({
    name: 'register-client',
    order: { orgId: null, productId: org.toLowerCase(), scopes: [...clientScopes], trustedActorContext: false },
  })
})

test('reads the first administrator of an organisation', async () => {
  const args = ['administrators', 'create', '--org', org, '--email', ' ada@example.org', '--name', 'Ada Example']
  const order = { orgId: org.toLowerCase(), email: 'ada@example.org', name: 'Ada Example' }
  expect(await readCommand(args)).toEqual({ name: 'create-administrator', order })
})

test('reads an operator, who may only look with --read-only', async () => {
  const args = ['operators', 'create', '--org', org, '--email', 'ada@example.org']
  const order = { orgId: org.toLowerCase(), email: 'ada@example.org', name: undefined, isReadOnly: false }
  expect(await readCommand(args)).toEqual({ name: 'create-operator', order })
  expect(await readCommand([...args, '--read-only'])).toEqual({
    name: 'create-operator',
    order: { ...order, isReadOnly: true },
  })
})

const register = ['clients', 'register', '--new-org', '--new-product']
test.each([
  [['sevre'], "unknown command 'sevre'\n(Did you mean serve?)"],
  [['clients', 'list'], "unknown command 'list'"],
  [['operators', 'crate'], "unknown command 'crate'\n(Did you mean create?)"],
  [['operators', 'create', '--org', org], "required option '--email <address>' not specified"],
  [['administrators', 'create', '--email', 'ada@example.org'], "required option '--org <id>' not specified"],
  [['administrators', 'create', '--org', org, '--email', 'ada'], "'ada' is invalid. It must be an e-mail address."],
  [['administrators', 'create', '--org', org, '--email', 'a@b.c', '--name', ''], 'It must be 1 to 255 characters.'],
  [['foreign-events'], 'foreign-events takes a command'],
  [['keys'], 'keys takes a command'],
  [['help', 'nope'], 'nope is no command'],
  [['keys', 'rotate', 'x'], "platform: value 'x' is invalid for argument 'purpose'."],
  [['keys', 'remove'], "unknown command 'remove'"],
  [['keys', 'list', '--jsn'], "unknown option '--jsn'\n(Did you mean --json?)"],
  [['keys', 'rewrap', 'token'], "too many arguments for 'rewrap'"],
  [['keys', 'end', 'receipt', '--kid', kid], 'Allowed choices are token, seal.'],
  [['keys', 'end', 'token'], "required option '--kid <kid>' not specified"],
  [['keys', 'end', 'seal', '--kid', kid], 'keys end seal takes no --kid'],
  [['keys', 'end', 'token', '--kid'], "option '--kid <kid>' argument missing"],
  [['keys', 'end', 'token', '--kid', 'short'], 'It must be a key id, as keys list prints it.'],
  [['keys', 'rotate'], "missing required argument 'purpose'"],
  [['keys', 'rotate', 'pepper'], 'Allowed choices are token, receipt, actor-context'],
  [['keys', 'rotate', 'webhook', '--endpoint', org], "required option '--org <id>' not specified"],
  [['keys', 'rotate', 'webhook', '--org', org], "required option '--endpoint <id>' not specified"],
  [['keys', 'rotate', 'webhook', '--grace-seconds', '604801'], 'It must be a number from 0 to 604800.'],
  [['keys', 'rotate', 'token', '--grace-seconds', '0'], 'only keys rotate webhook takes --org, --endpoint'],
  [['keys', 'rotate', 'token', 'receipt'], "too many arguments for 'rotate'"],
  [['verify'], 'verify takes a command'],
  [['verify', 'receipt', '--jwks', 'keys.json'], "missing required argument 'file'"],
  [['verify', 'receipt', 'one', 'two', '--jwks', 'keys.json'], "too many arguments for 'receipt'"],
  [['verify', 'receipt', 'one'], "required option '--jwks <file>' not specified"],
  [['backup', 'create', '--to', '--json'], "option '--to <place>' argument missing"],
  [['witness', '--data', 'd'], "required option '--log <vkey>' not specified"],
  [['witness', '--data', 'd', '--log', 'v', '--port', '65536'], 'It must be a number from 0 to 65535.'],
  [['completion', 'fish'], 'Allowed choices are bash, zsh.'],
  [['up', '--role', 'api'], "unknown option '--role'"],
  [['serve', '--role', 'worker'], "'worker' is invalid. Allowed choices are api, projector, processor."],
  [['serve', 'api'], "too many arguments for 'serve'. Expected 0 arguments but got 1: api."],
  [register, "required option '--scope <scopes...>' not specified"],
  [[...register, '--scope', 'auth:admin'], "'auth:admin' is invalid. It must be all, or some of "],
  [[...register, '--scope', 'ai-review:read-raw'], "'ai-review:read-raw' is invalid"],
  [[...register, '--org', org, '--scope', 'all'], 'either --org ID or --new-org'],
  [['clients', 'register', '--new-org', '--scope', 'all'], 'either --product ID or --new-product'],
  [
    ['clients', 'register', '--org', 'mine', '--new-product', '--scope', 'all'],
    "'mine' is invalid. It must be a UUID.",
  ],
])('%j is refused with its reason', async (args, reason) => {
  const { name, reason: given } = (await readCommand(args)) as { name: string; reason: string }
  expect(name).toBe('wrong')
  expect(given).toMatch(/^platform: /)
  expect(given).toContain(reason)
})

const keycloak = 'KEYCLOAK_BASE_URL, KEYCLOAK_REALM, KEYCLOAK_CLIENT_ID, KEYCLOAK_CLIENT_SECRET'

test('names all missing variables at once, including empty ones', () => {
  const env = { ESDB_URL: 'esdb://store', DATABASE_URL: '' }
  expect(() => requireVariables(env, needsOf(['projector'], env), 'serve --role projector')).toThrow(
    'serve --role projector needs DATABASE_URL, VAULT_DATABASE_URL, MASTER_KEYS: set them in the environment',
  )
  expect(needsOf(['projector', 'api'], env).filter((name) => name.startsWith('PROVIDER_'))).toEqual([])
  expect(needsOf(['processor'], env)).toEqual(
    expect.arrayContaining(['BASE_URL', 'SERVICE_CLIENT_SECRET', 'PROVIDER_PASSWORD', 'S3_ENDPOINT']),
  )
})

test.each([
  ['a projector in production', ['projector'], { APP_ENV: 'production' }, ''],
  ['an API in production', ['api'], { APP_ENV: 'production' }, 'IDP_MODE=keycloak, ' + keycloak],
  [
    'an API in production with the mock',
    ['api'],
    { APP_ENV: 'production', IDP_MODE: 'mock' },
    'IDP_MODE=keycloak, ' + keycloak,
  ],
  ['an API in development', ['api'], {}, ''],
  [
    'an API in development with Keycloak',
    ['api'],
    { IDP_MODE: 'keycloak', KEYCLOAK_REALM: 'a' },
    keycloak.replace('KEYCLOAK_REALM, ', ''),
  ],
  [
    'a processor in production',
    ['api', 'processor'],
    { APP_ENV: 'production', SMTP_FROM: 'a@b.test' },
    `IDP_MODE=keycloak, ${keycloak}, SMTP_URL`,
  ],
  [
    'a processor in production with SES',
    ['processor'],
    { APP_ENV: 'production', MAIL_TRANSPORT: 'ses', IDP_MODE: 'keycloak' },
    `${keycloak}, SES_REGION, SMTP_FROM`,
  ],
] as const)('names all that accounts and mails of %s need', (_, roles, env, missing) => {
  const given = Object.fromEntries(needsOf(roles, {}).map((name) => [name, 'x']))
  const require = () => requireVariables({ ...given, ...env }, needsOf(roles, env), 'serve')
  if (missing === '') expect(require).not.toThrow()
  else expect(require).toThrow(`serve needs ${missing}: set `)
})

test('names all that up needs in production', () => {
  const env = { APP_ENV: 'production' }
  expect(() => requireVariables(env, needsOfUp(env), 'up')).toThrow(
    `up needs PROVIDER_BASE_URL, PROVIDER_LOGIN, PROVIDER_PASSWORD, IDP_MODE=keycloak, ${keycloak}, SMTP_URL, SMTP_FROM: set them in the environment`,
  )
  expect(needsOfUp({})).toEqual([])
})
