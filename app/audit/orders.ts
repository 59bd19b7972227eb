import { parseArgs } from 'node:util'
import { placeForms, placeOf } from '../../contracts/audit/as-of.ts'
import { isUuid } from '../../platform/http/formats.ts'
import type { Position } from '../../platform/kit/positions.ts'
import { tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'
import { SubjectKind } from '../../streams/types.ts'

/** The option of each kind of subject: `--ai-review`. */
const subjectOptions = SubjectKind.enum.map((kind) => kind.replaceAll('_', '-'))

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

export const auditUsage = `  audit timeline  --patient ID  [--with-phi]  [--json]
          the events of one subject in the order of the log, one a line. Other subjects: --case, --assessment,
          --ai-review, --task, --workflow-instance, --notification, --user, --client, --subscription
  audit as-of  --at INSTANT|POSITION  --path PATH  --org ID  [--json]
          what a GET route answered then, such as /v1/clinical-api/cases/ID, to a caller who sees the whole organisation
  audit provenance  --review ID  [--json]
          what the result of an AI review stands on: consents, images, calls, human review. "audit check" takes the JSON
  audit export  --patient ID  --to DIR  [--json]
          everything about a patient, as files in a new folder with a signed manifest. The access log records it
  audit verify  [--json]  [--from SIZE]  [--key VKEY]  [--witness VKEY]…
          reads the whole log, and compares it with its seals, tiles, signatures and witnesses. Exit code: 0 nothing
          was changed, 1 faults, 2 it could not be checked
  audit check FILE  --key VKEY  [--witness VKEY]…  [--jwks FILE]
          checks a proof of /v1/audit/log/proof, the provenance of an AI review, or the manifest of an export with the
          files beside it, without any server. The latter two need the keys of /v1/auth/.well-known/jwks.json. Exit code as above
  audit accept-older-log  --reason TEXT
          for a restored event store that lacks sealed events, while the platform is stopped: begins a new sealed log
          that names the last seal of the old one`

/** @throws Error with a message for the operator */
export function readAudit(args: readonly string[]): AuditOrder {
  const [action, ...rest] = args
  if (action === 'timeline') return readTimeline(rest)
  if (action === 'as-of') return readAsOf(rest)
  if (action === 'export') return readExport(rest)
  if (action === 'provenance') return readProvenance(rest)
  if (action === 'verify') return readVerify(rest)
  if (action === 'check') return readCheck(rest)
  if (action === 'accept-older-log') return readAccept(rest)
  throw new Error('audit takes timeline, as-of, export, provenance, verify, check or accept-older-log')
}

function readTimeline(args: string[]): AuditOrder {
  const { values } = parseArgs({
    args,
    options: {
      ...Object.fromEntries(subjectOptions.map((name) => [name, { type: 'string' }] as const)),
      'with-phi': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  const named = SubjectKind.enum.flatMap((kind, place) => {
    const id: unknown = Reflect.get(values, subjectOptions[place] ?? '')
    return typeof id === 'string' ? [{ kind, id: id.toLowerCase() }] : []
  })
  const [subject] = named
  if (subject === undefined || named.length > 1)
    throw new Error('audit timeline needs exactly one subject, such as --patient ID')
  if (!isUuid(subject.id)) throw new Error(`${subject.id} is no id: ids are UUIDs`)
  return { action: 'timeline', subject, isOpened: values['with-phi'], isJson: values.json }
}

/** Addresses of requests are not longer either. */
const mostPath = 2_048

function readAsOf(args: string[]): AuditOrder {
  const { values } = parseArgs({
    args,
    options: {
      at: { type: 'string' },
      path: { type: 'string' },
      org: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  })
  const at = placeOf(values.at ?? '')
  if (at === undefined) throw new Error(`audit as-of needs --at, ${placeForms}`)
  const { path = '', org = '' } = values
  if (!path.startsWith('/') || path.length > mostPath)
    throw new Error('audit as-of needs --path, such as /v1/clinical-api/cases/ID')
  if (!isUuid(org)) throw new Error('audit as-of needs --org with the id of the organisation')
  return { action: 'as-of', at, path, org: tenantOfFact(org.toLowerCase()), isJson: values.json }
}

function readExport(args: string[]): AuditOrder {
  const { values } = parseArgs({
    args,
    options: { patient: { type: 'string' }, to: { type: 'string' }, json: { type: 'boolean', default: false } },
  })
  const { patient = '', to: folder = '', json: isJson } = values
  if (!isUuid(patient)) throw new Error('audit export needs --patient ID, a UUID')
  if (folder === '') throw new Error('audit export needs --to DIR')
  return { action: 'export', patientId: patient.toLowerCase(), folder, isJson }
}

function readProvenance(args: string[]): AuditOrder {
  const options = { review: { type: 'string' }, json: { type: 'boolean', default: false } } as const
  const { values } = parseArgs({ args, options })
  const reviewId = values.review?.toLowerCase() ?? ''
  if (!isUuid(reviewId)) throw new Error('audit provenance needs --review ID')
  return { action: 'provenance', reviewId, isJson: values.json ?? false }
}

function readVerify(args: string[]): AuditOrder {
  const { values } = parseArgs({
    args,
    options: {
      json: { type: 'boolean', default: false },
      from: { type: 'string' },
      key: { type: 'string' },
      witness: { type: 'string', multiple: true, default: [] },
    },
  })
  if (values.from !== undefined && !/^[1-9]\d{0,14}$/.test(values.from))
    throw new Error('--from must be a number above 0')
  const from = values.from === undefined ? undefined : Number(values.from)
  return { action: 'verify', isJson: values.json, from, key: values.key, witnesses: values.witness }
}

function readCheck(args: string[]): AuditOrder {
  const options = {
    key: { type: 'string' },
    witness: { type: 'string', multiple: true, default: [] as string[] },
    jwks: { type: 'string' },
  } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const [file, ...others] = positionals
  if (file === undefined || others.length > 0) throw new Error('audit check takes one file')
  if (values.key === undefined) throw new Error('audit check needs --key VKEY')
  return { action: 'check', file, key: values.key, witnesses: values.witness ?? [], jwks: values.jwks }
}

function readAccept(args: string[]): AuditOrder {
  const { values } = parseArgs({ args, options: { reason: { type: 'string' } } })
  const reason = values.reason?.trim() ?? ''
  if (reason === '' || reason.length > 500)
    throw new Error('audit accept-older-log needs --reason, 1 to 500 characters')
  return { action: 'accept-older-log', reason }
}
