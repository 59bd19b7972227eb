import { expect, test } from 'vitest'
import { clientScopes } from '../../commands/auth/scopes.ts'
import { readCommand } from '../../app/command-line.ts'
import { needsOf, needsOfUp, requireVariables } from '../../app/roles.ts'

/** A UUID without a version: callers may use any UUID as an id. */
const org = 'A1B2C3D4-0000-0000-0000-000000000001'

const kid = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'

test.each([
  [[], { name: 'help' }],
  [['--help'], { name: 'help' }],
  [['serve', '--help'], { name: 'help' }],
  [['up'], { name: 'up' }],
  [['serve'], { name: 'serve', roles: ['api', 'projector', 'processor'] }],
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
  [['keys', 'end', 'token', '--kid', kid], { name: 'keys', order: { action: 'end-token', kid } }],
  [['serve', '--role', 'processor', '--role', 'api', '--role=api'], { name: 'serve', roles: ['api', 'processor'] }],
])('%j is understood', (args, command) => {
  expect(readCommand(args)).toEqual(command)
})

test('reads a client of a given organisation, with its id in lower case, or of a new organisation', () => {
  expect(
    readCommand([
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
  expect(readCommand(['clients', 'register', '--new-org', '--product', org, '--scope', 'all'])).toEqual({
    name: 'register-client',
    order: { orgId: null, productId: org.toLowerCase(), scopes: [...clientScopes], trustedActorContext: false },
  })
})

test('reads the first administrator of an organisation', () => {
  const args = ['administrators', 'create', '--org', org, '--email', ' ada@example.org', '--name', 'Ada Example']
  const order = { orgId: org.toLowerCase(), email: 'ada@example.org', name: 'Ada Example' }
  expect(readCommand(args)).toEqual({ name: 'create-administrator', order })
})

test('reads an operator, who may only look with --read-only', () => {
  const args = ['operators', 'create', '--org', org, '--email', 'ada@example.org']
  const order = { orgId: org.toLowerCase(), email: 'ada@example.org', name: undefined, isReadOnly: false }
  expect(readCommand(args)).toEqual({ name: 'create-operator', order })
  expect(readCommand([...args, '--read-only'])).toEqual({
    name: 'create-operator',
    order: { ...order, isReadOnly: true },
  })
})

const register = ['clients', 'register', '--new-org', '--new-product']
test.each([
  [['sevre'], 'there is no command sevre'],
  [['clients', 'list'], 'there is no command clients list'],
  [['administrators', 'list'], 'there is no command administrators list'],
  [['operators', 'list'], 'there is no command operators list'],
  [['operators', 'create', '--org', org], 'operators create needs --email, an e-mail address'],
  [['administrators', 'create', '--email', 'ada@example.org'], 'needs --org, a UUID'],
  [['administrators', 'create', '--org', org, '--email', 'ada'], 'needs --email, an e-mail address'],
  [['administrators', 'create', '--org', org, '--email', 'a@b.c', '--name', ''], '1 to 255 characters'],
  [['foreign-events'], 'there is no command foreign-events'],
  [['keys'], 'there is no command keys'],
  [['keys', 'remove'], 'there is no command keys remove'],
  [['keys', 'rewrap', 'token'], 'Unexpected argument'],
  [['keys', 'end', 'receipt', '--kid', kid], 'keys end takes token'],
  [['keys', 'end', 'token'], 'keys end token needs --kid KID'],
  [['keys', 'end', 'token', '--kid', 'short'], 'keys end token needs --kid KID'],
  [['keys', 'rotate'], 'keys rotate takes one of token, receipt, actor-context'],
  [['keys', 'rotate', 'webhook'], 'keys rotate takes one of'],
  [['keys', 'rotate', 'token', 'receipt'], 'keys rotate takes one of'],
  [['verify'], 'there is no command verify'],
  [['verify', 'token'], 'there is no command verify token'],
  [['verify', 'receipt', '--jwks', 'keys.json'], 'takes one file'],
  [['verify', 'receipt', 'one', 'two', '--jwks', 'keys.json'], 'takes one file'],
  [['verify', 'receipt', 'one'], '--jwks FILE'],
  [['up', '--role', 'api'], '--role'],
  [['serve', '--role', 'worker'], 'there is no role worker: roles are api, projector, processor'],
  [['serve', 'api'], 'api'],
  [register, 'at least one --scope'],
  [[...register, '--scope', 'auth:admin'], 'there is no scope auth:admin'],
  [[...register, '--scope', 'ai-review:read-raw'], 'there is no scope ai-review:read-raw'],
  [[...register, '--org', org, '--scope', 'all'], 'either --org ID or --new-org'],
  [['clients', 'register', '--new-org', '--scope', 'all'], 'either --product ID or --new-product'],
  [['clients', 'register', '--org', 'mine', '--new-product', '--scope', 'all'], '--org must be a UUID'],
])('%j is refused with its reason', (args, reason) => {
  expect(readCommand(args)).toEqual({ name: 'wrong', reason: expect.stringContaining(reason) })
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
