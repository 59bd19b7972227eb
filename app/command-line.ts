import { parseArgs } from 'node:util'
import { clientScopes, operatorScopes } from '../commands/auth/scopes.ts'
import { Check } from 'typebox/schema'
import { isUuid } from '../platform/http/formats.ts'
import { Text } from '../platform/http/members.ts'
import { readMailAddress } from '../platform/kit/mail-address.ts'
import { backupUsage, readBackup, type BackupOrder } from './backup/orders.ts'
import { auditUsage, readAudit, type AuditOrder } from './audit/orders.ts'
import { readWork, workUsage, type WorkOrder } from './operations/work-orders.ts'
import { erasuresUsage, readErasures, type ErasuresOrder } from './erasures/orders.ts'
import { keysUsage, readKeys, type KeysOrder } from './keys/orders.ts'
import { projectionsUsage, readProjections, type ProjectionsOrder } from './projections/orders.ts'
import type { VerifyReceiptOrder } from './verify-receipt.ts'
import type { WitnessOrder } from './witness/start-witness.ts'
import type { DoctorOrder } from './operations/doctor.ts'
import type { StatusOrder } from './operations/status-command.ts'
import { allRoles, isRole, type Role } from './roles.ts'

export interface ClientOrder {
  /** Null creates a new one. */
  readonly orgId: string | null
  readonly productId: string | null
  readonly scopes: readonly string[]
  readonly trustedActorContext: boolean
}

export interface AdministratorOrder {
  readonly orgId: string
  readonly email: string
  readonly name: string | undefined
}

export interface OperatorOrder extends AdministratorOrder {
  readonly isReadOnly: boolean
}

export interface RejectedEventsOrder {
  /** Undefined: all channels. */
  readonly channel: string | undefined
}

export type Command =
  | { readonly name: 'help' }
  | { readonly name: 'up' }
  | { readonly name: 'serve'; readonly roles: readonly Role[] }
  | { readonly name: 'register-client'; readonly order: ClientOrder }
  | { readonly name: 'create-administrator'; readonly order: AdministratorOrder }
  | { readonly name: 'create-operator'; readonly order: OperatorOrder }
  | { readonly name: 'keys'; readonly order: KeysOrder }
  | { readonly name: 'erasures'; readonly order: ErasuresOrder }
  | { readonly name: 'work'; readonly order: WorkOrder }
  | { readonly name: 'projections'; readonly order: ProjectionsOrder }
  | { readonly name: 'foreign-events'; readonly order: RejectedEventsOrder }
  | { readonly name: 'verify-receipt'; readonly order: VerifyReceiptOrder }
  | { readonly name: 'audit'; readonly order: AuditOrder }
  | { readonly name: 'status'; readonly order: StatusOrder }
  | { readonly name: 'doctor'; readonly order: DoctorOrder }
  | { readonly name: 'backup'; readonly order: BackupOrder }
  | { readonly name: 'witness'; readonly order: WitnessOrder }
  | { readonly name: 'wrong'; readonly reason: string }

export const usage = `Usage: npm run platform -- COMMAND

  up      the whole platform on this machine, embedded servers included (the same as npm start)
  serve   [--role api|projector|processor]…
          the named roles (all, unless named) against real servers
  status  [--json]
          what is wrong, since when, and what to do: docs/operating.md. It needs no API. Exit code: 1 if something fails
  doctor  [--json]
          looks at everything that the platform needs, one thing after another. Exit code: 1 if something fails
${workUsage}
  clients register  --org ID|--new-org  --product ID|--new-product  --scope SCOPE…  [--trusted-actor-context]
          a client of an organisation; prints its id and its secret once, as JSON. The scope "all"
          stands for all that a client of an organisation may hold
  administrators create  --org ID  --email ADDRESS  [--name NAME]
          a user who administers the organisation, with an account at the identity provider. A repeat creates no other
  operators create  --org ID  --email ADDRESS  [--name NAME]  [--read-only]
          the same for a user of the organisation who operates the whole installation
${keysUsage}
${erasuresUsage}
  foreign-events rejected  [--channel NAME]
          the newest 1000 events of foreign channels that were skipped, with the reason, as JSON
  verify receipt FILE --jwks FILE
          checks offline whether a consent receipt is genuine, with the keys of /v1/auth/.well-known/jwks.json.
          Exit code: 0 genuine, 3 not a receipt, 4 the key is not in the set, 5 altered
${auditUsage}
${backupUsage}
  witness  --data DIR  --log VKEY…  [--port N]  [--name NAME]
          a witness of sealed logs, on a machine of its own. It signs a seal only if the log never went back. Prints
          "witness <address> <vkey>" for WITNESSES of the platform. HOST is its address (127.0.0.1), 8430 its port
${projectionsUsage}

Environment variables configure the platform. docs/configuration.md lists them.`

/** The command in the arguments; `wrong` contains the reason if there is none. */
export function readCommand(args: readonly string[]): Command {
  const [name, ...rest] = args
  if (name === undefined || name === 'help' || args.includes('--help') || args.includes('-h')) return { name: 'help' }
  try {
    if (name === 'up') {
      parseArgs({ args: rest, options: {} })
      return { name: 'up' }
    }
    if (name === 'serve') return readServe(rest)
    if (name === 'status' || name === 'doctor') return { name, order: { isJson: readIsJson(rest) } }
    if (name === 'audit') return { name, order: readAudit(rest) }
    if (name === 'backup') return { name, order: readBackup(rest) }
    if (name === 'witness') return readWitness(rest)
    if (name === 'projections') return { name, order: readProjections(rest) }
    if (name === 'foreign-events' && rest[0] === 'rejected') return readRejectedEvents(rest.slice(1))
    if (name === 'verify' && rest[0] === 'receipt') return readVerifyReceipt(rest.slice(1))
    if (name === 'steps' || name === 'groups' || name === 'deliveries' || name === 'relays')
      return { name: 'work', order: readWork(name, rest) }
    if (name === 'keys') return { name, order: readKeys(rest) }
    if (name === 'erasures') return { name, order: readErasures(rest) }
    if (name === 'clients' && rest[0] === 'register') return readRegister(rest.slice(1))
    if (name === 'administrators' && rest[0] === 'create') return readAdministrator(rest.slice(1))
    if (name === 'operators' && rest[0] === 'create') return readOperator(rest.slice(1))
  } catch (error) {
    return wrong(error instanceof Error ? error.message : String(error))
  }
  return wrong(
    `there is no command ${['administrators', 'clients', 'foreign-events', 'operators', 'verify'].includes(name) ? args.join(' ') : name}`,
  )
}

