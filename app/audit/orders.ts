import { Option } from '@commander-js/extra-typings'
import { placeForms, placeOf } from '../../contracts/audit/as-of.ts'
import type { Position } from '../../platform/kit/positions.ts'
import { tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'
import { SubjectKind } from '../../streams/types.ts'
import { each, example, filled, must, numberFrom, textUpTo, uuid, type Define } from '../command-options.ts'

export interface VerifyOrder {
  readonly isJson: boolean
  /** Size of a seal. Undefined: from the start of the log. */
  readonly from: number | undefined
  /** Undefined: the keys of the vault. */
  readonly key: string | undefined
  readonly witnesses: readonly string[]
}

export interface AcceptOrder {
  readonly reason: string
}

export interface CheckOrder {
  readonly file: string
  readonly key: string
  readonly witnesses: readonly string[]
  /** A JSON Web Key Set, for signed documents. */
  readonly jwks: string | undefined
}

export interface ProvenanceOrder {
  readonly reviewId: string
  readonly isJson: boolean
}

export interface TimelineOrder {
  readonly subject: { readonly kind: SubjectKind; readonly id: string }
  readonly isOpened: boolean
  readonly isJson: boolean
}

export interface AsOfOrder {
  readonly at: Date | Position
  readonly path: string
  readonly org: TenantId
  readonly isJson: boolean
}

export interface ExportFolderOrder {
  readonly patientId: string
  /** Needed if several organisations know a patient with this id. */
  readonly org: TenantId | undefined
  readonly folder: string
  readonly isJson: boolean
}

export type AuditOrder =
  | ({ readonly action: 'export' } & ExportFolderOrder)
  | ({ readonly action: 'timeline' } & TimelineOrder)
  | ({ readonly action: 'as-of' } & AsOfOrder)
  | ({ readonly action: 'provenance' } & ProvenanceOrder)
  | ({ readonly action: 'verify' } & VerifyOrder)
  | ({ readonly action: 'accept-older-log' } & AcceptOrder)
  | ({ readonly action: 'check' } & CheckOrder)

/** Addresses of requests are not longer either. */
const mostPath = 2_048
const place = must(placeForms, placeOf)
const routePath = must('a path such as /v1/clinical-api/cases/ID', (path) =>
  path.startsWith('/') && path.length <= mostPath ? path : undefined,
)
const verdicts = '\nExit codes: 0 nothing was changed, 1 faults, 2 it could not be checked.'

export const defineAudit: Define<AuditOrder> = (audit, choose) => {
  defineTimeline(audit, choose)
  const asOf = audit
    .command('as-of')
    .description('What a GET route answered then to a caller who sees the whole organisation.')
    .requiredOption('--at <place>', placeForms, place)
    .requiredOption('--path <path>', 'path of the route', routePath)
    .requiredOption('--org <id>', 'the organisation', uuid)
    .option('--json', 'as JSON')
    .action(({ at, path, org, json: isJson = false }) =>
      choose({ action: 'as-of', at, path, org: tenantOfFact(org), isJson }),
    )
  example(asOf, `audit as-of --at 2026-03-01T10:00:00Z --path /v1/ai-reviews/${exampleId} --org ${exampleId}`)
  const provenance = audit
    .command('provenance')
    .description(
      'What the result of an AI review stands on: consents, images, calls, human review. audit check takes the JSON.',
    )
    .requiredOption('--review <id>', 'the AI review', uuid)
    .option('--json', 'as JSON')
    .action(({ review: reviewId, json: isJson = false }) => choose({ action: 'provenance', reviewId, isJson }))
  example(provenance, `audit provenance --review ${exampleId}`)
  const exported = audit
    .command('export')
    .description('Everything about a patient, as files with a signed manifest. The access log records it.')
    .requiredOption('--patient <id>', 'the patient', uuid)
    .option('--org <id>', 'the organisation, if several know a patient with this id', uuid)
    .requiredOption('--to <dir>', 'a new folder', filled)
    .option('--json', 'as JSON')
    .action(({ patient: patientId, org, to: folder, json: isJson = false }) =>
      choose({ action: 'export', patientId, org: org === undefined ? org : tenantOfFact(org), folder, isJson }),
    )
  example(exported, `audit export --patient ${exampleId} --to export`)
  const verify = audit
    .command('verify')
    .description('Reads the whole log, and compares it with its seals, tiles, signatures and witnesses.')
    .option('--from <size>', 'from the seal of so many events on', numberFrom(1, 999_999_999_999_999))
    .option('--key <vkey>', 'the key of the log, instead of those of the vault')
    .option('--witness <vkey>', 'a witness that must have signed; repeat it for several', each, [])
    .option('--json', 'as JSON')
    .addHelpText('after', verdicts)
    .action(({ from, key, witness: witnesses, json: isJson = false }) =>
      choose({ action: 'verify', isJson, from, key, witnesses }),
    )
  example(verify, 'audit verify')
  const check = audit
    .command('check')
    .description(
      'Checks a proof of /v1/audit/log/proof, the provenance of an AI review, or the manifest of an export with the files beside it, without any server.',
    )
    .argument('<file>', 'what to check')
    .requiredOption('--key <vkey>', 'the key of the log')
    .option('--witness <vkey>', 'a witness that must have signed; repeat it for several', each, [])
    .option('--jwks <file>', 'the keys of /v1/auth/.well-known/jwks.json, for provenance and manifest')
    .addHelpText('after', verdicts)
    .action((file, { key, witness: witnesses, jwks }) => choose({ action: 'check', file, key, witnesses, jwks }))
  example(check, 'audit check proof.json --key VKEY')
  const accept = audit
    .command('accept-older-log')
    .description(
      'For a restored event store that lacks sealed events, while the platform is stopped: begins a new sealed log that names the last seal of the old one.',
    )
    .requiredOption('--reason <text>', 'why, kept for ever', textUpTo(500))
    .action(({ reason }) => choose({ action: 'accept-older-log', reason }))
  example(accept, "audit accept-older-log --reason 'the disk of node 2 broke'")
}

const exampleId = '0190b0a0-0000-7000-8000-00000000000a'

const defineTimeline: Define<AuditOrder> = (audit, choose) => {
  const timeline = audit
    .command('timeline')
    .description('The events of one subject in the order of the log, one a line.')
  // The option of each kind of subject: `--ai-review`.
  for (const kind of SubjectKind.enum) {
    const name = kind.replaceAll('_', '-')
    const of: string[] = SubjectKind.enum.filter((one) => one !== kind).map(camelCase)
    timeline.addOption(new Option(`--${name} <id>`, 'the subject').argParser(uuid).conflicts(of))
  }
  timeline
    .option('--with-phi', 'with personal content. The access log records it')
    .option('--json', 'as JSON')
    .action((options, command) => {
      const given: Readonly<Record<string, unknown>> = options
      const subject = SubjectKind.enum.flatMap((kind) => {
        const id = given[camelCase(kind)]
        return typeof id === 'string' ? [{ kind, id }] : []
      })[0]
      if (subject === undefined) return command.error('error: one subject is needed, such as --patient ID')
      choose({ action: 'timeline', subject, isOpened: options.withPhi === true, isJson: options.json === true })
    })
  example(timeline, `audit timeline --patient ${exampleId}`)
}

/** How the library names the value of an option. */
function camelCase(kind: string): string {
  return kind.replaceAll(/_./g, (found) => found.slice(1).toUpperCase())
}
