import { Argument } from '@commander-js/extra-typings'
import { signingPurposes, turningKinds, type SigningPurpose, type TurningKind } from '../../platform/kit/key-vault.ts'
import { example, must, numberFrom, uuid, type Define } from '../command-options.ts'
import type { WebhookRotation } from './rotate-webhook.ts'

/** Purposes whose rotation is recorded in the log. */
export const loggedPurposes = ['event-signature', 'seal'] as const
export type RotatedPurpose = SigningPurpose | TurningKind | (typeof loggedPurposes)[number]

export type KeysOrder =
  | { readonly action: 'list'; readonly isJson: boolean }
  | { readonly action: 'rotate'; readonly purpose: RotatedPurpose }
  | ({ readonly action: 'rotate-webhook' } & WebhookRotation)
  | { readonly action: 'rewrap' }
  | { readonly action: 'new-master'; readonly id: string }
  | { readonly action: 'end-token'; readonly kid: string }
  | { readonly action: 'end-seal' }

/** A JWK thumbprint of SHA-256, RFC 7638. */
const thumbprint = must('a key id, as keys list prints it', (kid) => (/^[\w-]{43}$/.test(kid) ? kid : undefined))

const masterKeyId = must("1 to 64 letters, digits, '_', '.' or '-'", (id) =>
  /^[A-Za-z0-9_.-]{1,64}$/.test(id) ? id : undefined,
)

export const defineKeys: Define<KeysOrder> = (keys, choose) => {
  const list = keys
    .command('list')
    .description('The keys of the vault, what each does now, and the master keys that wrap them. No secret is printed.')
    .option('--json', 'as JSON')
    .action(({ json: isJson = false }) => choose({ action: 'list', isJson }))
  example(list, 'keys list')
  const rotate = keys
    .command('rotate')
    .description(
      'Adds a key. A key pair is published at once and signs six minutes later, when everybody has it. The key of event signatures signs at once, and a minute later the older one counts no more. The key of seals signs beside the older one, until that is ended. webhook: the secret and the key pair of one webhook, which it prints.',
    )
    .addArgument(
      new Argument('<purpose>', 'what it signs').choices([
        ...signingPurposes,
        ...turningKinds,
        ...loggedPurposes,
        'webhook',
      ]),
    )
    .option('--org <id>', 'organisation of the webhook', uuid)
    .option('--endpoint <id>', 'id of the webhook', uuid)
    .option('--grace-seconds <n>', 'how long the secret before signs too. A day without it', numberFrom(0, 604_800))
    .action((purpose, { org: orgId, endpoint, graceSeconds }, command) => {
      if (purpose === 'webhook') {
        if (orgId === undefined) return command.error("error: required option '--org <id>' not specified")
        if (endpoint === undefined) return command.error("error: required option '--endpoint <id>' not specified")
        return choose({ action: 'rotate-webhook', orgId, endpoint, graceSeconds })
      }
      if (orgId !== undefined || endpoint !== undefined || graceSeconds !== undefined)
        return command.error('error: only keys rotate webhook takes --org, --endpoint and --grace-seconds')
      choose({ action: 'rotate', purpose })
    })
  example(rotate, 'keys rotate token')
  const master = keys
    .command('new-master')
    .description(
      'Makes a master key and prints it as an entry of MASTER_KEYS. With MASTER_KEY_PROVIDER=transit it is wrapped.',
    )
    .requiredOption('--id <id>', 'its name', masterKeyId)
    .action(({ id }) => choose({ action: 'new-master', id }))
  example(master, 'keys new-master --id master-2')
  const rewrap = keys
    .command('rewrap')
    .description('Wraps everything in the vault with the first master key. May be stopped and repeated.')
    .action(() => choose({ action: 'rewrap' }))
  example(rewrap, 'keys rewrap')
  const end = keys
    .command('end')
    .description(
      'token: ends every token that a leaked key has signed, in every process. Another key signs at once. seal: ends all keys of seals but the newest one.',
    )
    .addArgument(new Argument('<purpose>', 'what it signs').choices(['token', 'seal']))
    .option('--kid <kid>', 'id of the key of tokens', thumbprint)
    .action((purpose, { kid }, command) => {
      if (purpose === 'seal' && kid !== undefined)
        return command.error('error: keys end seal takes no --kid: the newest key stays')
      if (purpose === 'seal') return choose({ action: 'end-seal' })
      if (kid === undefined) return command.error("error: required option '--kid <kid>' not specified")
      choose({ action: 'end-token', kid })
    })
  example(end, 'keys end token --kid NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs')
}