function readServe(args: string[]): Command {
  const { values } = parseArgs({ args, options: { role: { type: 'string', multiple: true } } })
  const named = values.role ?? allRoles
  const unknown = named.find((role) => !isRole(role))
  if (unknown !== undefined) return wrong(`there is no role ${unknown}: roles are ${allRoles.join(', ')}`)
  return { name: 'serve', roles: allRoles.filter((role) => named.includes(role)) }
}

const registerOptions = {
  org: { type: 'string' },
  'new-org': { type: 'boolean', default: false },
  product: { type: 'string' },
  'new-product': { type: 'boolean', default: false },
  scope: { type: 'string', multiple: true },
  'trusted-actor-context': { type: 'boolean', default: false },
} as const

function readRegister(args: string[]): Command {
  // Values after the scope are more scopes: --scope a b equals --scope a --scope b.
  const { values, positionals } = parseArgs({ args, options: registerOptions, allowPositionals: true })
  const chosen = [
    { option: 'org', id: values.org, isNew: values['new-org'] },
    { option: 'product', id: values.product, isNew: values['new-product'] },
  ]
  for (const { option, id, isNew } of chosen) {
    if ((id === undefined) === !isNew) return wrong(`clients register takes either --${option} ID or --new-${option}`)
    if (id !== undefined && !isUuid(id)) return wrong(`--${option} must be a UUID`)
  }
  const named = [...(values.scope ?? []), ...positionals]
    .flatMap((text) => text.split(/[\s,]+/))
    .filter((scope) => scope !== '')
  if (named.length === 0) return wrong('clients register needs at least one --scope')
  const scopes = [...new Set(named.flatMap((scope) => (scope === 'all' ? clientScopes : [scope])))]
  const unknown = scopes.find((scope) => !operatorScopes.includes(scope))
  if (unknown !== undefined) return wrong(`there is no scope ${unknown}: scopes are ${operatorScopes.join(', ')}`)
  const ids = { orgId: values.org?.toLowerCase() ?? null, productId: values.product?.toLowerCase() ?? null }
  return { name: 'register-client', order: { ...ids, scopes, trustedActorContext: values['trusted-actor-context'] } }
}

const administratorOptions = { org: { type: 'string' }, email: { type: 'string' }, name: { type: 'string' } } as const

function readAdministrator(args: string[]): Command {
  const { values } = parseArgs({ args, options: administratorOptions })
  return { name: 'create-administrator', order: personOf('administrators create', values) }
}

function readOperator(args: string[]): Command {
  const options = { ...administratorOptions, 'read-only': { type: 'boolean', default: false } } as const
  const { values } = parseArgs({ args, options })
  const order = { ...personOf('operators create', values), isReadOnly: values['read-only'] }
  return { name: 'create-operator', order }
}

/** @throws Error with what is wrong */
function personOf(
  command: string,
  { org = '', email = '', name }: { readonly org?: string; readonly email?: string; readonly name?: string },
): AdministratorOrder {
  if (!isUuid(org)) throw new Error(`${command} needs --org, a UUID`)
  const address = readMailAddress(email)
  if (address === undefined) throw new Error(`${command} needs --email, an e-mail address`)
  if (name !== undefined && !Check(Text(255), name)) throw new Error('--name must have 1 to 255 characters')
  return { orgId: org.toLowerCase(), email: address, name }
}

function readIsJson(args: string[]): boolean {
  return parseArgs({ args, options: { json: { type: 'boolean', default: false } } }).values.json
}

function readRejectedEvents(args: string[]): Command {
  const { values } = parseArgs({ args, options: { channel: { type: 'string' } } })
  return { name: 'foreign-events', order: { channel: values.channel } }
}

function readVerifyReceipt(args: string[]): Command {
  const { values, positionals } = parseArgs({ args, options: { jwks: { type: 'string' } }, allowPositionals: true })
  const [file, ...others] = positionals
  if (file === undefined || others.length > 0) return wrong('verify receipt takes one file')
  if (values.jwks === undefined) return wrong('verify receipt needs --jwks FILE')
  return { name: 'verify-receipt', order: { file, jwks: values.jwks } }
}

const witnessOptions = {
  data: { type: 'string' },
  log: { type: 'string', multiple: true },
  port: { type: 'string', default: '8430' },
  name: { type: 'string' },
} as const

function readWitness(args: string[]): Command {
  const { values } = parseArgs({ args, options: witnessOptions })
  const { data, log, port, name } = values
  if (data === undefined || data === '') return wrong('witness needs --data DIR')
  if (log === undefined) return wrong('witness needs at least one --log VKEY')
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) return wrong('--port must be a number from 0 to 65535')
  return { name: 'witness', order: { dataDir: data, logs: log, port: Number(port), name } }
}

function wrong(reason: string): Command {
  return { name: 'wrong', reason }
}
