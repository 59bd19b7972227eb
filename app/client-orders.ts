import { Option, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { Check } from 'typebox/schema'
import { clientScopes, operatorScopes } from '../commands/auth/scopes.ts'
import { Text } from '../platform/http/members.ts'
import { readMailAddress } from '../platform/kit/mail-address.ts'
import { example, must, uuid, type Define } from './command-options.ts'

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

const exampleId = '0190b0a0-0000-7000-8000-00000000000a'

const known = must(`all, or some of ${operatorScopes.join(', ')}`, (text) => {
  const named = text.split(/[\s,]+/).filter((scope) => scope !== '')
  const scopes = named.flatMap((scope) => (scope === 'all' ? clientScopes : [scope]))
  return scopes.length > 0 && scopes.every((scope) => operatorScopes.includes(scope)) ? scopes : undefined
})

export const defineClients: Define<ClientOrder> = (clients, choose) => {
  const register = clients
    .command('register')
    .description('A client of an organisation. Prints its id and its secret once, as JSON.')
    .option('--org <id>', 'of this organisation', uuid)
    .option('--new-org', 'of a new organisation')
    .option('--product <id>', 'of this product', uuid)
    .option('--new-product', 'of a new product')
    .addOption(
      new Option(
        '--scope <scopes...>',
        'what it may do; repeat it for several. all: everything that a client of an organisation may hold',
      )
        .argParser((text, before?: readonly string[]) => [...(before ?? []), ...known(text)])
        .makeOptionMandatory(),
    )
    .option('--trusted-actor-context', 'its actor contexts are believed without a proof')
    .action(({ org, newOrg = false, product, newProduct = false, scope, trustedActorContext = false }, command) => {
      const orgId = eitherOr('org', org, newOrg, command)
      const productId = eitherOr('product', product, newProduct, command)
      choose({ orgId, productId, scopes: [...new Set(scope)], trustedActorContext })
    })
  example(register, 'clients register --new-org --new-product --scope all')
}

/** Null for a new one. */
function eitherOr(option: string, id: string | undefined, isNew: boolean, command: CommandUnknownOpts): string | null {
  if ((id === undefined) === !isNew) command.error(`error: either --${option} ID or --new-${option} is needed`)
  return id ?? null
}

const mailAddress = must('an e-mail address', readMailAddress)
const personName = must('1 to 255 characters', (name) => (Check(Text(255), name) ? name : undefined))

export const defineAdministrators: Define<AdministratorOrder> = (administrators, choose) => {
  const create = administrators
    .command('create')
    .description(
      'A user who administers the organisation, with an account at the identity provider. A repeat creates no other.',
    )
    .requiredOption('--org <id>', 'the organisation', uuid)
    .requiredOption('--email <address>', 'of the person', mailAddress)
    .option('--name <name>', 'of the person', personName)
    .action(({ org, email, name }) => choose({ orgId: org, email, name }))
  example(create, `administrators create --org ${exampleId} --email ada@example.org --name 'Ada Example'`)
}

export const defineOperators: Define<OperatorOrder> = (operators, choose) => {
  const create = operators
    .command('create')
    .description('A user of the organisation who operates the whole installation. A repeat creates no other.')
    .requiredOption('--org <id>', 'the organisation that employs the person', uuid)
    .requiredOption('--email <address>', 'of the person', mailAddress)
    .option('--name <name>', 'of the person', personName)
    .option('--read-only', 'who may look, and change nothing')
    .action(({ org, email, name, readOnly: isReadOnly = false }) => choose({ orgId: org, email, name, isReadOnly }))
  example(create, `operators create --org ${exampleId} --email ada@example.org --read-only`)
}
